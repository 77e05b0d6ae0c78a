"""Puts the compiled core into a wheel when ``PICO_GZ_CORE`` names it; otherwise it is pure."""

from __future__ import annotations

import os
import platform
import re
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_MAX_GLIBC = (2, 17)


class CoreHook(BuildHookInterface[Any]):
    """Makes a platform wheel, for every Python 3, of a wheel with the core."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the core, and name the platform in the tag."""
        core = os.environ.get("PICO_GZ_CORE")
        if not core or self.target_name != "wheel" or version == "editable":
            return
        build_data["force_include"][core] = f"pico_gz/simulator/native/{Path(core).name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{_platform_tag(Path(core))}"


def _platform_tag(core: Path) -> str:
    machine = platform.machine().lower()
    if sys.platform == "darwin":
        return f"macosx_11_0_{machine}"
    if sys.platform == "win32":
        return "win_arm64" if machine == "arm64" else "win_amd64"
    found = [(int(a), int(b)) for a, b in re.findall(rb"GLIBC_(\d+)\.(\d+)", core.read_bytes())]
    if max(found, default=(0, 0)) > _MAX_GLIBC:
        raise RuntimeError(f"The core needs a C library newer than {_MAX_GLIBC}: {max(found)}.")
    return f"manylinux_2_17_{machine}.manylinux2014_{machine}"
