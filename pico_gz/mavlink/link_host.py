"""What a link tells, and to whom; everything on the simulation thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pico_gz.mavlink.counters import MavlinkCounters
from pico_gz.mavlink.peers import Peer


@dataclass(frozen=True, slots=True)
class LinkHost:
    """The other side of a link.

    Attributes:
        counters: where to count.
        dirty: peers that have something to send at the end of the turn.
        admit: whether a good frame may be looked at (signatures).
        deliver: takes an admitted frame and its sender.
        joined: a peer is there; start sending to it.
        left: a peer is gone.
    """

    counters: MavlinkCounters
    dirty: list[Peer]
    admit: Callable[[bytes], bool]
    deliver: Callable[[bytes, Peer], None]
    joined: Callable[[Peer], None]
    left: Callable[[Peer], None]
