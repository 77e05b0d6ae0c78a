"""External autopilots end with whoever started them, and so do their children."""

import functools
import os
import signal
import subprocess
import sys
from pathlib import Path

import process_state
import pytest
from process_state import is_alive

from pico_gz.errors import LaunchError, MissingProgramError
from pico_gz.vehicle.external.program import AutopilotProcess

ROOT = Path(__file__).parents[2]
END_S = 20.0
wait_until = functools.partial(process_state.wait_until, limit_s=END_S)

START = """
import sys
from pathlib import Path
from pico_gz.vehicle.external.program import AutopilotProcess
command = ["sh", "-c", "sleep 300 & echo $! > pid.tmp; mv pid.tmp pid; wait"]
process = AutopilotProcess(command, Path(sys.argv[1])).start()
sys.stdin.read()
"""

# Writes the process id of its child, which ignores SIGTERM.
WITH_CHILD = "(trap '' TERM; exec sleep 300) & echo $! > child.tmp; mv child.tmp child; {then}"


@pytest.fixture
def start(tmp_path):
    """Start a shell with a child; returns the process and the child's id."""
    started = []

    def start_shell(then):
        process = AutopilotProcess(["sh", "-c", WITH_CHILD.format(then=then)], tmp_path).start()
        wait_until((tmp_path / "child").exists, "its start")
        child = int((tmp_path / "child").read_text())
        started.append((process, child))
        return process, child

    yield start_shell
    for process, child in started:
        process.stop()
        if is_alive(child):
            os.kill(child, signal.SIGKILL)


def test_what_it_started_does_not_survive_a_killed_parent(tmp_path):
    parent = subprocess.Popen(
        [sys.executable, "-c", START, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
    )
    with parent:
        wait_until((tmp_path / "pid").exists, "its start")
        pid = int((tmp_path / "pid").read_text())
        try:
            assert is_alive(pid)
            parent.kill()
            parent.wait()
            wait_until(lambda: not is_alive(pid), "its end")
        finally:
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)


def test_its_children_are_stopped_with_it(start):
    process, child = start("wait")
    assert is_alive(child)
    process.stop()
    wait_until(lambda: not is_alive(child), "the child's end")


def test_children_that_it_leaves_behind_are_ended(start):
    process, child = start("exit 3")
    wait_until(lambda: not process.is_running(), "its end")
    wait_until(lambda: not is_alive(child), "the child's end")
    with pytest.raises(LaunchError) as caught:
        process.require_running()
    assert caught.value.exit_code == 3


def test_its_output_is_kept_in_its_folder(tmp_path):
    process = AutopilotProcess(["sh", "-c", "echo Ready; echo Help >&2; exit 1"], tmp_path).start()
    wait_until(lambda: not process.is_running(), "its end")
    assert process.last_lines() == ["Ready", "Help"]
    process.stop()


def test_a_program_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(MissingProgramError, match="no program 'arduwalker'"):
        AutopilotProcess(["arduwalker"], tmp_path).start()
