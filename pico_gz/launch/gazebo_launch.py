"""How Gazebo is started: its command line and its environment."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

VERBOSITY = 2  # errors and warnings
_SEED_LIMIT = 2**31


def new_partition() -> str:
    """A name that keeps the topics of one run apart from those of all others."""
    return f"pico_gz_{os.getpid()}_{secrets.token_hex(4)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GazeboLaunch:
    """One Gazebo, ready to be started.

    Attributes:
        program: ``gz``.
        world_file: what to load.
        folder: of this run; also a home for Gazebo when the user's cannot be written.
        plugin_folders: where its system plugins are, beside the usual places.
        resource_folders: where its models are, beside the usual places.
        seed: of the sensor noise.
        gui: with a window.
        paused: do not let time go on by itself.
        rendering: some sensor needs the render engine.
        partition: of its topics.
    """

    program: Path
    world_file: Path
    folder: Path
    plugin_folders: tuple[Path, ...] = ()
    resource_folders: tuple[Path, ...] = ()
    seed: int = 0
    gui: bool = False
    paused: bool = False
    rendering: bool = False
    partition: str = field(default_factory=new_partition)

    def command(self) -> list[str]:
        """The command line."""
        words = [str(self.program), "sim"]
        if not self.gui:
            words.append("-s")
            if self.rendering:
                words.append("--headless-rendering")
        if not self.paused:
            words.append("-r")
        seed = str(self.seed % _SEED_LIMIT)
        return [*words, "-v", str(VERBOSITY), "--seed", seed, str(self.world_file)]

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """``base`` with what this Gazebo needs; it talks to this machine only."""
        environment = dict(base)
        environment["GZ_PARTITION"] = self.partition
        environment["GZ_IP"] = "127.0.0.1"
        environment["GZ_SIM_RESOURCE_PATH"] = _search_path(
            (self.world_file.parent, *self.resource_folders), base.get("GZ_SIM_RESOURCE_PATH")
        )
        environment["GZ_SIM_SYSTEM_PLUGIN_PATH"] = _search_path(
            self.plugin_folders, base.get("GZ_SIM_SYSTEM_PLUGIN_PATH")
        )
        # Gazebo recurses without end when it cannot write below its home.
        if not _is_writable_home(base.get("HOME", "")):
            environment["HOME"] = str(self.folder)
        return environment


def _search_path(folders: Sequence[Path], given: str | None) -> str:
    before = [word for word in (given or "").split(os.pathsep) if word]
    return os.pathsep.join(dict.fromkeys([*(str(folder) for folder in folders), *before]))


def _is_writable_home(home: str) -> bool:
    folders = [Path(home), Path(home, ".gz"), Path(home, ".sdformat")]
    return (
        bool(home)
        and folders[0].is_dir()
        and all(os.access(folder, os.W_OK) for folder in folders if folder.exists())
    )
