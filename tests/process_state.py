"""Waiting for other programs, and whether one is still alive."""

import time
from pathlib import Path


def is_alive(pid):
    """False also for one that has ended and whose exit code was not read yet."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def wait_until(condition, what="it to happen", *, limit_s):
    """Look every 20 ms until ``condition()``; fails the test after ``limit_s``."""
    end_s = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end_s, f"waited too long for {what}"
        time.sleep(0.02)
