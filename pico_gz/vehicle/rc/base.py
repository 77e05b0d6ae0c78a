"""What may hold the sticks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

# Receivers give a frame every 20 ms.
FRAME_PERIOD_US = 20_000

STEERING_CHANNEL = 1
THROTTLE_CHANNEL = 3
MODE_CHANNEL = 8
# The middles of the six positions that ArduPilot reads on its mode channel.
MODE_PULSES_US = (1165, 1295, 1425, 1555, 1685, 1815)


class RcSource(Protocol):
    """A radio link into one vehicle; what it gives goes straight to ``platform.inject_rc``."""

    def poll(self, now_us: int) -> Sequence[int] | None:
        """The newest frame at simulation time ``now_us``; never blocks.

        Returns:
            Up to 16 pulse widths [us], channel 1 first, 0 = no such channel; ``None`` when no
            new frame came. A lost link is a source that gives ``None`` from then on.
        """

    def close(self) -> None:
        """Let go of files, sockets and the terminal; harmless when called twice."""

    def save_state(self) -> dict[str, Any]:
        """Everything needed to go on from here, as plain values."""

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``save_state`` gave."""
