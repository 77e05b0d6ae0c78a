"""``pico-gz ctl`` against real runs: which run it speaks to, and what it can ask for."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def environment(tmp_path):
    return {**os.environ, "PYTHONPATH": str(ROOT), "XDG_RUNTIME_DIR": str(tmp_path)}


@pytest.fixture
def start(tmp_path, environment):
    """Starts a run in a folder; gives the process and the name of the run."""
    running = []

    def call(folder: str, *arguments: str) -> tuple[subprocess.Popen, str]:
        where = tmp_path / folder
        where.mkdir(exist_ok=True)
        words = ("run", "--duration", "0", "--adapter", "lightweight", "--port-offset", "auto")
        process = subprocess.Popen(
            [sys.executable, "-m", "pico_gz", *words, *arguments],
            env=environment,
            cwd=where,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        running.append(process)
        while "Control it" not in (line := process.stdout.readline()):
            assert process.poll() is None
        return process, line.partition("--run ")[2].split()[0]

    yield call
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture
def ctl(tmp_path, environment):
    def call(folder: str, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-m", "pico_gz", "ctl", *words],
            env=environment,
            cwd=tmp_path / folder,
            capture_output=True,
            text=True,
            timeout=60,
        )

    return call


def status(done: subprocess.CompletedProcess) -> dict:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_run_of_another_folder_is_not_changed_unless_it_is_named(start, ctl):
    mine, name = start("mine", "--rovers", "1")
    _, other = start("other", "--rovers", "1")
    assert status(ctl("mine", "pause", "--json"))["run"] == name
    assert ctl("mine", "stop").returncode == 0
    mine.wait(20)
    refused = ctl("mine", "pause")
    assert refused.returncode == 2
    assert "No run was started in this folder." in refused.stderr
    assert other in refused.stderr
    # To look is allowed, and names whose it is.
    seen = status(ctl("mine", "status", "--json"))
    assert (seen["run"], seen["state"]) == (other, "running")
    assert status(ctl("mine", "pause", "--run", other, "--json"))["state"] == "paused"
    assert status(ctl("mine", "resume", "--run", other.rpartition("-")[0], "--json"))


def test_rovers_are_commanded(start, ctl):
    run, _ = start("mine", "--rovers", "2", "--speed", "10", "--mission", "square")
    where = "mine"
    until(lambda: _all(ctl(where, "status", "--json"), "armed"))
    assert status(ctl(where, "mode", "all", "hold", "--json"))["vehicles"]["2"]["mode"] == "HOLD"
    assert not _all(ctl(where, "disarm", "1", "--json"), "armed")
    refused = ctl(where, "mode", "1", "hodl")
    assert (refused.returncode, "HOLD" in refused.stderr) == (2, True)
    moved = status(ctl(where, "goto", "1", "-4", "-2", "--json"))["vehicles"]["1"]
    assert (moved["mode"], moved["armed"]) == ("GUIDED", True)
    until(lambda: _near(ctl(where, "status", "--json"), -4.0, -2.0))
    failed = ctl(where, "fail", "2", "gps", "off")
    assert failed.stdout.startswith("gps of rover_2: off\n")
    assert "Failures of rover_2: gps off" in ctl(where, "status").stdout
    back = status(ctl(where, "reset", "--json"))
    assert back["failures"] == {}
    assert _near_pose(back["vehicles"]["1"], 0.0, 0.0)
    assert ctl(where, "mission", "all", "nowhere.plan").returncode == 2
    assert ctl(where, "mission", "all", "patrol").returncode == 0
    until(lambda: _all(ctl(where, "status", "--json"), "armed"))
    assert ctl(where, "stop").returncode == 0
    assert run.wait(20) == 0


def test_a_paused_run_stands_where_it_was_said_to(start, ctl):
    """The answer names the time that stays, not the one before the last step."""
    start("mine", "--rovers", "1", "--speed", "max", "--paused")
    first = status(ctl("mine", "status", "--json"))
    assert (first["state"], first["steps"]) == ("paused", 0)
    for _ in range(6):
        ctl("mine", "resume")
        said = status(ctl("mine", "pause", "--json"))
        time.sleep(0.05)
        assert status(ctl("mine", "status", "--json"))["steps"] == said["steps"]
    assert said["speed_now"] == 0.0


def test_the_speed_is_the_present_one(start, ctl):
    start("mine", "--rovers", "1", "--speed", "max")
    until(lambda: status(ctl("mine", "status", "--json"))["speed_now"] > 3.0)
    ctl("mine", "speed", "1")
    until(lambda: 0.7 < status(ctl("mine", "status", "--json"))["speed_now"] < 1.3)
    assert status(ctl("mine", "status", "--json"))["rtf"] > 1.5, "that of the whole run"


def test_events_are_watched_until_the_run_ends(start, ctl, tmp_path, environment):
    run, name = start("mine", "--rovers", "1", "--speed", "max")
    watching = subprocess.Popen(
        [sys.executable, "-m", "pico_gz", "ctl", "watch"],
        env=environment,
        cwd=tmp_path / "mine",
        stdout=subprocess.PIPE,
        text=True,
    )
    assert watching.stdout.readline().startswith(f"{name}: events from now on")
    ctl("mine", "fail", "1", "gps", "off")
    ctl("mine", "stop")
    run.wait(20)
    out, _ = watching.communicate(timeout=20)
    assert "failure      rover_1: gps fails: off." in out
    assert watching.returncode == 0


def until(condition, limit_s: float = 40.0) -> None:
    end_s = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end_s
        time.sleep(0.2)


def _all(done: subprocess.CompletedProcess, key: str) -> bool:
    return all(vehicle[key] for vehicle in status(done)["vehicles"].values())


def _near(done: subprocess.CompletedProcess, north_m: float, east_m: float) -> bool:
    return _near_pose(status(done)["vehicles"]["1"], north_m, east_m)


def _near_pose(vehicle: dict, north_m: float, east_m: float) -> bool:
    return abs(vehicle["north_m"] - north_m) < 1.5 and abs(vehicle["east_m"] - east_m) < 1.5


def test_a_rover_joins_and_leaves(start, ctl):
    process, _ = start("here", "--rovers", "1", "--autopilot", "none")
    joined = ctl("here", "spawn", "6", "-1", "90", "script:circle")
    assert joined.stdout.startswith("rover_2 joins."), joined.stderr
    assert ctl("here", "spawn", "12", "0", "--json").returncode == 0
    refused = ctl("here", "spawn", "0.1", "0")
    assert (refused.returncode, "stand inside rover_1" in refused.stderr) == (2, True)
    status = json.loads(ctl("here", "status", "--json").stdout)
    assert sorted(status["vehicles"]) == ["1", "2", "3"]
    assert ctl("here", "remove", "1").stdout.startswith("rover_1 leaves.")
    assert "no vehicle 1" in ctl("here", "remove", "1").stderr
    ctl("here", "stop")
    assert process.wait(30) == 0
