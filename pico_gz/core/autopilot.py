"""The contract of an autopilot that runs in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec

from pico_gz.core.messages import ActuatorCommands, SensorData


class AutopilotStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What an autopilot reports about itself, for status lines and summaries.

    Attributes:
        mode: name of the mode it is in.
        armed: whether it may move; while it may not, the platform commands neutral.
        waypoint: number of the mission item it is heading for, -1 without one.
        last_message: the newest thing it had to say.
        done: it has nothing left to do (a finished mission or script).
    """

    mode: str = ""
    armed: bool = False
    waypoint: int = -1
    last_message: str = ""
    done: bool = False


class Platform(Protocol):
    """The simulated board of a vehicle, as far as a run uses it; see ``SitlPlatform``."""

    @property
    def vehicle_id(self) -> int:
        """The vehicle it belongs to."""

    def inject_sensors(self, data: SensorData) -> None:
        """Take the sensor samples of a step."""

    def collect_actuator_commands(self) -> ActuatorCommands:
        """Read what the servo outputs command now."""

    def hold_while_disarmed(self, is_armed: Callable[[], bool]) -> None:
        """Command neutral while ``is_armed()`` is false, whatever the servo outputs give."""

    def inject_rc(self, channels_us: Sequence[int], now_us: int) -> None:
        """Take a radio frame."""

    def save_state(self) -> dict[str, Any]:
        """Return the whole state as plain values."""

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from what ``save_state`` gave."""


@runtime_checkable
class Autopilot(Protocol):
    """Runs on a ``SitlPlatform``, which is all it ever sees.

    ``start`` is called once, when the vehicle is spawned; then ``tick`` every ``period_us`` of
    simulation time, after the platform has been given that step's sensors. It reads sensors,
    RC, UARTs and ADC from the platform and leaves its commands in the platform's PWM channels.
    """

    period_us: int

    def start(self, platform: Any) -> None:
        """Claim the peripherals it needs from its ``SitlPlatform``."""

    def tick(self, now_us: int) -> None:
        """Run one loop at simulation time ``now_us``."""

    def status(self) -> AutopilotStatus:
        """Report about itself; called from any thread, never blocks."""

    def save_state(self) -> dict[str, Any]:
        """Everything needed to continue from here, as plain values."""

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from what ``save_state`` gave."""
