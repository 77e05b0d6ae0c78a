"""What a mission or a ground station can switch on board."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pico_gz.core.ground_control import Mode, Result
from pico_gz.errors import ConfigError
from pico_gz.vehicle.autopilot.mission import MissionCommand

if TYPE_CHECKING:
    from pico_gz.vehicle.autopilot.context import RoverContext
    from pico_gz.vehicle.platform.peripherals import SitlGpio
    from pico_gz.vehicle.platform.platform import SitlPlatform
    from pico_gz.vehicle.platform.pwm import SitlPwm

_OWNER: Final = "the mission"
_LEAST_US, _MOST_US = 500, 2500
# Relays 0..5 are these pins of the board.
RELAY_PINS = (24, 25, 26, 27, 28, 29)
_LOW, _HIGH = 0, 2
# RCn_OPTION numbers of ArduRover that choose a mode.
_MODE_FUNCTIONS: dict[int, Mode] = {
    4: Mode.RTL,
    16: Mode.AUTO,
    42: Mode.SMART_RTL,
    51: Mode.MANUAL,
    52: Mode.ACRO,
    53: Mode.STEERING,
    54: Mode.HOLD,
    55: Mode.GUIDED,
    56: Mode.LOITER,
    72: Mode.CIRCLE,
}
_FENCE_FUNCTION: Final = 11
_STOP_FUNCTION: Final = 31
ARM_FUNCTIONS = (41, 153)


class BoardOutputs:
    """Servo outputs and relays beside the motors, claimed when they are first used."""

    def __init__(self) -> None:
        self.platform: SitlPlatform | None = None
        self._servos: dict[int, SitlPwm] = {}
        self._relays: dict[int, SitlGpio] = {}

    def set_servo(self, channel: int, pulse_us: int) -> Result:
        """Give a pulse on a channel that no motor uses."""
        if self.platform is None or not _LEAST_US <= pulse_us <= _MOST_US:
            return Result.DENIED
        try:
            if channel not in self._servos:
                self._servos[channel] = self.platform.create_pwm(channel, owner=_OWNER)
        except ConfigError:
            return Result.DENIED  # a motor's, or none of that number
        self._servos[channel].set_pulse_us(pulse_us)
        return Result.ACCEPTED

    def set_relay(self, number: int, on: bool) -> Result:
        """Switch a relay."""
        if self.platform is None or not 0 <= number < len(RELAY_PINS):
            return Result.DENIED
        try:
            if number not in self._relays:
                pin = RELAY_PINS[number]
                self._relays[number] = self.platform.create_gpio(pin, "out", owner=_OWNER)
        except ConfigError:
            return Result.DENIED
        self._relays[number].write(on)
        return Result.ACCEPTED


def do_action(rover: RoverContext, command: int, params: Sequence[float]) -> Result:
    """Carry out DO_SET_SERVO, DO_SET_RELAY, DO_FENCE_ENABLE or DO_AUX_FUNCTION."""
    first, second = int(params[0]), int(params[1])
    if command == MissionCommand.DO_SET_SERVO:
        return rover.board.set_servo(first, second)
    if command == MissionCommand.DO_SET_RELAY:
        return rover.board.set_relay(first, second > 0)
    if command == MissionCommand.DO_FENCE_ENABLE:
        return _enable_fence(rover, first)
    if command == MissionCommand.DO_AUX_FUNCTION:
        return _aux_function(rover, first, second)
    return Result.UNSUPPORTED


def _enable_fence(rover: RoverContext, enable: int) -> Result:
    if enable not in (0, 1):
        return Result.DENIED
    # As long as this run: what a command switches is not kept in the parameter file.
    rover.params.note("FENCE_ENABLE", enable)
    rover.say(6, f"Fence {'enabled' if enable else 'disabled'}")
    return Result.ACCEPTED


def _aux_function(rover: RoverContext, function: int, position: int) -> Result:
    """Do what a switch with this ``RCn_OPTION`` does in a position, 0 low to 2 high."""
    if not _LOW <= position <= _HIGH:
        return Result.DENIED
    if function == _FENCE_FUNCTION:
        return _enable_fence(rover, int(position == _HIGH))
    if function == _STOP_FUNCTION:
        if position == _HIGH:
            rover.disarm("emergency stop")
        return Result.ACCEPTED
    if function in _MODE_FUNCTIONS:
        if position != _HIGH:
            return Result.ACCEPTED
        return rover.modes.change(_MODE_FUNCTIONS[function], "aux function")
    return Result.UNSUPPORTED


MOTOR_TEST_S: Final = 30.0


class MotorTest:
    """Turns one motor of a disarmed rover for a while (DO_MOTOR_TEST)."""

    def __init__(self) -> None:
        self.until_us = -1
        self.first = self.second = 0.0

    def start(self, rover: RoverContext, params: Sequence[float]) -> Result:
        """Begin: ArduRover's motor number, kind of throttle, throttle, seconds."""
        motor, kind, throttle, seconds = int(params[0]), int(params[1]), params[2], params[3]
        if kind == 0 and abs(throttle) <= 100.0:
            value = 0.01 * throttle
        elif kind == 1 and 1000.0 <= throttle <= 2000.0:
            value = (throttle - 1500.0) / 500.0
        else:
            return Result.DENIED
        both = {1: (value, value), 2: (value, -value), 3: (value, 0.0), 4: (0.0, value)}
        if not rover.navigator.skid:
            both = {1: (value, 0.0), 2: (0.0, value)}
        if rover.armed or motor not in both or not 0.0 < seconds <= MOTOR_TEST_S:
            rover.say(4, "Motor test: disarm, and name a motor and at most 30 s")
            return Result.DENIED
        self.first, self.second = both[motor]
        self.until_us = rover.now_us + int(seconds * 1e6)
        rover.say(6, f"Motor test: {motor} for {seconds:.1f} s")
        return Result.ACCEPTED
