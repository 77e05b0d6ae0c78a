"""Modules compiled from their own source, imported in place of it.

mypyc makes C of the typed modules below: the same files, the same bits, less time. They lie in
``pico_gz/_compiled/HASH``, with the hash of all their sources, so that stale ones are never
loaded. ``./scripts/build`` puts them there, and the wheels of a platform have them.
``PICO_GZ_PURE=1`` switches them off.
"""

from __future__ import annotations

import hashlib
import importlib.abc
import os
import sys
from collections.abc import Sequence
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

PURE_VARIABLE = "PICO_GZ_PURE"
ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "pico_gz" / "_compiled"
SOURCES = tuple(
    f"pico_gz/{name}.py"
    for name in (
        "core/frames",
        "core/portable_math",
        "core/step_records",
        "core/units",
        "wire/datagrams",
        "wire/state",
        "simulator/drive_model",
        "simulator/fleet_engine",
        "simulator/followed_fleet",
        "simulator/native_fleet",
        "simulator/native_sensors",
        "simulator/native_world",
        "simulator/steering",
        "adapters/lightweight",
        "adapters/mujoco/adapter",
        "adapters/mujoco/physics",
        "adapters/mujoco/wheel_drive",
        "bridge/fleet_stepper",
        "bridge/free_running",
        "bridge/observers",
        "bridge/registered_adapter",
        "bridge/run_loop",
        "bridge/run_stats",
        "vehicle/external/connection",
        "vehicle/external/fdm_server",
        "vehicle/external/records",
        "vehicle/platform/platform",
        "vehicle/platform/pwm",
        "vehicle/platform/sensor_inputs",
        "vehicle/autopilot/context",
        "vehicle/autopilot/control",
        "vehicle/autopilot/estimator",
        "vehicle/autopilot/failsafe",
        "vehicle/autopilot/gcs_commands",
        "vehicle/autopilot/heading",
        "vehicle/autopilot/mission",
        "vehicle/autopilot/modes_auto",
        "vehicle/autopilot/modes_commanded",
        "vehicle/autopilot/modes_places",
        "vehicle/autopilot/navigation",
        "vehicle/autopilot/parameters",
        "vehicle/autopilot/position",
        "vehicle/autopilot/rc_input",
        "vehicle/autopilot/rover_autopilot",
        "vehicle/autopilot/smart_rtl",
        "vehicle/autopilot/telemetry",
        "vehicle/autopilot/tilt",
        "mavlink/fleet_mavlink",
        "mavlink/streams",
        "mavlink/telemetry",
        "gazebo/exchange",
        "gazebo/fleet_wire",
        "gazebo/link",
        "run/event_sources",
    )
)
# The code of all modules is in one library; theirs only lead to it.
LIBRARY = "pico_gz_compiled__mypyc"
_SUFFIX = EXTENSION_SUFFIXES[0]  # names the version of Python and the platform


def is_switched_off() -> bool:
    """Whether the user wants nothing compiled."""
    return os.environ.get(PURE_VARIABLE, "0") not in ("", "0")


@cache
def folder() -> Path:
    """Where the compiled modules of these sources are, or would be."""
    digest = hashlib.sha256()
    for source in SOURCES:
        digest.update((ROOT / source).read_bytes())
    return FOLDER / digest.hexdigest()[:16]


def places() -> dict[str, Path]:
    """Each compiled module with its file, which may be missing."""
    found = {LIBRARY: folder() / f"{LIBRARY}{_SUFFIX}"}
    for source in SOURCES:
        stem = source.removesuffix(".py")
        found[stem.replace("/", ".")] = folder() / f"{stem}{_SUFFIX}"
    return found


class CompiledModules(importlib.abc.MetaPathFinder):
    """Finds the compiled modules; first in line."""

    def __init__(self, found: dict[str, Path]) -> None:
        self._files = found

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Answer for them only."""
        file = self._files.get(fullname)
        return None if file is None else spec_from_file_location(fullname, file)


def is_built() -> bool:
    """Whether all modules of these sources are compiled for this Python."""
    return FOLDER.is_dir() and all(path.is_file() for path in places().values())


def install() -> None:
    """Import compiled modules from now on; unless they are switched off, missing or stale."""
    if not is_switched_off() and is_built():
        sys.meta_path.insert(0, CompiledModules(places()))


def is_in_use() -> bool:
    """Whether this process imports compiled modules."""
    return any(isinstance(finder, CompiledModules) for finder in sys.meta_path)


def describe() -> str:
    """``compiled``, or ``interpreted (reason)``."""
    if is_in_use():
        return "compiled"
    if is_switched_off():
        return f"interpreted ({PURE_VARIABLE} is set)"
    stale = FOLDER.is_dir() and any(FOLDER.iterdir())
    return f"interpreted (the compiled modules are {'stale' if stale else 'not built'})"
