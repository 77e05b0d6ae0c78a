"""Ctrl-C ends a run whose step hangs on its own thread, too (F31)."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.alone

ROOT = Path(__file__).parents[2]

# Promises to return from every step, and does not.
ADAPTER = """
import sys, time
from pico_gz.testing import ScriptedAdapter

class HangingAdapter(ScriptedAdapter):
    adapter_type = "hanging"

    def _step(self, dt_us):
        if self.sim_time_us() >= 50_000:
            print("hanging", file=sys.stderr, flush=True)
            time.sleep(600)
        return super()._step(dt_us)
"""


@pytest.fixture
def hanging_run(tmp_path):
    """``pico-gz run`` on an installed adapter, in the middle of a step that does not end."""
    (tmp_path / "hanging_sim.py").write_text(ADAPTER)
    info = tmp_path / "hanging_sim-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hanging-sim\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[pico_gz.adapters]\nhanging = hanging_sim:HangingAdapter\n"
    )
    command = "run --adapter hanging --rovers 1 --speed max --duration 0 --port-offset auto --json"
    process = subprocess.Popen(
        [sys.executable, "-m", "pico_gz", *command.split()],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
    )  # fmt: skip
    try:
        seen = []
        for line in process.stderr:
            seen.append(line)
            if line.startswith("hanging"):
                break
        else:
            pytest.fail("it ended by itself: " + "".join(seen))
        yield process
    finally:
        process.kill()
        process.communicate()


def test_the_first_signal_ends_it_within_two_seconds_with_a_summary(hanging_run):
    began_s = time.monotonic()
    hanging_run.send_signal(signal.SIGINT)
    out, err = hanging_run.communicate(timeout=20.0)
    assert time.monotonic() - began_s < 3.0  # two, and one for a machine that is busy
    assert hanging_run.returncode == 130
    assert json.loads(out)["sim_time_s"] == 0.05
    assert "does not end" in err
    assert "Traceback" not in err


def test_the_second_signal_ends_it_at_once(hanging_run):
    hanging_run.send_signal(signal.SIGTERM)
    end_s = time.monotonic() + 1.0  # before patience would have ended
    while hanging_run.poll() is None:
        assert time.monotonic() < end_s, "it goes on"
        hanging_run.send_signal(signal.SIGTERM)
        time.sleep(0.01)
    assert hanging_run.returncode == 143
