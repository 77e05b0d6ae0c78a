"""The world file that a run hands to Gazebo."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from pico_gz.config import FleetConfig
from pico_gz.errors import ConfigError
from pico_gz.worldgen.bundle import WORLD_FILE
from pico_gz.worldgen.check import require_sdf
from pico_gz.worldgen.from_fleet import WorldOptions, world_of_fleet
from pico_gz.worldgen.render import render_world
from pico_gz.worldgen.stamp import Origin, origin_of

_WORLD_NAME = re.compile(r"<world\s[^>]*?name\s*=\s*[\"']([^\"']+)[\"']")
_SENSORS_SYSTEM = "gz-sim-sensors-system"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldFile:
    """A world that Gazebo can load.

    Attributes:
        path: of the file.
        name: of the world, part of its topics.
        rendering: whether some sensor needs the render engine.
    """

    path: Path
    name: str
    rendering: bool


def new_run_folder() -> Path:
    """A folder of its own for one run of Gazebo."""
    return Path(tempfile.mkdtemp(prefix="pico_gz_gazebo_"))


def remove_run_folder(folder: Path) -> None:
    """Remove what ``new_run_folder`` made; Gazebo may have left files in it."""
    shutil.rmtree(folder, ignore_errors=True)


def generate_world(
    fleet: FleetConfig, rovers: Collection[int], folder: Path, *, shown_only: bool = False
) -> WorldFile:
    """Write the world of these vehicles of a fleet.

    Args:
        fleet: the fleet.
        rovers: ids of the vehicles in it.
        folder: where to write.
        shown_only: nobody drives the rovers, another simulator moves them.
    """
    world = world_of_fleet(fleet, WorldOptions(shown_only=shown_only), rovers=rovers)
    text, _ = render_world(world)
    require_sdf(text, WORLD_FILE)
    for name, content in {WORLD_FILE: text, **world.files}.items():
        (folder / name).write_text(content, encoding="utf-8")
    return WorldFile(path=folder / WORLD_FILE, name=world.name, rendering=world.needs_rendering)


def read_world(path: Path) -> WorldFile:
    """Look at a world that somebody else made.

    Raises:
        ConfigError: it cannot be read, or is no world.
    """
    text = world_text(path)
    match = _WORLD_NAME.search(text)
    if match is None:
        raise ConfigError(f"{path} holds no <world>.", hint="pico-gz lint tells more.")
    return WorldFile(path=path, name=match.group(1), rendering=_SENSORS_SYSTEM in text)


def given_world(fleet: FleetConfig) -> Path | None:
    """The world that ``[gazebo] world`` names, relative to the fleet file."""
    if fleet.gazebo.world is None:
        return None
    base = fleet.source.parent if fleet.source else Path()
    return (base / fleet.gazebo.world).absolute()


def is_own_world(fleet: FleetConfig) -> bool:
    """Whether the rovers' plugins listen where the kit puts them in its own worlds."""
    path = given_world(fleet)
    return path is None or origin_of(world_text(path)) is not Origin.FOREIGN


def world_text(path: Path) -> str:
    """The text of a world.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as exc:
        raise ConfigError(
            f"The world {path} cannot be read: {exc.strerror}.", hint="Check [gazebo] world."
        ) from exc
