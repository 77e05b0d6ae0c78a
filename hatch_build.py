"""Puts compiled code into a wheel when the environment names it; otherwise it is pure.

``PICO_GZ_CORE`` is the simulator's core, which suits every Python 3. ``PICO_GZ_MODULES`` is the
folder of the compiled modules, which suit the Python they were compiled for.
"""

from __future__ import annotations

import os
import platform
import re
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_OLDEST_GLIBC = (2, 17)


class CompiledHook(BuildHookInterface[Any]):
    """Makes a platform wheel of a wheel with compiled code."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the compiled code, and name Python and platform in the tag."""
        if self.target_name != "wheel" or version == "editable":
            return
        core, modules = os.environ.get("PICO_GZ_CORE"), os.environ.get("PICO_GZ_MODULES")
        files: dict[Path, str] = {}
        if core:
            files[Path(core)] = f"pico_gz/simulator/native/{Path(core).name}"
            if (needed := _glibc([Path(core)])) > _OLDEST_GLIBC:
                raise RuntimeError(
                    f"The core needs a C library newer than {_OLDEST_GLIBC}: {needed}."
                )
        if modules:
            files |= _modules_in(Path(modules))
        if not files:
            return
        build_data["force_include"] |= {str(path): inside for path, inside in files.items()}
        build_data["pure_python"] = False
        python = f"cp{sys.version_info.major}{sys.version_info.minor}"
        interpreter = f"{python}-{python}" if modules else "py3-none"
        build_data["tag"] = f"{interpreter}-{_platform_tag(list(files))}"


def _modules_in(folder: Path) -> dict[Path, str]:
    """The libraries of a folder, with their places in the wheel."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    if not found or any(not path.name.endswith(suffix) for path in found):
        raise RuntimeError(f"{folder} has no modules that were compiled for this Python.")
    return {
        path: f"pico_gz/_compiled/{folder.name}/{path.relative_to(folder).as_posix()}"
        for path in found
    }


def _platform_tag(files: list[Path]) -> str:
    machine = platform.machine().lower()
    if sys.platform == "darwin":
        return f"macosx_11_0_{machine}"
    if sys.platform == "win32":
        return "win_arm64" if machine == "arm64" else "win_amd64"
    needed = max(_glibc(files), _OLDEST_GLIBC)
    tag = f"manylinux_{needed[0]}_{needed[1]}_{machine}"
    return f"{tag}.manylinux2014_{machine}" if needed == _OLDEST_GLIBC else tag


def _glibc(files: list[Path]) -> tuple[int, int]:
    """The version of the C library that these need."""
    found = [re.findall(rb"GLIBC_(\d+)\.(\d+)", path.read_bytes()) for path in files]
    return max(((int(a), int(b)) for pairs in found for a, b in pairs), default=(0, 0))
