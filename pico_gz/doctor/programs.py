"""Asks programs about themselves, without ever waiting long."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

TIMEOUT_S = 2.0


def ask(command: Sequence[str], timeout_s: float = TIMEOUT_S) -> tuple[int, str]:
    """Run a command; returns its exit code and what it wrote. It never raises.

    The code is -1 when it cannot be run or takes too long.
    """
    try:
        done = subprocess.run(
            list(command),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return -1, f"no answer within {timeout_s:g} s"
    except OSError as exc:
        return -1, exc.strerror or str(exc)
    return done.returncode, done.stdout.strip() or done.stderr.strip()
