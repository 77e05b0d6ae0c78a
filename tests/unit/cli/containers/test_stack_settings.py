"""What a user asks of a stack."""

import os
from pathlib import Path
from unittest.mock import Mock

import pytest

from pico_gz.cli.tools.containers import stack
from pico_gz.cli.tools.containers.engine import ContainerState, Usage
from pico_gz.cli.tools.containers.stack import (
    StackSettings,
    addresses,
    gcs_ports_of_others,
    look,
    prepare_runs,
    require_readable,
)
from pico_gz.errors import ConfigError, MissingProgramError


def test_services_and_images():
    assert StackSettings(lightweight=True).services == ("lightweight",)
    settings = StackSettings(profiles=("ardupilot",))
    assert settings.services == ("gazebo", "bridge", "ardurover")
    environ = {"PICO_GZ_GAZEBO_IMAGE": "mine:1"}
    assert settings.images(environ) == ["mine:1", "pico-gz", "pico-gz-ardurover"]


def test_variables_of_the_compose_file():
    settings = StackSettings(fleet_file=Path("/a/b.toml"), rovers=5, port_offset=100, token="t")
    variables = settings.variables()
    assert (variables["FLEET"], variables["FLEET_DIR"]) == ("/a/b.toml", "/a")
    assert variables["ROVERS"] == "5"
    assert (variables["DASHBOARD_PORT"], variables["MAVLINK_TCP_PORT"]) == ("8185", "5860")
    assert variables["MAVLINK_TCP_INSIDE"] == "5760"
    assert "SEED" not in variables


def test_the_ground_stations_port_moves_with_the_others():
    settings = StackSettings(port_offset=100)
    assert settings.variables()["GCS_PORT"] == "14650"
    assert StackSettings(mavlink_base=15000).variables()["GCS_PORT"] == "15000"
    with pytest.raises(ConfigError, match="UDP port to 65750"):
        StackSettings(port_offset=51_200)


class FakeEngine:
    """Answers for containers as given; ``cat`` in a container shows its token."""

    def __init__(self, *states):
        self.states = states

    def containers(self, run=None):
        return [state for state in self.states if run in (None, state.run)]

    def usages(self, ids):
        return {one: Usage(1.0, 2) for one in ids}

    def ask_inside(self, container_id, command):
        return {"token": "to/ken"} if command[0] == "cat" else {"state": "running"}


def container(run="other", service="lightweight", state="running", **environ):
    return ContainerState(
        id=f"{run}_{service}", service=service, state=state, run=run, environ=environ,
        ports={8085: "127.0.0.1:8085"} if service != "bridge" else {},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("other", "ports"),
    [
        (container(), {14550: "other"}),
        (container(PICO_GZ_GCS_PORT="14650"), {14650: "other"}),
        (container(PICO_GZ_OUTSIDE_TCP="127.0.0.1:5860"), {14650: "other"}),
        (container(PICO_GZ_OUTSIDE_TCP="127.0.0.1:0"), {14550: "other"}),
        (container(PICO_GZ_GCS_HOST="192.0.2.1"), {}),
        (container(service="gazebo"), {}),
        (container(state="exited"), {}),
        (container(run="mine"), {}),
    ],
)
def test_ground_station_ports_of_other_runs(other, ports):
    assert gcs_ports_of_others("mine", FakeEngine(other)) == ports


def test_two_runs_on_one_udp_port_are_warned_of(monkeypatch, tmp_path):
    """Before anything is started: here Compose fails at once."""
    monkeypatch.setattr(stack, "require_compose", lambda: "2.26")
    monkeypatch.setattr(stack, "_require_free_ports", lambda settings: None)
    monkeypatch.setattr(stack, "prepare_runs", lambda folder: {})
    monkeypatch.setattr(stack, "build_context", Mock(side_effect=ConfigError("far enough")))
    said = []
    for offset in (0, 100):
        settings = StackSettings(name="mine", port_offset=offset, runs=tmp_path)
        with pytest.raises(ConfigError, match="far enough"):
            stack.start(
                settings, FakeEngine(container()), build=None, timeout_s=1, report=said.append
            )
    (line,) = said
    assert "the run other sends to UDP 14550, too" in line


def test_without_compose_no_folder_is_made(monkeypatch, tmp_path):
    missing = Mock(side_effect=MissingProgramError("There is no 'docker compose' here."))
    monkeypatch.setattr(stack, "require_compose", missing)
    settings = StackSettings(runs=tmp_path / "runs", port_offset=20_000)
    with pytest.raises(MissingProgramError):
        stack.start(settings, FakeEngine(), build=None, timeout_s=1, report=print)
    assert not (tmp_path / "runs").exists()


def test_status_has_the_address_of_the_view_wherever_the_port_is_published():
    gazebo, bridge = container("a", "gazebo"), container("a", "bridge")
    states = {s.container.service: s for s in look("a", FakeEngine(gazebo, bridge))}
    assert states["bridge"].view == "http://127.0.0.1:8085/?token=to%2Fken"
    assert states["gazebo"].view == ""
    (ended,) = look("b", FakeEngine(container("b", state="exited")))
    assert ended.view == ""


def test_a_fleet_without_tcp_still_has_a_valid_compose_file():
    settings = StackSettings(mavlink_tcp=0)
    assert settings.variables()["MAVLINK_TCP_INSIDE"] == "5760"
    state = ContainerState(id="1", service="a", state="running", ports={5760: "127.0.0.1:5760"})
    assert addresses([state], settings).mavlink_tcp == ""


def test_every_run_has_a_token_of_its_own():
    tokens = {StackSettings().token for _ in range(5)}
    assert len(tokens) == 5
    assert all(len(token) >= 16 for token in tokens)


@pytest.mark.parametrize("name", ["", "Upper", "-a", "a b", "a/b", "ä"])
def test_names_that_compose_would_refuse(name):
    with pytest.raises(ConfigError):
        StackSettings(name=name)


@pytest.mark.parametrize("offset", [70_000, -9_000])
def test_offsets_that_leave_the_ports(offset):
    with pytest.raises(ConfigError, match="moves the browser view"):
        StackSettings(port_offset=offset)


def test_profiles_need_gazebo():
    with pytest.raises(ConfigError, match="Gazebo"):
        StackSettings(lightweight=True, profiles=("gui",))


def test_runs_belong_to_the_caller(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: 1234)
    monkeypatch.setattr(os, "getgid", lambda: 56)
    assert prepare_runs(tmp_path / "a/b") == {"PICO_GZ_USER": "1234:56"}
    assert (tmp_path / "a/b").is_dir()


def test_root_never_runs_in_a_container(tmp_path, monkeypatch):
    owners = []
    monkeypatch.setattr(os, "getuid", lambda: 0)
    monkeypatch.setattr(os, "chown", lambda *words: owners.append(words))
    folder = tmp_path / "runs"
    found = prepare_runs(folder)
    assert not found.get("PICO_GZ_USER", "").startswith("0:")
    if folder.stat().st_uid == 0:  # these tests run as root
        assert owners == [(folder, 10001, 10001)]


def test_a_folder_of_root_that_holds_something_is_refused(tmp_path, monkeypatch):
    (tmp_path / "old").touch()
    root = os.stat_result((0o40755, 0, 0, 2, 0, 0, 0, 0, 0, 0))
    monkeypatch.setattr(os, "getuid", lambda: 0)
    monkeypatch.setattr(Path, "stat", lambda *_, **__: root)
    with pytest.raises(ConfigError, match="belongs to root") as refused:
        prepare_runs(tmp_path)
    assert "chown -R 10001:10001" in refused.value.hint


def test_a_file_is_no_folder_for_runs(tmp_path):
    (tmp_path / "runs").touch()
    with pytest.raises(ConfigError, match="cannot be made"):
        prepare_runs(tmp_path / "runs")


def test_a_closed_folder_is_refused(tmp_path):
    fleet = tmp_path / "fleet.toml"
    fleet.write_text("")
    tmp_path.chmod(0o700)
    with pytest.raises(ConfigError, match="closed to user 4711"):
        require_readable(fleet, {"PICO_GZ_USER": "4711:4711"})
    tmp_path.chmod(0o755)
    require_readable(fleet, {"PICO_GZ_USER": "4711:4711"})
    require_readable(None, {})


def test_addresses():
    settings = StackSettings(port_offset=100, token="secret")
    state = ContainerState(
        id="1", service="lightweight", state="running",
        ports={8185: "127.0.0.1:8185", 5760: "127.0.0.1:5860"},
    )  # fmt: skip
    found = addresses([state], settings)
    assert found.view == "http://127.0.0.1:8185/?token=secret"
    assert found.mavlink_tcp == "127.0.0.1:5860"
    assert addresses([], settings).view == ""
