"""Problems of several keys are told at the key that a user can change."""

import pytest

from pico_gz.errors import PortClashError
from pico_gz.run.config import load_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.config.problems import FleetFileError


@pytest.fixture
def load(tmp_path):
    def load(text, **overrides):
        path = tmp_path / "fleet.toml"
        path.write_text(text)
        return load_fleet(path, FleetOverrides(**overrides), environ={})

    return load


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[[vehicle]]\nmavlink_port = 14600\n[[vehicle]]\nmavlink_port = 14600\n",
            "line 4: vehicle[2].mavlink_port: UDP 14600 (rover_2,",
        ),
        (
            "[[vehicle]]\nfdm_port = 9012\n[[vehicle]]\nid=2\n",
            "line 2: vehicle[1].fdm_port: UDP 9012 (rover_2,",
        ),
        (
            "[[vehicle]]\nfdm_port = 9500\n[[vehicle]]\nfdm_port = 9501\n",
            "line 4: vehicle[2].fdm_port: UDP 9501 (rover_2,",
        ),
        ("[ports]\nmavlink_base = 9002\n", "line 2: ports.mavlink_base: UDP 9002 (rover_1,"),
        (
            "[net]\ndashboard = '127.0.0.1:5760'\n",
            "line 2: net.dashboard: TCP 5760 (fleet, browser view)",
        ),
        (
            "[fleet]\nautopilot = 'external'\n[ports]\nmavlink_tcp = 5760\n",
            "line 4: ports.mavlink_tcp: TCP 5760 (fleet, MAVLink server)",
        ),
        (
            "[mavlink]\nlinks = ['tcpin:127.0.0.1:8085']\n",
            "line 2: mavlink.links: TCP 8085 (fleet, browser view)",
        ),
        (
            "[[vehicle]]\nlinks = ['udpin:127.0.0.1:14550']\n",
            "line 2: vehicle[1].links: UDP 14550 (rover_1, MAVLink link udpin)",
        ),
        (
            '[fleet]\nadapter="m"\n[adapters.m]\ntype="gazebo"\nsensor_port=14549\n'
            "actuator_port=20000\nshared_socket=true\nardupilot_compat=false\n"
            "[ports]\nmavlink_base=14547\n",
            "line 5: adapters.m.sensor_port: UDP 14549 (m,",
        ),
    ],
)
def test_a_port_clash_names_a_key_of_the_file(load, text, expected):
    with pytest.raises(PortClashError) as caught:
        load(text)
    assert expected in str(caught.value)


def test_a_clash_of_the_option_is_told_as_the_option(load):
    with pytest.raises(PortClashError, match=r"^--dashboard-bind: TCP 5760"):
        load("", dashboard="127.0.0.1:5760")


def test_an_explicit_layout_names_the_vehicles_without_a_place(load):
    text = "[fleet]\ncount = 3\n[layout]\nkind = 'explicit'\n[[vehicle]]\nid = 2\nnorth_m = 1\n"
    with pytest.raises(FleetFileError) as caught:
        load(text)
    kind, east = caught.value.problems
    assert (kind.key, kind.line) == ("layout.kind", 4)
    assert "vehicle 1, 3." in kind.message
    assert "[[vehicle]]" in kind.hint
    assert (east.key, east.line) == ("vehicle[1].east_m", 5)
    assert "vehicle 2 needs it" in east.message


def test_a_large_fleet_without_places_is_told_in_one_line(load):
    with pytest.raises(FleetFileError) as caught:
        load("", rovers=200, layout="explicit")
    (problem,) = caught.value.problems
    assert problem.key == "--layout"
    assert "vehicle 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 190 more" in problem.message


def test_limits_of_rangefinders_are_judged_together(load):
    rover = load("[rover]\nrange_min_m = 5\nrange_max_m = 10\n").rover
    assert (rover.range_min_m, rover.range_max_m) == (5.0, 10.0)
    with pytest.raises(FleetFileError, match=r"range_min_m = 5.0: must be below range_max_m"):
        load("[rover]\nrange_min_m = 5\n")
