"""Gazebo's health check.

A world in lockstep stands still, without any clock, as long as no client drives it: when the run is
paused, or the bridge is gone. That is not Gazebo's fault, so a world that has begun once stays
healthy while the server answers.

Usage: python3 -m pico_gz.cli.tools.containers.inside.check_gazebo
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec

from pico_gz.cli.tools.containers.inside.watch import watch
from pico_gz.gazebo.gz_messages import CLOCK, read_texts
from pico_gz.gazebo.worker_client import GzTransport

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
    """Replace the file at once, so that no reader sees half of it."""
    draft = path.with_suffix(".tmp")
    draft.write_bytes(msgspec.json.encode(state))
    draft.replace(path)


def read_state(path: Path = STATE_FILE) -> WorldState | None:
    """What was written last; ``None`` before anything was."""
    try:
        return msgspec.convert(json.loads(path.read_bytes()), WorldState)
    except FileNotFoundError:
        return None


# Together below Compose's own timeout of 5 s, so that the reason is seen.
_CLOCK_S = 1.0
_ANSWER_MS = 1500
_UDP_TABLES = (Path("/proc/net/udp"), Path("/proc/net/udp6"))


def main() -> int:
    """Print what is found and return 0 or 1."""
    return watch(lambda: examine(read_state()))


def examine(state: WorldState | None) -> tuple[bool, str]:
    """Whether Gazebo is well, and one line about it."""
    if state is None or not state.has_begun:
        return False, "the world has not begun yet"
    deaf = deaf_vehicles(state, bound_udp_ports(path.read_text() for path in _UDP_TABLES))
    if deaf:
        return False, f"no plugin listens for vehicle {', '.join(deaf)}"
    if _hears_clock(state.name):
        return True, "ok"
    if state.name in _worlds():
        return True, "ok, but stands still: paused, or not driven"
    return False, f"the server does not know the world {state.name} any more"


def deaf_vehicles(state: WorldState, bound: Collection[int]) -> list[str]:
    """Ids of the vehicles whose plugin has not opened its port."""
    return [vehicle for vehicle, port in state.plugin_ports.items() if port not in bound]


def bound_udp_ports(tables: Iterable[str]) -> set[int]:
    """All UDP ports that are open in this network, from the kernel's tables."""
    lines = [line for text in tables for line in text.splitlines()[1:]]
    return {int(line.split()[1].rpartition(":")[2], 16) for line in lines if line.strip()}


def _hears_clock(world: str) -> bool:
    transport = GzTransport()
    topic = f"/world/{world}/clock"
    try:
        transport.subscribe(topic, CLOCK)
        return transport.wait(topic, 0, _CLOCK_S)[0] > 0
    finally:
        transport.close()


def _worlds() -> list[str]:
    """The worlds that the server knows; its own threads answer, also while a world stands."""
    transport = GzTransport()
    try:
        reply = transport.request(
            "/gazebo/worlds", b"", "gz.msgs.Empty", "gz.msgs.StringMsg_V", _ANSWER_MS
        )
    finally:
        transport.close()
    return read_texts(reply)


if __name__ == "__main__":
    sys.exit(main())
