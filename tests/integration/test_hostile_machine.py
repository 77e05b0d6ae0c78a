"""A full disk, little memory, rebound names, other users, floods, clocks that jump, lossy wires.

Each in less than a minute, on loopback or in a namespace of its own, with a figure to pass.
"""

import http.client
import itertools
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from external_programs import path_of, problem_of
from hand_written_autopilot import HandWrittenAutopilot

from pico_gz.errors import ConfigError
from pico_gz.run import control_socket
from pico_gz.run.config import default_fleet, load_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.control_socket import ControlServer
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions
from pico_gz.run.recording.recorded_run import RecordedRun
from pico_gz.testing import port_lease
from pico_gz.testing.port_lease import PortLeases, lock_folders

ROOT = Path(__file__).parents[2]
FLOOD = Path(__file__).with_name("flood_sender.py")
FLOOD_PER_S, FLOOD_S = 50_000, 5.0
PICO_GZ = [sys.executable, "-m", "pico_gz"]
MB = 1024 * 1024


def environment(folder):
    return {**os.environ, "PYTHONPATH": str(ROOT), "XDG_RUNTIME_DIR": str(folder)}


@pytest.fixture
def leases():
    with PortLeases() as leases:
        yield leases


def offset_of(leases, fleet):
    return leases.offset_for(lambda offset: fleet.with_port_offset(offset).port_plan())


# --- full disk --------------------------------------------------------------------------------

ON_A_SMALL_DISK = """
set -e
mount -t tmpfs -o size=1m none "$1"
shift
kept=$1
shift
"$@"
cp -r . "$kept"
"""


def can_mount():
    if os.geteuid() != 0 or problem_of("unshare", "--version"):
        return False
    probe = [path_of("unshare"), "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


def test_a_full_disk_costs_the_recording_and_not_the_run(tmp_path):
    """F27 on a disk of 1 MB, which run.json, telemetry logs and the recording share."""
    if not can_mount():
        pytest.skip("a small disk needs root; RLIMIT_FSIZE stands in for it elsewhere")
    disk, kept = tmp_path / "disk", tmp_path / "kept"
    disk.mkdir()
    command = [
        *PICO_GZ, "run", "--rovers", "3", "--adapter", "lightweight", "--port-offset", "auto",
        "--duration", "40", "--speed", "max", "--record", str(disk), "--json",
    ]  # fmt: skip
    script = ["sh", "-c", ON_A_SMALL_DISK.replace("cp -r .", f"cp -r {disk}"), "sh"]
    done = subprocess.run(
        [path_of("unshare"), "--mount", *script, str(disk), str(kept), *command],
        cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["sim_time_s"] == 40.0
    assert result["lost_steps"] == 0
    assert result["events"]["recording"] >= 1
    with RecordedRun(kept) as run:
        steps = [view.step for view in run.steps()]
        assert steps == list(range(1, len(steps) + 1))
        assert len(steps) >= 300
        assert not run.complete


# --- little memory ----------------------------------------------------------------------------


def run_with_memory(tmp_path, megabytes, *command):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * MB, megabytes * MB))

    started_s = time.monotonic()
    done = subprocess.run(
        [*PICO_GZ, *command], cwd=tmp_path, preexec_fn=limit, capture_output=True, text=True,
        env={**environment(tmp_path), "OPENBLAS_NUM_THREADS": "1"}, timeout=60, check=False,
    )  # fmt: skip
    return done, time.monotonic() - started_s


@pytest.mark.alone
def test_a_run_needs_little_address_space(tmp_path):
    """Fifty rovers, recorded, in 700 MB of addresses."""
    options = ("--rovers", "50", "--adapter", "lightweight", "--port-offset", "auto")
    done, _ = run_with_memory(
        tmp_path, 700, "run", *options, "--duration", "5", "--speed", "max",
        "--record", str(tmp_path), "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with RecordedRun(json.loads(done.stdout)["recording"]) as run:
        assert run.complete


@pytest.mark.alone
@pytest.mark.parametrize("megabytes", [60, 94, 100, 120, 126, 131, 134, 150])
def test_too_little_address_space_is_an_error_and_no_hang(tmp_path, megabytes):
    """Whatever fails for lack of memory, at the start or in a step, the command says so.

    Without a reserve these hung, were aborted or ended as a defect in some of the runs: an
    interpreter without memory cannot even handle the error.
    """
    options = ("--rovers", "200", "--adapter", "lightweight", "--port-offset", "auto")
    done, took_s = run_with_memory(tmp_path, megabytes, "run", *options, "--duration", "60",
                                   "--speed", "max")  # fmt: skip
    assert done.returncode == 4, done.stderr
    assert done.stdout == "" or megabytes > 120  # the first line comes when all is set up
    assert "not enough memory" in done.stderr
    assert "Traceback" not in done.stderr
    assert took_s < 30.0


# --- rebound names ----------------------------------------------------------------------------


class ServedRun:
    """``pico-gz run`` with its browser view, in a process of its own."""

    def __init__(self, leases, tmp_path, *options):
        self.port = leases.take(1)[0]
        self.process = subprocess.Popen(
            [*PICO_GZ, "run", "--adapter", "lightweight", "--port-offset", "auto", "--duration",
             "0", "--dashboard-bind", f"127.0.0.1:{self.port}", *options],
            cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def __enter__(self):
        end_s = time.monotonic() + 30.0
        while time.monotonic() < end_s:
            try:
                if self.status("/healthz", f"127.0.0.1:{self.port}") in (200, 503):
                    return self
            except OSError:
                time.sleep(0.1)
        self.__exit__()
        raise AssertionError("the view does not answer")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=20)

    def status(self, path, host, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.putrequest("GET", path, skip_host=True)
            if host is not None:
                connection.putheader("Host", host)
            for name, value in headers.items():
                connection.putheader(name.replace("_", "-"), value)
            connection.endheaders()
            return connection.getresponse().status
        finally:
            connection.close()


PATHS = ("/", "/healthz", "/metrics", "/api/state", "/static/app.js", "/static/index.html", "/ws")
REBOUND = ("evil.example", "evil.example:{port}", "127.0.0.1.evil.example:{port}", "0.0.0.0:{port}",
           "localhost.evil.example", "192.168.1.4:{port}", "", None)  # fmt: skip


@pytest.mark.alone
def test_a_rebound_name_gets_nothing(leases, tmp_path):
    """A page of evil.example whose name now leads to 127.0.0.1: every path, 0 answers."""
    pytest.importorskip("uvicorn")
    with ServedRun(leases, tmp_path) as run:
        for path, host in itertools.product(PATHS, REBOUND):
            name = host.format(port=run.port) if host else host
            assert run.status(path, name) in (400, 403), (path, host)
        upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Version": "13",
                   "Sec_WebSocket_Key": "AAAAAAAAAAAAAAAAAAAAAA=="}  # fmt: skip
        here = f"127.0.0.1:{run.port}"
        evil = f"evil.example:{run.port}"
        assert run.status("/ws", evil, Origin=f"http://{evil}", **upgrade) == 403
        assert run.status("/ws", here, Origin=f"http://{evil}", **upgrade) == 403
        assert run.status("/ws", here, Origin=f"http://{here}", **upgrade) == 101
        assert run.status("/api/state", here) == 200


# --- other users ------------------------------------------------------------------------------


@pytest.fixture
def runtime(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    folder = control_socket.control_folder()
    folder.mkdir(mode=0o700)
    return folder


def test_a_control_folder_that_is_a_link_is_refused(tmp_path, runtime):
    runtime.rmdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    runtime.symlink_to(elsewhere)
    with pytest.raises(ConfigError, match="a link"):
        ControlServer(runtime / "x.sock", {})
    assert list(elsewhere.iterdir()) == []


def test_a_control_folder_that_others_may_write_to_is_refused(runtime):
    runtime.chmod(0o777)
    with pytest.raises(ConfigError, match="may write"):
        ControlServer(runtime / "x.sock", {})


def test_runs_in_a_folder_of_others_are_not_asked(runtime):
    """Somebody else's socket could answer as if it were a run of mine."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(runtime / "fake-1.sock"))
        listener.listen()
        assert control_socket.running_runs() == ["fake-1"]
        runtime.chmod(0o777)
        assert control_socket.running_runs() == []
        runtime.chmod(0o700)
        if os.geteuid() == 0:
            os.chown(runtime, 65534, 65534)
            assert control_socket.running_runs() == []


def test_what_is_no_socket_is_left_alone(tmp_path, runtime):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (runtime / "a.sock").symlink_to(victim)
    (runtime / "b.sock").write_text("mine")
    assert control_socket.running_runs() == []
    assert victim.read_text() == (runtime / "b.sock").read_text() == "mine"


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "unreadable"])
def test_a_foreign_lease_file_is_passed_over(tmp_path, kind):
    with PortLeases(tmp_path / "a") as leases:
        (first,) = leases.take()
    folder = tmp_path / "b"
    folder.mkdir()
    lock = folder / f"{first // 100 * 100}.lock"
    victim = tmp_path / "victim"
    if kind == "link":
        lock.symlink_to(victim)
    elif kind == "pipe":
        os.mkfifo(lock)
    elif kind == "folder":
        lock.symlink_to(tmp_path)
    else:
        if os.geteuid() == 0:
            pytest.skip("root may read everything")
        lock.touch(mode=0)
    started_s = time.monotonic()
    with PortLeases(folder) as leases:
        (port,) = leases.take()
    assert time.monotonic() - started_s < 5.0
    assert (port // 100 != first // 100) or kind == "pipe"
    assert not victim.exists()


def test_a_lease_folder_that_is_a_link_is_not_followed(tmp_path, monkeypatch):
    host, victim = tmp_path / "host", tmp_path / "victim"
    host.mkdir()
    victim.mkdir()
    (host / "pico_gz-ports").symlink_to(victim)
    monkeypatch.setattr(port_lease, "HOST_TMP", host)
    monkeypatch.setattr("tempfile.tempdir", str(host))
    assert lock_folders() == [host / f"pico_gz-ports-{os.getuid()}"]
    with PortLeases() as leases:
        leases.take()
    assert list(victim.iterdir()) == []


# --- floods -----------------------------------------------------------------------------------


def flood(port, payload):
    words = [str(port), str(FLOOD_PER_S), str(FLOOD_S), payload.hex()]
    return subprocess.Popen([sys.executable, str(FLOOD), *words], stdout=subprocess.PIPE, text=True)


def require_flood(sender):
    """Wait for the end of a flood that was one: the sender may not be what is slow."""
    out, _ = sender.communicate(timeout=30)
    assert int(out) / FLOOD_S >= 0.8 * FLOOD_PER_S, "the flood was too small to show anything"


@pytest.mark.alone
def test_50_000_packets_a_second_to_the_mavlink_port(leases, tmp_path):
    """Heartbeats keep coming, at most 1.5 s apart, and the run keeps to its time."""
    fleet = default_fleet(1, FleetOverrides(adapter="lightweight"))
    offset = offset_of(leases, fleet)
    station = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    station.bind(("127.0.0.1", fleet.with_port_offset(offset).vehicles[0].config.mavlink_port))
    station.settimeout(0.1)
    run = subprocess.Popen(
        [*PICO_GZ, "run", "--rovers", "1", "--adapter", "lightweight", "--port-offset",
         str(offset), "--duration", "12", "--json"],
        cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        station.settimeout(30.0)
        _, (_, port) = station.recvfrom(65535)
        station.settimeout(0.1)
        sender = flood(port, b"\xff" * 40)
        beats_s, end_s = [], time.monotonic() + FLOOD_S
        while time.monotonic() < end_s:
            try:
                data = station.recv(65535)
            except TimeoutError:
                continue
            if data[0] == 0xFD and data[7:10] == b"\0\0\0":
                beats_s.append(time.monotonic())
        require_flood(sender)
        out, err = run.communicate(timeout=60)
    finally:
        run.kill()
        run.wait()
        station.close()
    gaps_s = [b - a for a, b in itertools.pairwise([end_s - FLOOD_S, *beats_s, end_s])]
    assert run.returncode == 0, err
    result = json.loads(out)
    assert max(gaps_s) <= 1.5, gaps_s
    assert result["lost_steps"] == 0
    assert result["rtf"] >= 0.8


EXTERNAL = """
[fleet]
count = 1
adapter = "lightweight"
autopilot = "external"
[time]
speed = {speed}
"""


class ExternalRun:
    """A fleet of one rover that an external autopilot drives, in this process."""

    def __init__(self, leases, tmp_path, speed, **chaos):
        path = tmp_path / "external.toml"
        path.write_text(EXTERNAL.format(speed=speed))
        fleet = load_fleet(path)
        fleet = fleet.with_port_offset(offset_of(leases, fleet))
        self.port = fleet.vehicles[0].config.fdm_port
        self._options = RunOptions(
            duration_s=5.0, run_folder=tmp_path, mavlink=False, control=False, check_ports=False
        )
        self._fleet = fleet
        self._chaos = chaos

    def run(self):
        """The result, and the autopilot that drove."""
        with FleetRun(self._fleet, self._options) as session:
            pilot = HandWrittenAutopilot(self.port, **self._chaos)
            pilot.start()
            assert pilot.has_spoken.wait(10.0)
            try:
                return session.run(), pilot
            finally:
                pilot.stop()


@pytest.mark.alone
def test_50_000_packets_a_second_to_the_fdm_port(leases, tmp_path):
    """The autopilot that drives is answered, step by step, and no stranger takes its place."""
    fleet = ExternalRun(leases, tmp_path, speed=1.0)
    sender = flood(fleet.port, b"\xff" * 40)
    result, pilot = fleet.run()
    require_flood(sender)
    assert result.lost_steps == 0
    assert result.sim_time_s == 5.0
    assert result.rtf >= 0.5
    assert len(pilot.times_s) >= 400


# --- lossy wires ------------------------------------------------------------------------------


@pytest.mark.alone
@pytest.mark.parametrize(
    "chaos",
    [
        {"loss": 0.1},
        {"duplication": 0.3},
        {"reordering": 0.2},
        {"loss": 0.05, "duplication": 0.2, "reordering": 0.1},
    ],
    ids=lambda chaos: "-".join(chaos),
)
def test_a_lossy_wire_gives_the_bits_of_a_perfect_one(leases, tmp_path, chaos):
    """D5 from the autopilot's side, with an autopilot that shares no code with the kit."""
    perfect, _ = ExternalRun(leases, tmp_path, '"max"').run()
    lossy, pilot = ExternalRun(leases, tmp_path, '"max"', **chaos).run()
    assert sum(pilot.counts.values()) > 20
    assert (lossy.steps, lossy.lost_steps) == (perfect.steps, 0)
    assert lossy.trace_sha256 == perfect.trace_sha256


# --- clocks that jump -------------------------------------------------------------------------


def recorded_bytes(folder):
    fleet = default_fleet(2, FleetOverrides(adapter="lightweight", speed=20.0))
    options = RunOptions(
        demo=True, duration_s=2.0, record_dir=folder, mavlink=False, control=False,
        check_ports=False,
    )  # fmt: skip
    with FleetRun(fleet, options) as session:
        result = session.run()
    return result.trace_sha256, (Path(result.recording) / "run.mcap").read_bytes(), result.wall_s


@pytest.mark.alone
def test_a_clock_that_jumps_by_years_leaves_no_trace(tmp_path, monkeypatch):
    """F30: forth and back by an hour, a day, ten years, to 1970 and beyond 2038; 0 bits differ."""
    calm = recorded_bytes(tmp_path / "calm")
    real_s = time.time()
    jumps_s = itertools.cycle((3600.0, -3600.0, 86_400.0, -3.2e8, 3.2e8, 1.0 - real_s, 4e9))
    monkeypatch.setattr(time, "time", lambda: real_s + next(jumps_s))
    monkeypatch.setattr(time, "time_ns", lambda: int((real_s + next(jumps_s)) * 1e9))
    jumping = recorded_bytes(tmp_path / "jumping")
    assert jumping[:2] == calm[:2]
    assert jumping[2] < calm[2] + 5.0
