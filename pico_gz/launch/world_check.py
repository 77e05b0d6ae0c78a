"""Whether a world that somebody else made can be driven in, before Gazebo is started with it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pico_gz.errors import ConfigError
from pico_gz.launch.world_files import world_text
from pico_gz.lint.document import SdfError
from pico_gz.lint.lint import lint_text
from pico_gz.lint.plugin_facts import DEFAULT_PORT, ardupilot_plugins
from pico_gz.lint.rules.world import NO_IMU_SYSTEM
from pico_gz.lint.scene import RESOURCE_VARIABLES, open_scene
from pico_gz.resources import resource_path


def require_drivable(path: Path, ports: Mapping[str, int]) -> None:
    """Refuse a world in which a rover's plugin would never answer.

    A file that is no XML is left to Gazebo, which says more about it; included models that are
    not here may hold whatever is missed.

    Args:
        path: of the world.
        ports: by rover, where its plugin must listen.

    Raises:
        ConfigError: the world cannot be read, has no Imu system, or no plugin on some rover's
            port.
    """
    text = world_text(path)
    environ = _environment()
    for finding in lint_text(text, path, environ=environ):
        if finding.rule == NO_IMU_SYSTEM.name:
            where = f"{path}, line {finding.line}"
            raise ConfigError(
                f"{where}: {finding.message} {finding.why}", hint=f"Add {finding.fix}"
            )
    try:
        scene = open_scene(text, path, environ=environ)
    except SdfError:
        return
    if scene.is_complete():
        found = {seen.node.value("fdm_port_in", DEFAULT_PORT) for seen in ardupilot_plugins(scene)}
        _require_ports(path, ports, found)


def _require_ports(path: Path, ports: Mapping[str, int], found: set[str]) -> None:
    missing = [f"{port} ({name})" for name, port in ports.items() if str(port) not in found]
    if not missing:
        return
    there = f"on {', '.join(sorted(found, key=_as_number))}" if found else "nowhere"
    raise ConfigError(
        f"{path}: no ArduPilot plugin listens on UDP {', '.join(missing)}; they listen {there}.",
        hint="Set [ports] fdm_base and fdm_stride as in the world, or <fdm_port_in> as in"
        " pico-gz ports; pico-gz world makes a world with the fleet's ports.",
    )


def _as_number(text: str) -> tuple[int, str]:
    return (int(text), "") if text.isdecimal() else (0, text)


def _environment() -> dict[str, str]:
    """Where Gazebo will look for models: as for us, and among the kit's own."""
    variable = RESOURCE_VARIABLES[0]
    folders = [os.environ.get(variable, ""), str(resource_path("models"))]
    return {**os.environ, variable: ":".join(filter(None, folders))}
