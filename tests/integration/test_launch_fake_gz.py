"""Starting, watching and stopping Gazebo, with a program in its place."""

import contextlib
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import process_state
import pytest
from gazebo_support import give_ports_back, on_leased_ports  # noqa: F401 (autouse)
from process_state import is_alive

from pico_gz.errors import LaunchError, PortClashError, SimulatorConnectionError, SimulatorError
from pico_gz.gazebo.server import GazeboLaunch, GazeboServer
from pico_gz.run.config import default_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions
from pico_gz.testing.plugin_twin import PluginTwin

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PATIENCE_S = 15.0
wait_until = functools.partial(process_state.wait_until, limit_s=PATIENCE_S)


@pytest.fixture
def starts(tmp_path, monkeypatch):
    """``gz`` on the PATH is the fake one; gives what it wrote down."""
    folder = tmp_path / "bin"
    folder.mkdir()
    gz = folder / "gz"
    gz.write_text(f'#!/bin/sh\nexec {sys.executable} {HERE / "fake_gz.py"} "$@"\n')
    gz.chmod(0o755)
    (folder / "libArduPilotPlugin.so").touch()
    log = tmp_path / "starts.jsonl"
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PICO_GZ_PLUGIN_PATH", str(folder))
    monkeypatch.setenv("FAKE_GZ_LOG", str(log))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    def noted():
        """A line that is still being written is none yet, nor is one in a file yet to come."""
        lines = log.read_text().splitlines(keepends=True) if log.exists() else []
        return [json.loads(line) for line in lines if line.endswith("\n")]

    return noted


def fleet_on_gazebo(count=2):
    overrides = FleetOverrides(
        rovers=count, adapter="gazebo", autopilot="script:circle", speed="max"
    )
    fleet = default_fleet(overrides=overrides, environ={})
    return on_leased_ports(fleet)


def options(duration_s=0.5):
    return RunOptions(duration_s=duration_s, mavlink=False, control=False, check_ports=False)


def test_a_run_starts_gazebo_drives_in_it_and_stops_it(starts, tmp_path):
    fleet = fleet_on_gazebo()
    with FleetRun(fleet, options()) as session:
        result = session.run()
        (start,) = starts()
        assert is_alive(start["pid"])
    assert result.steps == 50
    assert result.lost_steps == 0
    assert not is_alive(start["pid"])
    assert not list(tmp_path.glob("pico_gz_gazebo_*"))
    assert start["arguments"][:6] == ["sim", "-s", "-r", "-v", "2", "--seed"]
    assert start["environment"]["GZ_IP"] == "127.0.0.1"
    assert session.notes[-1] == "gazebo: started without a window, with a generated world"


def test_two_runs_at_once_are_apart(starts):
    with FleetRun(fleet_on_gazebo(1), options()) as first:
        first.bridge.step()
        with FleetRun(fleet_on_gazebo(1), options()) as second:
            second.bridge.step()
            assert len({start["environment"]["GZ_PARTITION"] for start in starts()}) == 2
            assert first.run().steps == 51
            assert second.run().steps == 51


@pytest.mark.parametrize(
    ("how", "words", "hint"),
    [
        ("no_plugin", "Failed to load system plugin", "PICO_GZ_PLUGIN_PATH"),
        ("no_bind", "failed to bind", "--port-offset"),
        ("crash", "ended by itself with code 139", "it is broken"),
        ("no_engine", "ended by itself with code 139", "needs a render engine"),
    ],
)
def test_gazebos_own_trouble_ends_the_start(starts, monkeypatch, caplog, how, words, hint):
    monkeypatch.setenv("FAKE_GZ", how)
    started_s = time.monotonic()
    with FleetRun(fleet_on_gazebo(1), options()) as session, pytest.raises(LaunchError) as caught:
        session.run()
    assert words in caught.value.message
    assert hint in caught.value.hint
    assert len(starts()) == 1, "what failed for a reason is not tried again"
    assert time.monotonic() - started_s < 10.0
    assert any("Gazebo: [Err]" in record.getMessage() for record in caplog.records)


def adapter_with_deadline(fleet, deadline_s):
    with FleetRun(fleet, options()) as session:
        adapter = session.bridge.get_adapter("gazebo")
        assert adapter.process is not None
    import msgspec

    adapter.config = msgspec.structs.replace(adapter.config, connect_timeout_s=deadline_s)
    return adapter


def test_a_gazebo_that_does_not_get_ready_is_started_once_more(starts, monkeypatch):
    monkeypatch.setenv("FAKE_GZ", "mute_once")
    adapter = adapter_with_deadline(fleet_on_gazebo(1), 3.0)
    with adapter:
        first, second = starts()
        assert not is_alive(first["pid"])
        assert is_alive(second["pid"])
    assert not is_alive(second["pid"])


def test_a_gazebo_that_never_gets_ready_is_given_up(starts, monkeypatch):
    monkeypatch.setenv("FAKE_GZ", "mute")
    adapter = adapter_with_deadline(fleet_on_gazebo(1), 0.6)
    with pytest.raises(LaunchError, match="started 2 times"):
        adapter.connect()
    assert not any(is_alive(start["pid"]) for start in starts())


def test_waiting_for_gazebo_can_be_cancelled(starts, monkeypatch):
    import threading

    monkeypatch.setenv("FAKE_GZ", "mute")
    adapter = adapter_with_deadline(fleet_on_gazebo(1), 60.0)

    def cancel_once_started():
        wait_until(starts)
        adapter.cancel_connect()

    somebody = threading.Thread(target=cancel_once_started)
    somebody.start()
    with pytest.raises(SimulatorConnectionError):
        adapter.connect()
    somebody.join()
    assert not is_alive(starts()[0]["pid"])


def test_a_gazebo_that_dies_on_the_way_is_named(starts):
    adapter = adapter_with_deadline(fleet_on_gazebo(1), 10.0)
    with adapter:
        os.kill(starts()[0]["pid"], signal.SIGKILL)
        wait_until(lambda: adapter.process.server.exit_code is not None)
        with pytest.raises(SimulatorError, match="ended by itself with code 137"):
            adapter.step(10_000)


def test_a_running_world_is_used_and_left_alone(starts):
    fleet = fleet_on_gazebo(2)
    ports = [ports.plugin for ports in fleet.port_plan().vehicles]
    with PluginTwin(ports, step_us=2000) as twin, FleetRun(fleet, options()) as session:
        assert session.run().lost_steps == 0
        assert twin.steps >= 250
    assert "that one is used" in session.notes[-1]
    assert not starts()


def test_another_program_is_not_taken_for_a_world(starts):
    fleet = fleet_on_gazebo(1)
    port = fleet.port_plan().vehicles[0].plugin
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", port))
        with pytest.raises(PortClashError) as caught:
            FleetRun(fleet, options()).__enter__()
    assert f"UDP {port}" in caught.value.message
    assert f"(pid {os.getpid()}). It does not answer" in caught.value.message
    assert not starts()


def test_half_a_world_is_refused(starts):
    fleet = fleet_on_gazebo(2)
    port = fleet.port_plan().vehicles[0].plugin
    with PluginTwin([port]), pytest.raises(PortClashError, match=f"UDP {port} .rover_1"):
        FleetRun(fleet, options()).__enter__()


@pytest.fixture
def launch(starts, tmp_path):
    world = tmp_path / "world.sdf"
    world.write_text("<world name='w'><max_step_size>0.001</max_step_size></world>")
    return GazeboLaunch(program=tmp_path / "bin/gz", world_file=world, folder=tmp_path)


@pytest.fixture
def children(tmp_path):
    """The processes that the fake one started, once it has."""
    note = tmp_path / "starts.children"
    noted = []

    def pids():
        wait_until(note.exists)
        noted[:] = map(int, note.read_text().split())
        return list(noted)

    yield pids
    for pid in noted:  # only when a test failed
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("how", ["child", "window"])
def test_stopping_ends_the_children_too(launch, starts, children, monkeypatch, how):
    monkeypatch.setenv("FAKE_GZ", how)
    server = GazeboServer(launch, grace_s=0.3)
    family = [*children(), starts()[0]["pid"]]
    assert all(map(is_alive, family))
    server.stop()
    server.stop()
    assert not any(map(is_alive, family))


def test_children_that_gazebo_leaves_behind_are_ended(launch, children, monkeypatch):
    monkeypatch.setenv("FAKE_GZ", "window_closed")
    server = GazeboServer(launch, grace_s=0.3)
    pids = children()
    wait_until(lambda: server.exit_code is not None)
    assert not any(map(is_alive, pids))
    server.stop()
    assert server.exit_code == 0


def test_a_stubborn_one_is_killed(launch, starts, monkeypatch):
    monkeypatch.setenv("FAKE_GZ", "stubborn")
    server = GazeboServer(launch, grace_s=0.3)
    wait_until(starts)
    server.stop()
    assert not is_alive(starts()[0]["pid"])
    assert server.exit_code == 128 + signal.SIGKILL


def test_a_program_that_is_not_there_is_named(launch, tmp_path):
    import dataclasses

    server = GazeboServer(dataclasses.replace(launch, program=tmp_path / "nothing"))
    wait_until(lambda: server.exit_code is not None)
    wait_until(server.output.tail)
    assert "No such file" in server.failure().hint
    server.stop()


@pytest.mark.parametrize("how", ["", "window"])
def test_gazebo_ends_when_its_guard_is_killed(launch, starts, children, monkeypatch, tmp_path, how):
    import dataclasses

    monkeypatch.setenv("FAKE_GZ", how)
    folder = tmp_path / "run"
    folder.mkdir()
    server = GazeboServer(dataclasses.replace(launch, folder=folder), remove_folder=True)
    wait_until(starts)
    others = children() if how else []
    os.kill(server._process._process.pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(starts()[0]["pid"]))
    server.stop()
    wait_until(lambda: not any(map(is_alive, others)))
    assert not folder.exists()


@pytest.mark.parametrize("how", ["", "window"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_gazebo_ends_with_the_kit_however_that_ends(
    starts, children, monkeypatch, number, how, tmp_path
):
    monkeypatch.setenv("FAKE_GZ", how)
    fleet = fleet_on_gazebo(1)
    command = [
        sys.executable, "-m", "pico_gz", "run", "--rovers", "1", "--adapter", "gazebo",
        "--port-offset", str(fleet.rules.offset), "--duration", "0",
    ]  # fmt: skip
    kit = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        wait_until(starts)
        family = [starts()[0]["pid"], *(children() if how else [])]
        kit.send_signal(number)
        kit.wait(PATIENCE_S)
        wait_until(lambda: not any(map(is_alive, family)))
        wait_until(lambda: not list(tmp_path.glob("pico_gz_gazebo_*")))
    finally:
        with contextlib.suppress(ProcessLookupError):
            kit.kill()
        kit.wait()
        kit.stdout.close()
