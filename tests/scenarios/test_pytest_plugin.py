"""The pytest plugin as its users meet it: pytest in a process of its own, in an empty folder."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from external_programs import need_ardurover
from process_state import is_alive

from pico_gz.run.recording.diff import diff_runs
from pico_gz.run.recording.recorded_run import RecordedRun

ROOT = Path(__file__).parents[2]

DRIVE = """
def test_drive(rover):
    rover.arm()
    rover.goto(north_m=5, east_m=0)
    rover.wait_until(lambda r: abs(r.truth.north_m - 5) < 1.5, timeout_sim_s=60)
"""

FAIL = """
def test_fail(sitl):
    rover = sitl(rovers=1, seed=11)[1]
    rover.arm()
    rover.goto(north_m=2, east_m=0)
    rover.wait_until(lambda r: r.truth.north_m > 50, timeout_sim_s=3)
"""

TEARDOWN = """
import pytest


@pytest.fixture
def before():
    yield
    raise RuntimeError("after the fleet has ended")


def test_teardown(before, rover):
    rover.run(0.1)


def test_pass(rover):
    rover.run(0.1)
"""

ALIKE = """
import pytest


@pytest.mark.parametrize("name", ["a b", "a_b", "a/b"])
def test_alike(rover, name):
    rover.run(0.1)
"""

PORTS = """
import contextlib
import os
import socket
from pathlib import Path

import pytest


@pytest.mark.parametrize("number", range(6))
def test_ports(sitl, ports, number):
    fleet = sitl(rovers=2, mavlink=True)
    gcs = [use.port for use in fleet.session.ports.uses if use.role == "peer"]
    with contextlib.ExitStack() as stack:
        # What another worker holds as well cannot be bound.
        for port in [*gcs, *ports.take(2)]:
            opened = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            opened.bind(("127.0.0.1", port))
        fleet.run(2.0)
    (Path(os.environ["WORKERS_DIR"]) / f"{os.getpid()}-{len(gcs)}-{number}").touch()
"""


ARDUROVER = """
import os
import signal
from pathlib import Path


def test_it_drives_and_hangs(sitl, ardurover):
    fleet = sitl(rovers=1, autopilot="external", rover={"preset": "ardupilot_skid"})
    process = ardurover(fleet)[1]
    assert fleet.time_s == 0.0, "time passed while it started"
    fleet.run(5.0)
    assert process.is_running()
    assert fleet.bridge.stats.lost_steps == 0
    assert not fleet.bridge.get_vehicle(1).stalled
    assert fleet.bridge.events.counts["connected"] == 1
    guard = process._process._process.pid
    (pid,) = Path(f"/proc/{guard}/task/{guard}/children").read_text().split()
    print(f"<pid {pid}>")
    os.kill(int(pid), signal.SIGSTOP)
"""

KILLED = """
import os
import signal
from pathlib import Path


def test_it_kills_pytest(sitl, ardurover):
    fleet = sitl(rovers=1, autopilot="external", rover={"preset": "ardupilot_skid"})
    process = ardurover(fleet)[1]
    fleet.run(1.0)
    assert process.is_running()
    guard = process._process._process.pid
    (pid,) = Path(f"/proc/{guard}/task/{guard}/children").read_text().split()
    print(f"<pid {pid}>", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def run_pytest(tmp_path):
    """Run pytest on a test file of this text, with only the plugins that are named."""

    def run(text, *options, name="test_it.py", **environ):
        (tmp_path / name).write_text(text)
        command = [sys.executable, "-m", "pytest", "-p", "pico_gz.pytest_plugin"]
        return subprocess.run(
            [*command, "-p", "no:cacheprovider", "--rootdir", str(tmp_path), *options],
            cwd=tmp_path,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                # Installed or not, the plugin is loaded once.
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
                **environ,
            },
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


def test_the_five_lines_work_and_leave_nothing_behind(run_pytest, tmp_path):
    done = run_pytest(DRIVE, "-W", "error")
    assert done.returncode == 0, done.stdout
    assert not (tmp_path / "sim-runs").exists()


def test_a_failure_leaves_what_is_needed_to_understand_and_repeat_it(run_pytest, tmp_path):
    done = run_pytest(FAIL)
    assert done.returncode == 1, done.stderr
    assert "seed: 11" in done.stdout
    assert "rover_1 at north" in done.stdout
    first = tmp_path / "sim-runs/test_it-test_fail"
    assert list(first.glob("plot.*"))
    assert json.loads((first / "run.json").read_text())["seed"] == 11

    (command,) = re.findall(r"^repeat: pytest (.*)$", done.stdout, re.M)
    first.rename(tmp_path / "before")
    again = run_pytest(FAIL, *shlex.split(command))
    assert again.returncode == 1
    with RecordedRun(tmp_path / "before") as one, RecordedRun(first) as other:
        assert one.complete
        assert diff_runs(one, other) is None


@pytest.mark.parametrize(("record", "kept"), [("always", True), ("never", False)])
def test_recordings_are_kept_as_asked(run_pytest, tmp_path, record, kept):
    text = FAIL if record == "never" else DRIVE
    run_pytest(text, "--sim-record", record, "--sim-seed", "5")
    found = list((tmp_path / "sim-runs").glob("*/run.json"))
    assert bool(found) is kept
    if kept:
        assert json.loads(found[0].read_text())["seed"] == 5


@pytest.mark.parametrize("retention", ["all", "none"])
def test_a_failure_in_teardown_leaves_its_recording(run_pytest, tmp_path, retention):
    base = tmp_path / "base"
    done = run_pytest(
        TEARDOWN, "-o", f"tmp_path_retention_policy={retention}", "--basetemp", str(base)
    )
    assert "2 passed, 1 error" in done.stdout
    (folder,) = re.findall(r"^recordings and plots: (.*)$", done.stdout, re.M)
    with RecordedRun(tmp_path / folder) as run:
        assert run.complete
    assert list((tmp_path / folder).glob("plot.*"))
    assert len(list((tmp_path / "sim-runs").iterdir())) == 1
    assert not list(base.rglob("run.json")), "what is not kept is removed"


def test_tests_with_names_that_look_alike_have_recordings_of_their_own(run_pytest, tmp_path):
    done = run_pytest(ALIKE, "--sim-record", "always")
    assert done.returncode == 0, done.stdout
    assert len(list((tmp_path / "sim-runs").glob("*/run.json"))) == 3


def test_workers_never_share_a_port(run_pytest, tmp_path):
    pytest.importorskip("xdist")
    folder = tmp_path / "workers"
    folder.mkdir()
    done = run_pytest(PORTS, "-p", "xdist", "-n", "3", WORKERS_DIR=str(folder))
    assert done.returncode == 0, done.stdout
    names = [path.name.split("-") for path in folder.iterdir()]
    assert sorted(number for _, _, number in names) == [str(n) for n in range(6)]
    assert {count for _, count, _ in names} == {"2"}, "every rover has a ground station's port"
    assert len({worker for worker, _, _ in names}) > 1


def test_without_ardurover_the_test_is_skipped_with_the_reason(run_pytest):
    text = "def test_it(ardurover):\n    raise AssertionError('not skipped')\n"
    done = run_pytest(text, "-rs", PICO_GZ_ARDUROVER="/nowhere/ardurover")
    assert done.returncode == 0, done.stdout
    assert "no ArduRover: set PICO_GZ_ARDUROVER" in done.stdout


RELEASES = """
import os

def test_it(ardurover_release):
    print(f"<{ardurover_release} {os.environ['PICO_GZ_ARDUROVER']}>")
"""


@pytest.mark.parametrize(
    ("asked", "found"),
    [((), ["4.6.3", "4.7.0"]), (("--ardurover", "4.7"), ["4.7.0"]), (("--ardurover", "5"), None)],
)
def test_a_test_runs_once_on_each_release(run_pytest, tmp_path, asked, found):
    programs = []
    for release in ("4.6.3", "4.7.0"):
        programs.append(tmp_path / release)
        programs[-1].write_text(f"#!/bin/sh\n# ArduRover V{release}\n")
        programs[-1].chmod(0o755)
    named = os.pathsep.join(map(str, programs))
    done = run_pytest(RELEASES, "-s", *asked, PICO_GZ_ARDUROVER=named)
    if found is None:
        assert done.returncode != 0
        assert "no ArduRover 5 here; found: 4.6.3" in done.stdout + done.stderr
        return
    assert done.returncode == 0, done.stdout
    seen = dict(re.findall(r"<([\d.]+) (.+)>", done.stdout))
    assert seen == {release: str(tmp_path / release) for release in found}


@pytest.mark.ardupilot
@pytest.mark.usefixtures("ardurover_release")
def test_a_real_ardurover_is_started_and_ended_even_when_it_hangs(run_pytest):
    need_ardurover()
    done = run_pytest(ARDUROVER, "-s")
    assert done.returncode == 0, done.stdout
    (pid,) = re.findall(r"<pid (\d+)>", done.stdout)
    assert not Path(f"/proc/{pid}").exists(), "it is still there"


@pytest.mark.ardupilot
@pytest.mark.usefixtures("ardurover_release")
def test_a_real_ardurover_does_not_survive_a_killed_pytest(run_pytest):
    need_ardurover()
    done = run_pytest(KILLED, "-s")
    assert done.returncode == -signal.SIGKILL, done.stdout
    pid = int(re.findall(r"<pid (\d+)>", done.stdout)[0])
    end_s = time.monotonic() + 20.0
    while is_alive(pid) and time.monotonic() < end_s:
        time.sleep(0.01)
    if is_alive(pid):
        os.kill(pid, signal.SIGKILL)
        pytest.fail("it is still there")


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        (
            "--sim",
            "nonsense",
            "no simulator 'nonsense'. Known: auto, gazebo, jsbsim, lightweight, mujoco",
        ),
        ("--sim-speed", "fast", "it takes a number above 0 or 'max', not 'fast'"),
        ("--sim-speed", "0", "it takes a number above 0 or 'max', not '0'"),
        ("--sim-speed", "nan", "it takes a number above 0 or 'max', not 'nan'"),
        ("--sim-seed", "-5", "it takes a whole number from 0 on, not '-5'"),
        ("--sim-record", "sometimes", "invalid choice: 'sometimes'"),
    ],
)
def test_a_wrong_option_is_a_usage_error(run_pytest, option, value, words):
    done = run_pytest(DRIVE, f"{option}={value}")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout
    assert words in done.stderr


def test_a_mistake_before_the_first_step_is_told_with_its_hint(run_pytest, tmp_path):
    done = run_pytest("def test_it(rover):\n    rover.set_mode('AUTOO')\n")
    assert "There is no mode 'AUTOO'" in done.stdout
    assert "hint: Did you mean 'AUTO'?" in done.stdout
    assert "repeat: pytest" in done.stdout
    assert "recordings and plots" not in done.stdout
    assert not (tmp_path / "sim-runs").exists()


def test_the_plugin_is_light():
    code = (
        "import sys, pico_gz.pytest_plugin\n"
        "heavy = {'numpy', 'pydantic', 'typer', 'rich', 'pymavlink', 'jinja2', 'msgspec'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
