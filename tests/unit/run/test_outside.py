"""A run in a container prints what its user finds outside."""

from types import SimpleNamespace

import pytest

from pico_gz.run.config import default_fleet
from pico_gz.run.mavlink_setup import mavlink_lines
from pico_gz.view.app import ViewServer

# As the Compose files set them.
INSIDE = {
    "PICO_GZ_BIND": "0.0.0.0",
    "PICO_GZ_GCS_HOST": "host.docker.internal",
    "PICO_GZ_DASHBOARD": "0.0.0.0:8085",
}
COMPOSE = {
    **INSIDE,
    "PICO_GZ_OUTSIDE_TCP": "127.0.0.1:5860",
    "PICO_GZ_OUTSIDE_CTL": "docker compose exec lightweight pico-gz ctl",
}


def lines(environ):
    fleet = default_fleet(environ=environ)
    return mavlink_lines(fleet, fleet.port_plan(), [plan.id for plan in fleet.vehicles])


def test_a_container_does_not_warn_of_other_machines():
    assert len(default_fleet(environ=INSIDE).warnings) == 2
    assert default_fleet(environ=COMPOSE).warnings == ()


def test_ports_are_those_outside():
    environ = {**COMPOSE, "PICO_GZ_GCS_PORT": "14550"}
    assert lines(environ) == [
        "MAVLink: sending to UDP 14550..14552 of this machine, whole fleet on TCP 127.0.0.1:5860"
    ]
    assert "TCP 0.0.0.0:5760" in lines(INSIDE)[0]
    elsewhere = lines({**environ, "PICO_GZ_GCS_HOST": "192.0.2.7"})[0]
    assert "UDP 192.0.2.7:14550..14552," in elsewhere


def test_control_is_from_outside():
    assert default_fleet(environ=COMPOSE).outside.ctl.startswith("docker compose exec")
    assert default_fleet(environ=INSIDE).outside is None


@pytest.mark.parametrize(
    ("environ", "base"),
    [
        (INSIDE, 14550),
        ({**INSIDE, "PICO_GZ_OUTSIDE_TCP": "127.0.0.1:5760"}, 14550),
        # A second stack must have another TCP port, so it has another UDP port as well.
        (COMPOSE, 14650),
        ({**COMPOSE, "PICO_GZ_GCS_PORT": "14550"}, 14550),
        # Any free port, or so far away that UDP ports cannot follow.
        ({**INSIDE, "PICO_GZ_OUTSIDE_TCP": "127.0.0.1:0"}, 14550),
        ({**INSIDE, "PICO_GZ_OUTSIDE_TCP": "127.0.0.1:60000"}, 14550),
    ],
)
def test_the_ground_stations_port_moves_with_the_published_one(environ, base):
    fleet = default_fleet(environ=environ)
    assert fleet.rules.mavlink_base == base
    assert fleet.port_plan().vehicle(1).mavlink == base


@pytest.mark.parametrize("is_published", [True, False])
def test_the_view_of_a_container_is_not_on_every_address_of_this_machine(is_published):
    server = SimpleNamespace(host="0.0.0.0", url="http://x", _is_published=is_published)
    line = ViewServer.line.fget(server)
    assert ("every other address" in line) is not is_published
