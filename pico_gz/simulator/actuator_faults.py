"""What a broken motor or steering makes of its command."""

from __future__ import annotations

from typing import ClassVar

from pico_gz.exact import FLOATS, exp
from pico_gz.simulator.random import stream_key, uniform
from pico_gz.simulator.sensors.faults import FailureKind
from pico_gz.state import Stateful
from pico_gz.units import US_PER_S

ACTUATOR_UNITS = ("motor_left", "motor_right", "steering")

_GARBAGE_HOLD_US = 100_000
_DROPOUT_US = 200_000
_DELAY_US = 300_000
_SLOW_TAU_S = 1.0
_WRONG_GAIN, _WRONG_OFFSET = 0.5, 0.1


class ActuatorFault(Stateful):
    """One failing actuator of one vehicle.

    ========== ==========================================================
    off        no output
    stuck      keeps the command it had when the failure began
    garbage    a random command, new every 100 ms
    wrong      half the command plus 0.1
    slow       follows with a lag of 1 s
    delayed    follows 300 ms late
    intermittent  drops out at random, half of the time, for 200 ms each
    ========== ==========================================================
    """

    _state_fields: ClassVar[tuple[str, ...]] = ("kind", "_output", "_waiting")

    def __init__(
        self, seed: int, vehicle_id: int, unit: str, kind: FailureKind, output: float
    ) -> None:
        self.kind = kind
        self._key = stream_key(seed, vehicle_id, f"fault_{unit}")
        self._output = output
        self._waiting: list[list[float]] = []

    def apply(self, command: float, now_us: int, dt_us: int) -> float:
        """Return what the actuator does in the step that begins at ``now_us``."""
        if self.kind is FailureKind.OFF:
            return 0.0
        if self.kind is FailureKind.STUCK:
            return self._output
        if self.kind is FailureKind.GARBAGE:
            return 2.0 * uniform(self._key, now_us // _GARBAGE_HOLD_US) - 1.0
        if self.kind is FailureKind.WRONG:
            return min(1.0, max(-1.0, _WRONG_GAIN * command + _WRONG_OFFSET))
        if self.kind is FailureKind.SLOW:
            left = exp(FLOATS, -dt_us / US_PER_S / _SLOW_TAU_S)
            self._output = command - (command - self._output) * left
            return self._output
        if self.kind is FailureKind.DELAYED:
            return self._delayed(command, now_us)
        if self.kind is FailureKind.INTERMITTENT:
            return command if uniform(self._key, now_us // _DROPOUT_US) < 0.5 else 0.0
        return command

    def _delayed(self, command: float, now_us: int) -> float:
        self._waiting.append([now_us + _DELAY_US, command])
        while self._waiting and self._waiting[0][0] <= now_us:
            self._output = self._waiting.pop(0)[1]
        return self._output
