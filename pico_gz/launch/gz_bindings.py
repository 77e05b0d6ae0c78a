"""Which Python on this machine has Gazebo's transport bindings."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from functools import cache

MODULE = "gz.transport13"
APT_PACKAGE = "python3-gz-transport13"
_SYSTEM_PATH = "/usr/bin:/usr/local/bin"
_TIMEOUT_S = 3.0


def find_bindings() -> str:
    """An interpreter that has them: our own, else the system's; empty when none has.

    They come as system packages for the system's Python, while the kit is often in a virtual
    environment that cannot see those. All use of them is in worker processes, so any Python
    will do.
    """
    if _have_them():
        return sys.executable
    system = shutil.which("python3", path=_SYSTEM_PATH)
    return system if system and _has_them(system) else ""


def _have_them() -> bool:
    try:
        return importlib.util.find_spec(MODULE) is not None
    except (ImportError, ValueError):
        return False


@cache
def _has_them(python: str) -> bool:
    try:
        done = subprocess.run(
            [python, "-c", f"import {MODULE}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
