"""Whether gyro and accelerometer tell anything that can be real."""

from __future__ import annotations

from math import sqrt

from pico_gz.messages.sensors import Vector3
from pico_gz.state import Stateful
from pico_gz.units import GRAVITY_MPS2

# Looks in a row, ten a second, before a sensor counts as failed.
_LOOKS = 10
# Changes from look to look that show a living sensor, well under its noise.
_LIVELY_MPS2 = 0.01
_TURNING = 0.15
# On the ground nothing floats, is pressed down by several g, or tumbles on and on.
_LEAST_FORCE_MPS2 = 0.5 * GRAVITY_MPS2
_MOST_FORCE_MPS2 = 3.0 * GRAVITY_MPS2
_MOST_TUMBLE_RADPS = 6.0


class ImuWatch(Stateful):
    """Looks at one sample in ten or so, which costs next to nothing.

    A sensor without noise may well repeat itself, so repetition alone is no failure: the gyro
    must do so while the accelerometer shows that there is noise or motion to be seen.
    """

    __slots__ = _state_fields = ("accel_mss", "gyro_rads", "gyro_repeats", "strange_force",
                                 "strange_turn")  # fmt: skip

    def __init__(self) -> None:
        self.accel_mss: Vector3 = (0.0, 0.0, 0.0)
        self.gyro_rads: Vector3 = (0.0, 0.0, 0.0)
        self.gyro_repeats = 0
        self.strange_force = 0
        self.strange_turn = 0

    @property
    def gyro_credible(self) -> bool:
        """Whether the gyro can be believed."""
        return self.gyro_repeats < _LOOKS and self.strange_turn < _LOOKS

    @property
    def accel_credible(self) -> bool:
        """Whether the accelerometer can be believed."""
        return self.strange_force < _LOOKS

    def note(self, accel_mss: Vector3, gyro_rads: Vector3, parked: bool, steering: float) -> None:
        """Take a sample; ``steering`` is the last output, -1..1."""
        ax, ay, az = accel_mss
        force_mps2 = sqrt(ax * ax + ay * ay + az * az)
        real = _LEAST_FORCE_MPS2 < force_mps2 < _MOST_FORCE_MPS2
        self.strange_force = 0 if real else self.strange_force + 1
        tumbling = max(abs(gyro_rads[0]), abs(gyro_rads[1])) > _MOST_TUMBLE_RADPS
        self.strange_turn = self.strange_turn + 1 if tumbling else 0
        if gyro_rads != self.gyro_rads:
            self.gyro_repeats = 0
        elif (parked or abs(steering) > _TURNING) and self._is_lively(accel_mss):
            self.gyro_repeats += 1
        self.accel_mss, self.gyro_rads = accel_mss, gyro_rads

    def _is_lively(self, accel_mss: Vector3) -> bool:
        return any(
            abs(now - before) > _LIVELY_MPS2
            for now, before in zip(accel_mss, self.accel_mss, strict=True)
        )
