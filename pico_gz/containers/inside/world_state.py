"""What the Gazebo service tells its health check: a small file."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

STATE_FILE = Path("/tmp/pico_gz_world.json")


class WorldState(msgspec.Struct, frozen=True, kw_only=True):
    """The world that was started.

    Attributes:
        name: of the world, part of its topics.
        plugin_ports: UDP port of every rover's plugin, by vehicle id.
        has_begun: its clock has been heard.
    """

    name: str
    plugin_ports: dict[str, int]
    has_begun: bool = False


def write_state(state: WorldState, path: Path = STATE_FILE) -> None:
    """Replace the file at once, so that nobody reads half of it."""
    draft = path.with_suffix(".tmp")
    draft.write_bytes(msgspec.json.encode(state))
    draft.replace(path)


def read_state(path: Path = STATE_FILE) -> WorldState | None:
    """What was written last; ``None`` before anything was."""
    try:
        return msgspec.convert(json.loads(path.read_bytes()), WorldState)
    except FileNotFoundError:
        return None
