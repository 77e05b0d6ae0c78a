"""Whether Gazebo Harmonic and the ArduPilot plugin are on this machine. Looks at files only."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

PLUGIN_LIBRARY = "libArduPilotPlugin.so"
PLUGIN_PATH_VARIABLES = ("PICO_GZ_PLUGIN_PATH", "GZ_SIM_SYSTEM_PLUGIN_PATH")
# Where the plugin's own instructions and the kit's image put it.
_USUAL_PLUGIN_FOLDERS = (
    "~/gz_ws/install/ardupilot_gazebo/lib/ardupilot_gazebo",
    "~/gz_ws/src/ardupilot_gazebo/build",
    "~/ardupilot_gazebo/build",
    "/usr/local/lib/ardupilot_gazebo",
    "/opt/ardupilot_gazebo/lib",
)


class GazeboInstall(msgspec.Struct, frozen=True):
    """What was found; ``None`` means it was not."""

    program: Path | None
    plugin: Path | None

    @property
    def problem(self) -> str:
        """Why Gazebo cannot be used, as half a sentence; empty when it can."""
        if self.program is None:
            return "there is no gz program on the PATH"
        if self.plugin is None:
            return f"{PLUGIN_LIBRARY} was found nowhere (set {PLUGIN_PATH_VARIABLES[0]})"
        return ""


def find_gazebo(environ: Mapping[str, str] | None = None) -> GazeboInstall:
    """Look for the program on the PATH and for the plugin where it usually is."""
    environment = os.environ if environ is None else environ
    program = shutil.which("gz", path=environment.get("PATH"))
    return GazeboInstall(Path(program) if program else None, _find_plugin(environment))


def is_gazebo_program(name: str) -> bool:
    """Whether a process of this name may be a Gazebo; ``gz sim`` is a Ruby program."""
    return name.startswith(("ruby", "gz"))


def knows_time_sync(plugin: Path) -> bool:
    """Whether a plugin is of the newer kind, which ignores PWM 0 instead of reversing.

    The newer kind tells ``no_time_sync`` in its records, so the word is in the library.
    """
    try:
        return b"no_time_sync" in plugin.read_bytes()
    except OSError:
        return False


def _find_plugin(environ: Mapping[str, str]) -> Path | None:
    folders = [
        folder
        for variable in PLUGIN_PATH_VARIABLES
        for folder in environ.get(variable, "").split(os.pathsep)
        if folder
    ]
    for folder in (*folders, *_USUAL_PLUGIN_FOLDERS):
        library = Path(folder).expanduser() / PLUGIN_LIBRARY
        if library.is_file():
            return library
    return None
