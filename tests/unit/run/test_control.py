"""The control socket: private, patient with bad requests, gone after the run."""

import socket
import stat
import threading

import msgspec
import pytest

from pico_gz import BridgeState, LightweightAdapter, SitlBridge, VehicleConfig
from pico_gz.errors import ConfigError, PicoGzError
from pico_gz.run import control_socket
from pico_gz.run.commands import FailureSwitch, control_commands
from pico_gz.run.control_socket import (
    MAX_LINE_BYTES,
    ControlServer,
    ask,
    find_run,
    running_runs,
    socket_path,
)
from pico_gz.testing import ScriptedAdapter


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def bridge():
    bridge = SitlBridge()
    bridge.register_adapter(ScriptedAdapter())
    bridge.spawn_vehicle(VehicleConfig(id=1))
    yield bridge
    bridge.close()


@pytest.fixture
def server(folder, bridge):
    server = ControlServer(
        socket_path("test"), control_commands(bridge, FailureSwitch(bridge, None))
    )
    yield server
    server.close()


def test_only_the_user_may_use_it(server):
    assert stat.S_IMODE(server.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(server.path.parent.stat().st_mode) == 0o700


def test_the_only_run_is_found_without_its_name(server):
    assert running_runs() == ["test"]
    assert find_run() == server.path
    with pytest.raises(ConfigError, match="no run 'other'"):
        find_run("other")


def test_a_socket_of_a_run_that_died_is_removed(folder):
    path = socket_path("dead")
    path.parent.mkdir(parents=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.close()
    with pytest.raises(ConfigError, match="No run is going on"):
        find_run()
    assert not path.exists()


def test_pause_toggle_and_status(server, bridge):
    assert ask(server.path, "pause")["state"] == BridgeState.PAUSED
    assert bridge.state is BridgeState.PAUSED
    ask(server.path, "toggle")
    assert bridge.state is not BridgeState.PAUSED
    status = ask(server.path, "status")
    assert status["vehicles"]["1"]["adapter"] == "scripted"


def test_the_state_is_that_of_the_request_not_of_the_loop(server, bridge):
    done = threading.Event()
    held = threading.Event()
    bridge.while_idle.add(lambda _: held.set() or done.wait(10))
    bridge.pause()
    runner = threading.Thread(target=bridge.run)
    runner.start()
    assert held.wait(10)
    assert ask(server.path, "resume")["state"] == BridgeState.RUNNING
    done.set()
    bridge.stop()
    runner.join(10)


def test_speed_takes_a_number_or_max(server, bridge):
    assert ask(server.path, "speed", speed=3)["speed"] == 3.0
    assert ask(server.path, "speed", speed="max")["speed"] == "max"
    for bad in (-1, 0, "fast", True, None):
        with pytest.raises(ConfigError):
            ask(server.path, "speed", speed=bad)


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"[]", b'{"command": 5}', b'{"command": "explode"}', b'{"command": "step"}',
     b'{"command": "set-pose", "id": 300}', b"\xff\xfe", b'{"command":"fail","id":1}'],
)  # fmt: skip
def test_bad_requests_are_refused_and_the_connection_lives_on(server, line):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(10)
        client.connect(str(server.path))
        lines = client.makefile("rb")
        client.sendall(line + b"\n")
        answer = msgspec.json.decode(lines.readline())
        assert answer["ok"] is False
        assert answer["error"]["message"]
        client.sendall(b'{"command": "status"}\n')
        assert msgspec.json.decode(lines.readline())["ok"] is True


def test_the_socket_is_gone_after_close(server):
    server.close()
    server.close()
    assert not server.path.exists()
    with pytest.raises(PicoGzError, match="does not answer"):
        control_socket.ask(server.path, "status")


def test_what_was_asked_is_answered_before_the_end(folder):
    asked, go = threading.Event(), threading.Event()

    def slow(_):
        asked.set()
        go.wait(5.0)
        return "done"

    server, answers = ControlServer(socket_path("test"), {"slow": slow}), []
    client = threading.Thread(target=lambda: answers.append(ask(server.path, "slow")))
    client.start()
    assert asked.wait(5.0)
    threading.Timer(0.2, go.set).start()
    server.close()
    assert go.is_set()
    client.join(5.0)
    assert answers == ["done"]


def test_a_folder_of_somebody_else_is_refused(folder, bridge, monkeypatch):
    path = socket_path("test")
    path.parent.mkdir()
    monkeypatch.setattr("os.getuid", lambda: path.parent.stat().st_uid + 1)
    with pytest.raises(ConfigError, match="belongs to another user"):
        ControlServer(path, {})


def test_a_path_that_is_too_long_is_told(folder):
    path = folder / ("x" * 100) / "run.sock"
    with pytest.raises(ConfigError, match="too long") as caught:
        ControlServer(path, {})
    assert "XDG_RUNTIME_DIR" in caught.value.hint


@pytest.mark.parametrize(
    ("said", "error"), [(b"hello\n", "is no run"), (b"", "ended before it answered")]
)
def test_a_stranger_at_the_socket_is_told(folder, said, error):
    path = folder / "stranger.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.settimeout(10)

        def answer() -> None:
            with listener.accept()[0] as client:
                client.recv(1000)
                client.sendall(said)

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(PicoGzError, match=error) as caught:
            ask(path, "status")
        assert not isinstance(caught.value, ConfigError)
        thread.join()


@pytest.mark.parametrize("extra_bytes", [1, MAX_LINE_BYTES, 3 * MAX_LINE_BYTES])
def test_a_line_that_is_too_long_gets_one_answer(server, extra_bytes):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(10)
        client.connect(str(server.path))
        lines = client.makefile("rb")
        client.sendall(b" " * (MAX_LINE_BYTES + extra_bytes) + b"\n")
        client.sendall(b'{"command": "status"}\n')
        answer = msgspec.json.decode(lines.readline())
        assert answer["ok"] is False
        assert str(MAX_LINE_BYTES) in answer["error"]["hint"]
        assert msgspec.json.decode(lines.readline())["ok"] is True


def test_the_longest_line_is_taken(server):
    request = b'{"command": "status"}'
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(10)
        client.connect(str(server.path))
        client.sendall(request + b" " * (MAX_LINE_BYTES - len(request) - 1) + b"\n")
        assert msgspec.json.decode(client.makefile("rb").readline())["ok"] is True


@pytest.fixture
def driven():
    """A run of the Lightweight simulator that goes on in another thread, paused."""
    bridge = SitlBridge()
    bridge.register_adapter(LightweightAdapter(seed=1))
    bridge.spawn_vehicle(VehicleConfig(id=1))
    bridge.step(3)
    idle = threading.Event()
    bridge.while_idle.add(lambda _: idle.set())
    bridge.pause()
    runner = threading.Thread(target=bridge.run)
    runner.start()
    assert idle.wait(10)
    yield bridge
    bridge.stop()
    bridge.resume()
    runner.join(10)
    bridge.close()


def test_a_vehicle_that_is_moved_while_paused_is_reported_at_its_new_place(driven):
    commands = control_commands(driven, FailureSwitch(driven, None))
    steps = driven.stats.steps
    answer = commands["set-pose"]({"id": 1, "north_m": 5.0, "east_m": -1.5, "yaw_deg": 90.0})
    for status in (answer, commands["status"]({})):
        vehicle = status["vehicles"]["1"]
        assert (vehicle["north_m"], vehicle["east_m"]) == (5.0, -1.5)
        assert vehicle["yaw_deg"] == pytest.approx(90.0, abs=1e-9)
    assert driven.stats.steps == steps


def test_yaw_is_unknown_before_the_first_step(server):
    assert ask(server.path, "status")["vehicles"]["1"]["yaw_deg"] is None
