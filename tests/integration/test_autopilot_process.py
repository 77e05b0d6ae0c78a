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

from pico_gz.errors import LaunchError
from pico_gz.vehicle.external.program import AutopilotProcess

ROOT = Path(__file__).parents[2]
END_S = 20.0
wait_until = functools.partial(process_state.wait_until, limit_s=END_S)

START = """
import sys
from pathlib import Path
from pico_gz.vehicle.external.program import AutopilotProcess
process = AutopilotProcess(["sleep", "300"], Path(sys.argv[1])).start()
print(process._process.pid, flush=True)
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


def test_it_does_not_survive_a_killed_parent(tmp_path):
    parent = subprocess.Popen(
        [sys.executable, "-c", START, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with parent:
        pid = int(parent.stdout.readline())
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
