"""What may drive a vehicle in this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import msgspec

if TYPE_CHECKING:
    from pico_gz.vehicle.platform import SitlPlatform


class AutopilotStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What an autopilot tells about itself, for status lines and summaries.

    Attributes:
        mode: name of the mode it is in.
        armed: whether it may move.
        waypoint: number of the mission item it is heading for, -1 without one.
        last_message: the newest thing it had to say.
        done: it has nothing left to do (a finished mission or script).
    """

    mode: str = ""
    armed: bool = False
    waypoint: int = -1
    last_message: str = ""
    done: bool = False


@runtime_checkable
class Autopilot(Protocol):
    """Runs on a ``SitlPlatform``, which is all it ever sees.

    ``start`` is called once, when the vehicle is spawned; then ``tick`` every ``period_us`` of
    simulation time, after the platform has been given that step's sensors. It reads sensors,
    RC, UARTs and ADC from the platform and leaves its commands in the platform's PWM channels.
    """

    period_us: int

    def start(self, platform: SitlPlatform) -> None:
        """Claim the peripherals it needs."""

    def tick(self, now_us: int) -> None:
        """Run one loop at simulation time ``now_us``."""

    def status(self) -> AutopilotStatus:
        """Tell about itself; called from any thread, never blocks."""

    def save_state(self) -> dict[str, Any]:
        """Everything needed to go on from here, as plain values."""

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``save_state`` gave."""
