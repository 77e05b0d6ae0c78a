"""Health checks that watch, instead of being started again and again.

Starting a program in a container costs more than asking the run. So the first check answers at
once, and those after it keep asking for a while: they answer at the first problem, or when their
time is over.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from pico_gz.errors import PicoGzError

# With the longest single question (4 s) below the timeout of the Compose files.
WATCH_S = 30.0
PERIOD_S = 5.0
# Gone when the container starts again, because /tmp is.
HEALTHY_FILE = Path("/tmp/pico_gz_healthy")


def watch(examine: Callable[[], tuple[bool, str]], healthy_file: Path = HEALTHY_FILE) -> int:
    """Print what ``examine`` found last, and return 0 if it was well, else 1."""
    end_s = time.monotonic() + (WATCH_S if healthy_file.exists() else 0.0)
    well, text = _ask(examine)
    while well and time.monotonic() + PERIOD_S < end_s:
        time.sleep(PERIOD_S)
        well, text = _ask(examine)
    if well:
        healthy_file.touch()
    else:
        # From now on answer at once, so that the end of the trouble is seen soon.
        healthy_file.unlink(missing_ok=True)
    sys.stdout.write(text + "\n")
    return 0 if well else 1


def _ask(examine: Callable[[], tuple[bool, str]]) -> tuple[bool, str]:
    try:
        return examine()
    except PicoGzError as error:
        return False, error.message
