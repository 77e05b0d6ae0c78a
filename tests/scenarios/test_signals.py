"""A run that is stopped has its exit code and its summary, at any moment."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
# Python itself needs this long at most until the first line of the command runs.
LOADED_WITHIN_S = 1.0
STOPPED_WITHIN_S = 2.0


def start(folder: Path, *arguments: str) -> subprocess.Popen:
    words = ("run", "--rovers", "2", "--duration", "0", "--adapter", "lightweight")
    return subprocess.Popen(
        [sys.executable, "-m", "pico_gz", *words, "--port-offset", "auto", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_RUNTIME_DIR": str(folder)},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def handles(process: subprocess.Popen, number: int) -> bool:
    """Whether the process catches this signal by now."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False


def wait_until_handled(process: subprocess.Popen) -> None:
    started_s = time.monotonic()
    while not handles(process, signal.SIGTERM):
        assert time.monotonic() - started_s < LOADED_WITHIN_S * 5
        time.sleep(0.002)


@pytest.mark.alone
def test_signals_are_handled_before_the_command_is_loaded(tmp_path):
    """Nothing of the kit but the handlers is loaded then; a signal ends it with its code."""
    process = start(tmp_path)
    wait_until_handled(process)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=10)
    assert process.returncode == 143
    assert "Traceback" not in err


@pytest.mark.alone
@pytest.mark.timeout(240)
def test_thirty_signals_at_random_moments_of_the_first_two_seconds(tmp_path):
    moments = random.Random(11)
    slow, wrong = [], []
    for number in range(30):
        kind = signal.SIGTERM if number % 2 else signal.SIGINT
        as_json = ("--json",) if number % 3 == 0 else ()
        recorded = ("--record", "rec") if number % 5 == 0 else ()
        process = start(tmp_path, *as_json, *recorded)
        wait_until_handled(process)
        delay_s = moments.uniform(0.0, 2.0)
        time.sleep(delay_s)
        process.send_signal(kind)
        sent_s = time.monotonic()
        try:
            out, err = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
        if time.monotonic() - sent_s > STOPPED_WITHIN_S:
            slow.append((delay_s, time.monotonic() - sent_s))
        said = bool(json.loads(out)) if as_json else ("Trace: " in out or "Stopped" in err)
        if process.returncode != CODES[kind] or not said or "Traceback" in err:
            wrong.append((delay_s, process.returncode, out, err))
    assert not wrong
    assert not slow
    for path in tmp_path.glob("rec/*/run.json"):
        assert json.loads(path.read_text())["fleet"] == "2_rovers"
    assert not list(tmp_path.glob("pico_gz/*.sock"))
