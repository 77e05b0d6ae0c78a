"""``pico-gz run`` as a user or a script meets it: real processes, real signals."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pico_gz.core.port_owner import free_offset
from pico_gz.core.ports import rc_port
from pico_gz.run.config import default_fleet
from pico_gz.run.config.overrides import FleetOverrides

ROOT = Path(__file__).parents[2]
OFFSET = ["--port-offset", "auto"]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pico_gz", *arguments]


def environment(**changes: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **changes}


def run(*arguments: str, cwd: Path | None = None, **changes: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        timeout=120,
        env=environment(**changes),
        cwd=cwd,
    )


def result(*arguments: str, **kwargs) -> dict:
    done = run("run", *arguments, "--json", "--adapter", "lightweight", *OFFSET, **kwargs)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


FIVE = ("--rovers", "5", "--seed", "7", "--duration", "5", "--speed", "max")


@pytest.fixture(scope="module")
def five_digest() -> str:
    """The digest of one plain run of five."""
    return result(*FIVE)["trace_sha256"]


def test_the_result_has_every_promised_figure():
    figures = result("--rovers", "2", "--duration", "2", "--speed", "max")
    assert figures["adapter"] == "lightweight"
    assert (figures["rovers"], figures["seed"], figures["steps"]) == (2, 42, 200)
    assert figures["sim_time_s"] == 2.0
    assert figures["lost_steps"] == 0
    assert set(figures["latency_ms"]) == {"p50", "p99", "p999", "max"}
    assert len(figures["trace_sha256"]) == 64
    final = figures["final"]["1"]
    for key in ("north_m", "east_m", "yaw_deg", "lat_deg", "lon_deg", "mode", "armed"):
        assert key in final


def test_same_seed_same_bytes_whatever_the_process(tmp_path):
    """D1: hash seed, folder, time zone, language and umask change nothing."""
    digests = {
        result(*FIVE, PYTHONHASHSEED=hash_seed, TZ=zone, LANG=lang, cwd=cwd)["trace_sha256"]
        for hash_seed, zone, lang, cwd in [
            ("0", "UTC", "C", None),
            ("1", "Asia/Tokyo", "C.UTF-8", tmp_path),
            ("random", "America/New_York", "de_DE", tmp_path),
        ]
    }
    assert len(digests) == 1


def test_another_seed_gives_another_run(five_digest):
    other = (*FIVE[:3], "8", *FIVE[4:])
    assert result(*other)["trace_sha256"] != five_digest


def test_a_sixth_rover_leaves_the_first_five_alone():
    """D4: with contacts off, nobody's run depends on the company."""
    five = result(*FIVE, "--no-contacts")["final"]
    six = result("--rovers", "6", *FIVE[2:], "--no-contacts")["final"]
    assert {i: six[i] for i in five} == five


def test_the_speed_changes_no_byte():
    """D2."""
    base = ("--rovers", "2", "--duration", "1")
    digests = {result(*base, "--speed", speed)["trace_sha256"] for speed in ("0.7", "4", "max")}
    assert len(digests) == 1


def test_cpu_features_change_no_byte(five_digest):
    """D6: the C library's sine differs with other CPU features; the kit does not use it."""
    masked = "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F"
    assert result(*FIVE, GLIBC_TUNABLES=masked)["trace_sha256"] == five_digest


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--rovers", "0"], 2, "1..255"),
        (["--rovers", "256"], 2, "1..255"),
        (["--rovers", "three"], 2, "--rovers"),
        (["--speed", "fast"], 2, "max"),
        (["--speed", "-1"], 2, "above 0"),
        (["--duration", "-1"], 2, "duration"),
        (["--adapter", "lightwieght"], 2, "lightweight"),
        (["--autopilot", "builtn"], 2, "builtin"),
        (["--rc", "telepathy"], 2, "telepathy"),
        (["--mission", "nowhere.plan"], 2, "nowhere.plan"),
        (["missing.toml"], 2, "missing.toml"),
        (["--rovers", "255"], 2, "--allow-gcs-sysid"),
    ],
)
def test_bad_input_ends_with_a_clear_message_before_anything_starts(arguments, code, words):
    done = run("run", *arguments)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_ports_that_were_taken_meanwhile_are_moved_once_more():
    """Between finding ports free and opening them, another run may be quicker."""
    fleet = default_fleet(overrides=FleetOverrides(rovers=1))
    offset = free_offset(lambda offset: fleet.with_port_offset(offset).port_plan())
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as quicker:
        quicker.bind(("127.0.0.1", rc_port(1) + offset))
        result("--rovers", "1", "--rc", "udp", "--duration", "0.1", "--speed", "max")


def test_a_warning_is_told_once(tmp_path):
    (tmp_path / "fleet.toml").write_text("[[vehicle]]\nid = 255\n")
    done = run(
        *("run", "fleet.toml", "--allow-gcs-sysid", "--adapter", "lightweight", *OFFSET),
        *("--duration", "0.1", "--speed", "max"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    told = (done.stdout + done.stderr).count("most ground stations: give yours another one")
    assert told == 1


def test_errors_are_json_when_json_was_asked_for():
    done = run("run", "--rovers", "0", "--json")
    error = json.loads(done.stdout)["error"]
    assert set(error) == {"code", "message", "hint"}
    assert done.returncode == error["code"] == 2


class Running:
    """A run in its own process that has printed its first lines."""

    def __init__(self, *arguments: str, **popen) -> None:
        self.process = subprocess.Popen(
            command("run", *arguments, "--adapter", "lightweight", *OFFSET),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
            **popen,
        )
        assert self.process.stdout is not None
        while "Control it" not in self.process.stdout.readline():
            assert self.process.poll() is None, self.process.stderr.read()

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, *_) -> None:
        self.process.kill()
        self.process.communicate()

    def end(self, number: int, limit_s: float) -> tuple[int, str, str]:
        started_s = time.monotonic()
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=20)
        assert time.monotonic() - started_s < limit_s
        return self.process.returncode, out, err


@pytest.mark.alone
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_run_cleanly_within_two_seconds(number, code):
    with Running("--rovers", "2", "--duration", "0") as run_:
        returned, out, err = run_.end(number, 2.0)
    assert returned == code
    assert "Trace:" in out
    assert "Traceback" not in err


@pytest.mark.alone
def test_a_closing_terminal_does_not_end_the_run():
    """F32."""
    with Running("--rovers", "1", "--duration", "0") as run_:
        run_.process.send_signal(signal.SIGHUP)
        run_.process.send_signal(signal.SIGCONT)
        assert run_.process.poll() is None
        assert run_.end(signal.SIGINT, 2.0)[0] == 130


def test_a_reader_that_leaves_does_not_break_the_run():
    """F32: stdout is closed while the run goes on."""
    with Running("--rovers", "1", "--duration", "1") as run_:
        run_.process.stdout.close()
        run_.process.stdout = None
        _, err = run_.process.communicate(timeout=30)
    assert "Traceback" not in err


@pytest.mark.alone
def test_ctl_reaches_the_run(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with Running("--rovers", "2", "--duration", "0") as run_:
        paused = json.loads(run("ctl", "pause", "--json").stdout)
        assert paused["state"] == "paused"
        first = json.loads(run("ctl", "status", "--json").stdout)
        moved = json.loads(run("ctl", "step", "25", "--json").stdout)
        assert moved["steps"] == first["steps"] + 25
        run("ctl", "set-pose", "2", "50", "60", "90")
        run("ctl", "step", "1")
        pose = json.loads(run("ctl", "status", "--json").stdout)["vehicles"]["2"]
        assert (round(pose["north_m"]), round(pose["east_m"])) == (50, 60)
        run("ctl", "set-pose", "2", "0", "0", "0", "0.5")
        pose = json.loads(run("ctl", "step", "10", "--json").stdout)["vehicles"]["2"]
        assert pose["north_m"] > 0.02
        assert run("ctl", "set-pose", "2", "0", "0").returncode == 2
        assert run("ctl", "fail", "1", "gps", "off").returncode == 0
        refused = run("ctl", "fail", "1", "gsp", "off")
        assert refused.returncode == 2
        assert "gps" in refused.stderr
        assert run_.end(signal.SIGINT, 2.0)[0] == 130
    assert run("ctl", "status").returncode == 2
