"""Old module paths that earlier documentation named, kept until 1.0.

An old path imports as a module whose names come from the new places. Old entry points
(``python -m``) run the new ones, so Compose files that were written earlier still start.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import warnings
from collections.abc import Sequence
from types import CodeType, ModuleType
from typing import Any

_INSIDE = "pico_gz.cli.tools.containers.inside"

# Old module -> the new modules that hold its names; empty for a package without names.
MOVED: dict[str, tuple[str, ...]] = {
    "pico_gz.messages": ("pico_gz.core.messages", "pico_gz.core.vehicle_config"),
    "pico_gz.rover": ("pico_gz.core.rover_spec",),
    "pico_gz.state": ("pico_gz.core.snapshot",),
    "pico_gz.config": ("pico_gz.run.config",),
    "pico_gz.config.schema": ("pico_gz.run.config.schema",),
    "pico_gz.session": (),
    "pico_gz.session.session": ("pico_gz.run.fleet_run",),
    "pico_gz.session.options": ("pico_gz.run.options",),
    "pico_gz.recording": (),
    "pico_gz.recording.recorded_run": ("pico_gz.run.recording.recorded_run",),
    "pico_gz.launch": (),
    "pico_gz.launch.gz_control": ("pico_gz.gazebo.world_control",),
    "pico_gz.launch.gz_messages": ("pico_gz.gazebo.gz_messages",),
    "pico_gz.containers": (),
    "pico_gz.containers.inside": (),
    **{
        f"pico_gz.containers.inside.{name}": (f"{_INSIDE}.{name}",)
        for name in (
            "ardurover",
            "bridge",
            "check_bridge",
            "check_gazebo",
            "check_process",
            "gazebo",
        )
    },
}
# Names that changed with the move.
RENAMED = {"Stateful": "Snapshot", "Session": "FleetRun"}


class MovedModules(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Finds and loads the old paths; last in line, so a real module always wins."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Answer for the old paths only."""
        if fullname not in MOVED:
            return None
        is_package = any(old.startswith(f"{fullname}.") for old in MOVED)
        return importlib.machinery.ModuleSpec(fullname, self, is_package=is_package)

    def exec_module(self, module: ModuleType) -> None:
        """Let the module look its names up in the new places."""
        places = MOVED[module.__name__]
        if places:
            warnings.warn(
                f"{module.__name__} is now {' and '.join(places)}; the old path goes with 1.0.",
                DeprecationWarning,
                stacklevel=3,
            )

        def look_up(name: str) -> Any:
            for place in places:
                found = importlib.import_module(place)
                if hasattr(found, RENAMED.get(name, name)):
                    return getattr(found, RENAMED.get(name, name))
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        module.__getattr__ = look_up  # type: ignore[method-assign]

    def get_code(self, fullname: str) -> CodeType:
        """Run the new module as a program, for ``python -m``."""
        [place] = MOVED[fullname]
        program = f"import runpy\nrunpy.run_module({place!r}, run_name='__main__', alter_sys=True)"
        return compile(program, fullname, "exec")

    def get_source(self, fullname: str) -> None:
        """There is no source at an old path."""
