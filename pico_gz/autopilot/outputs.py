"""The rover's servo outputs: which channel does what, and how a command becomes a pulse."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING

from pico_gz.autopilot.controllers import step_towards
from pico_gz.autopilot.mixing import mix_skid, shape_throttle
from pico_gz.autopilot.parameters import ParamStore
from pico_gz.messages import DriveKind
from pico_gz.state import Stateful

if TYPE_CHECKING:
    from pico_gz.vehicle.platform import SitlPlatform
    from pico_gz.vehicle.pwm import SitlPwm

THROTTLE_LEFT, THROTTLE_RIGHT, STEERING, THROTTLE = 73, 74, 26, 70
_CHANNELS_WITH_PARAMETERS = range(1, 9)
_NEUTRAL_US = 1500


class ServoOutputs(Stateful):
    """Claims two channels of the platform and drives them.

    Attributes:
        throttle: what was last asked for, -1..1, after the slew limit; also ``steering``.
        limited: throttle and steering did not both fit.
    """

    __slots__ = ("_first", "_params", "_pulses", "_second", "_skid", "limited", "steering",
                 "throttle")  # fmt: skip
    _state_fields = ("limited", "steering", "throttle")

    def __init__(self, params: ParamStore, drive: DriveKind) -> None:
        self._params = params
        self._skid = drive is DriveKind.SKID
        self._first: SitlPwm | None = None
        self._second: SitlPwm | None = None
        self._pulses = (0, 0)
        self.throttle = 0.0
        self.steering = 0.0
        self.limited = False

    def claim(self, platform: SitlPlatform) -> None:
        """Claim the channels that SERVOn_FUNCTION names, else those of the board's wiring."""
        channels = platform.channels
        if self._skid:
            first = self._channel_of(THROTTLE_LEFT, channels.left)
            second = self._channel_of(THROTTLE_RIGHT, channels.right)
        else:
            first = self._channel_of(THROTTLE, channels.throttle)
            second = self._channel_of(STEERING, channels.steering)
        self._first = platform.create_pwm(first, owner="the rover autopilot")
        self._second = platform.create_pwm(second, owner="the rover autopilot")
        self._pulses = (0, 0)

    def take_over(self, other: ServoOutputs) -> None:
        """Go on with the channels that another holds."""
        self._first, self._second = other._first, other._second
        self.neutral()

    def _channel_of(self, function: int, wired: int) -> int:
        for number in _CHANNELS_WITH_PARAMETERS:
            if self._params.values[f"SERVO{number}_FUNCTION"] == function:
                return number
        if wired in _CHANNELS_WITH_PARAMETERS:
            self._params.note(f"SERVO{wired}_FUNCTION", function)
        return wired

    def neutral(self) -> None:
        """Stop every motor, whatever else is wanted."""
        self.throttle = self.steering = 0.0
        self.limited = False
        if self._params.values["MOT_SAFE_DISARM"]:
            self._silence()
        else:
            self._write(0.0, 0.0)

    def drive(self, throttle: float, steering: float, dt_s: float) -> None:
        """Drive with throttle and steering in -1..1, right positive."""
        values = self._params.values
        slew = values["MOT_SLEWRATE"] * 0.01 * dt_s
        if slew > 0.0:
            throttle = step_towards(self.throttle, throttle, slew)
        self.throttle, self.steering = throttle, steering
        low, high = values["MOT_THR_MIN"], values["MOT_THR_MAX"]
        expo = values["MOT_THST_EXPO"]
        if self._skid:
            left, right = mix_skid(throttle, steering, values["MOT_STR_THR_MIX"])
            self.limited = abs(throttle) + abs(steering) > 1.0
            self._write(
                shape_throttle(left, low, high, expo), shape_throttle(right, low, high, expo)
            )
        else:
            self.limited = abs(throttle) >= 1.0
            self._write(shape_throttle(throttle, low, high, expo), steering)

    def _silence(self) -> None:
        """Send no pulses to the motors at all; a steering servo stays centred."""
        if self._first is None or self._second is None:
            return
        self._write(0.0, 0.0)
        self._first.set_pulse_us(0)
        if self._skid:
            self._second.set_pulse_us(0)
        self._pulses = (0, 0)

    def _write(self, first: float, second: float) -> None:
        if self._first is None or self._second is None:
            return
        first_us = self._pulse_us(self._first.channel, first)
        second_us = self._pulse_us(self._second.channel, second)
        if (first_us, second_us) != self._pulses:
            self._pulses = (first_us, second_us)
            self._first.set_pulse_us(first_us)
            self._second.set_pulse_us(second_us)

    def _pulse_us(self, channel: int, value: float) -> int:
        if channel not in _CHANNELS_WITH_PARAMETERS:
            return floor(_NEUTRAL_US + 500.0 * value + 0.5)
        values = self._params.values
        reversed_, trim, low, high = _PULSE_NAMES[channel]
        if values[reversed_]:
            value = -value
        middle = values[trim]
        span = values[high] - middle if value >= 0.0 else middle - values[low]
        return floor(middle + value * span + 0.5)


_PULSE_NAMES = {
    n: (f"SERVO{n}_REVERSED", f"SERVO{n}_TRIM", f"SERVO{n}_MIN", f"SERVO{n}_MAX")
    for n in _CHANNELS_WITH_PARAMETERS
}
