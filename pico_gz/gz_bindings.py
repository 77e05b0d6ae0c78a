"""Which Python on this machine has Gazebo's bindings."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from functools import cache

MODULE = "gz.transport13"
APT_PACKAGE = "python3-gz-transport13"
SDF_MODULE = "sdformat14"
_SYSTEM_PATH = "/usr/bin:/usr/local/bin"
_TIMEOUT_S = 3.0


def find_bindings(module: str = MODULE) -> str:
    """An interpreter that has them: our own, else the system's; empty when none has.

    They come as system packages for the system's Python, while the kit is often in a virtual
    environment that cannot see those. All use of them is in processes apart, so any Python
    will do.
    """
    if _have_them(module):
        return sys.executable
    system = shutil.which("python3", path=_SYSTEM_PATH)
    return system if system and _has_them(system, module) else ""


def _have_them(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


@cache
def _has_them(python: str, module: str) -> bool:
    try:
        done = subprocess.run(
            [python, "-c", f"import {module}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
