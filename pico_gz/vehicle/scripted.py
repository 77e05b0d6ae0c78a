"""Scripted drivers: a square, a circle, a line, a constant command.

They see what any autopilot sees, their platform, and nothing else: heading comes from gyro and
compass, distance from GPS speed and wheel encoders. They know neither the rover's size nor its
top speed; the throttle for the wanted speed is found while driving.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import ClassVar

import msgspec

from pico_gz.core.autopilot import AutopilotStatus
from pico_gz.core.snapshot import Snapshot
from pico_gz.core.units import US_PER_S, pwm_from_normalized
from pico_gz.core.vehicle_config import DriveKind
from pico_gz.errors import ConfigError, did_you_mean
from pico_gz.vehicle.circuit import CIRCUIT, CircuitPilot
from pico_gz.vehicle.dead_reckoning import HeadingEstimate, Odometer
from pico_gz.vehicle.platform.platform import SitlPlatform

SCRIPT_PREFIX = "script:"
CORNER_RADIUS_M = 1.2


class Stand(msgspec.Struct, frozen=True):
    """Stand still for some seconds and learn the sensors' biases."""

    duration_s: float = 1.0


class Drive(msgspec.Struct, frozen=True):
    """Drive some metres along a line or, with a curvature [1/m, right positive], an arc."""

    length_m: float
    curvature_pm: float = 0.0


class Pivot(msgspec.Struct, frozen=True):
    """Turn on the spot by an angle [rad, right positive]; skid steer only."""

    angle_rad: float


class Hold(msgspec.Struct, frozen=True):
    """Hold two commands, -1..1: (left, right) or (throttle, steering); without end by default."""

    first: float
    second: float
    duration_s: float = math.inf


Move = Stand | Drive | Pivot | Hold
Moves = tuple[Move, ...]


def square_moves(drive: DriveKind, side_m: float = 5.0) -> Moves:
    """One square to the right, back to where it began; Ackermann rounds the corners."""
    _require(side_m > 0.0, f"A square has a side above 0, not {side_m:g} m.")
    quarter = math.pi / 2.0
    if drive is DriveKind.SKID:
        side_and_corner: Moves = (Drive(side_m), Pivot(quarter))
    else:
        radius_m = min(CORNER_RADIUS_M, side_m / 4.0)
        arc = Drive(radius_m * quarter, 1.0 / radius_m)
        side_and_corner = (Drive(side_m - 2.0 * radius_m), arc)
    return (Stand(), *(side_and_corner * 4))


def circle_moves(_drive: DriveKind, radius_m: float = 3.0) -> Moves:
    """One lap to the right; a negative radius goes left."""
    _require(radius_m != 0.0, "A circle needs a radius.")
    return Stand(), Drive(math.tau * abs(radius_m), 1.0 / radius_m)


def line_moves(_drive: DriveKind, length_m: float = 10.0) -> Moves:
    """Straight ahead."""
    _require(length_m > 0.0, f"A line is longer than {length_m:g} m.")
    return Stand(), Drive(length_m)


def constant_moves(
    _drive: DriveKind, first: float = 0.5, second: float = 0.5, duration_s: float = math.inf
) -> Moves:
    """Two commands held, without end or for some seconds."""
    _require(
        abs(first) <= 1.0 and abs(second) <= 1.0,
        f"Commands are in -1..1, not {first:g} and {second:g}.",
    )
    _require(duration_s > 0.0, f"{duration_s:g} s is no duration.")
    return (Hold(first, second, duration_s),)


# Name -> (moves, how many numbers it takes, what they are).
SCRIPTS: Mapping[str, tuple[Callable[..., Moves], int, str]] = {
    "square": (square_moves, 1, "square[:side_m]"),
    "circle": (circle_moves, 1, "circle[:radius_m]"),
    "line": (line_moves, 1, "line[:length_m]"),
    "constant": (constant_moves, 3, "constant[:left,right[,seconds]]"),
}


# With those of aircraft.
SCRIPT_NAMES = (*SCRIPTS, CIRCUIT)


def is_circuit(script: str) -> bool:
    """Whether a script such as ``script:circuit:150`` flies an aircraft."""
    return script.removeprefix(SCRIPT_PREFIX).partition(":")[0] == CIRCUIT


def parse_script_name(text: str) -> tuple[str, tuple[float, ...]]:
    """Split ``script:square:5`` into its name and numbers; the prefix may be left out.

    Raises:
        ConfigError: no such script, or numbers that are none.
    """
    name, _, rest = text.removeprefix(SCRIPT_PREFIX).partition(":")
    if name not in SCRIPTS:
        raise ConfigError(f"Unknown script {name!r}.", hint=did_you_mean(name, SCRIPT_NAMES))
    _, most, usage = SCRIPTS[name]
    try:
        numbers = tuple(float(word) for word in rest.split(",")) if rest else ()
    except ValueError:
        raise ConfigError(f"Script {text!r} has no numbers after its name.", hint=usage) from None
    if len(numbers) > most or not all(math.isfinite(number) for number in numbers):
        raise ConfigError(f"Script {text!r} makes no sense.", hint=f"Use {usage}.")
    return name, numbers


def script_moves(text: str, drive: DriveKind) -> Moves:
    """The moves of a script such as ``square:5`` for a way of driving."""
    name, numbers = parse_script_name(text)
    return SCRIPTS[name][0](drive, *numbers)


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ConfigError(message)


class DriveOutputs:
    """Holds the servo outputs of a platform and mixes for them."""

    def __init__(self, platform: SitlPlatform, owner: str) -> None:
        skid = platform.drive is DriveKind.SKID
        channels = platform.channels
        first, second = (
            (channels.left, channels.right) if skid else (channels.throttle, channels.steering)
        )
        self._skid = skid
        self._first = platform.create_pwm(first, owner=owner)
        self._second = platform.create_pwm(second, owner=owner)

    def steer(self, throttle: float, steering: float) -> None:
        """Set throttle and steering, -1..1, right positive.

        A skid steered side that would exceed full speed slows both, so that the turn stays.
        """
        if not self._skid:
            self.command(throttle, steering)
            return
        left, right = throttle + steering, throttle - steering
        largest = max(1.0, abs(left), abs(right))
        self.command(left / largest, right / largest)

    def command(self, first: float, second: float) -> None:
        """Set (left, right) or (throttle, steering) directly, -1..1."""
        self._first.set_pulse_us(pwm_from_normalized(first))
        self._second.set_pulse_us(pwm_from_normalized(second))

    def stop(self) -> None:
        """Both neutral."""
        self.command(0.0, 0.0)


CRUISE_SPEED_MPS = 0.7
FIRST_THROTTLE = 0.15
THROTTLE_RANGE = (0.02, 1.0)
BLIND_THROTTLE = 0.5
# Relative correction of the throttle per second and per relative error of the speed. Working
# with ratios makes one number fit a toy (1 m/s flat out) and a car (20 m/s).
THROTTLE_GAIN_PS = 0.8
SPEED_SETTLE_S = 0.5
# The GPS is late by 0.1 s, and the wheels coast: stop this much before the end.
STOP_LEAD_S = 0.2

STEER_PER_RAD = {DriveKind.SKID: 0.5, DriveKind.ACKERMANN: 1.5}
STEER_PER_RADPS = 0.06
PIVOT_RANGE = (0.08, 0.3)
PIVOT_TOLERANCE_RAD = math.radians(2.5)
PIVOT_TOLERANCE_RADPS = 0.15
PIVOT_LIMIT_S = 30.0
# A leg that takes this much longer than it should will not end any more.
DRIVE_LIMIT_S = 30.0
DRIVE_LIMIT_FACTOR = 4.0


class ScriptedDriver(Snapshot):
    """An ``Autopilot`` that makes the moves of one script and is done."""

    period_us = 20_000

    _state_fields: ClassVar[tuple[str, ...]] = (
        "_heading",
        "_odometer",
        "_index",
        "_move_start_us",
        "_last_tick_us",
        "_course_rad",
        "_throttle",
        "_done",
        "_message",
    )

    def __init__(self, script: str, speed_mps: float = CRUISE_SPEED_MPS) -> None:
        if not 0.0 < speed_mps < math.inf:
            raise ConfigError(f"A script drives faster than {speed_mps} m/s.")
        self._name, _ = parse_script_name(script)
        self._script = script
        self._speed_mps = speed_mps
        self._moves: Moves = ()
        self._platform: SitlPlatform | None = None
        self._heading = HeadingEstimate()
        self._odometer = Odometer()
        self._index = 0
        self._move_start_us = -1
        self._last_tick_us = -1
        self._course_rad = 0.0
        self._throttle = FIRST_THROTTLE
        self._done = False
        self._message = ""

    def start(self, platform: SitlPlatform) -> None:
        """Claim the outputs, which then give neutral."""
        if platform.aircraft_channels is not None:
            raise ConfigError(f"Script {self._name} drives rovers, not an aircraft.")
        self._moves = script_moves(self._script, platform.drive)
        self._helm = DriveOutputs(platform, owner=f"script {self._name}")
        self._steer_per_rad = STEER_PER_RAD[platform.drive]
        self._platform = platform

    def tick(self, now_us: int) -> None:
        """Continue the present move, or begin the next."""
        if self._platform is None:
            raise ConfigError(f"Script {self._name} ticks before it was started.")
        if self._done:
            return
        dt_s = 0.0 if self._last_tick_us < 0 else (now_us - self._last_tick_us) / US_PER_S
        self._last_tick_us = now_us
        if self._move_start_us < 0:
            self._begin(now_us)
        elapsed_s = (now_us - self._move_start_us) / US_PER_S
        if self._run(self._platform, self._moves[self._index], elapsed_s, dt_s):
            self._next(now_us)

    def status(self) -> AutopilotStatus:
        """What it is doing; ``done`` when all moves are made."""
        return AutopilotStatus(
            mode=f"script:{self._name}",
            armed=not self._done,
            waypoint=self._index,
            last_message=self._message,
            done=self._done,
        )

    # --- moves ----------------------------------------------------------------------------

    def _run(self, platform: SitlPlatform, move: Move, elapsed_s: float, dt_s: float) -> bool:
        """One tick of a move; true when it is finished."""
        if isinstance(move, Hold):
            self._helm.command(move.first, move.second)
            return elapsed_s >= move.duration_s
        driving = self._throttle if isinstance(move, Drive) else 0.0
        self._odometer.update(platform, driving, dt_s)
        if isinstance(move, Stand):
            return self._stand(platform, move, elapsed_s)
        self._heading.update(platform)
        if isinstance(move, Pivot):
            return self._pivot(move, elapsed_s)
        return self._drive(move, elapsed_s, dt_s)

    def _stand(self, platform: SitlPlatform, move: Stand, elapsed_s: float) -> bool:
        self._heading.level(platform)
        if elapsed_s < move.duration_s:
            return False
        if not self._heading.source_count:
            self._finish("gave up: neither gyro nor compass to steer by")
        return True

    def _pivot(self, move: Pivot, elapsed_s: float) -> bool:
        error_rad = self._course_rad + move.angle_rad - self._heading.angle_rad
        rate_radps = self._heading.rate_radps
        if abs(error_rad) < PIVOT_TOLERANCE_RAD:
            # The least turn that overcomes a deadband is too much here: let it come to rest.
            self._helm.stop()
            return abs(rate_radps) < PIVOT_TOLERANCE_RADPS
        wanted = self._steer_per_rad * error_rad - STEER_PER_RADPS * rate_radps
        least, most = PIVOT_RANGE
        self._helm.steer(0.0, math.copysign(min(most, max(least, abs(wanted))), wanted))
        return self._is_stuck(elapsed_s, PIVOT_LIMIT_S)

    def _drive(self, move: Drive, elapsed_s: float, dt_s: float) -> bool:
        self._adapt_throttle(elapsed_s, dt_s)
        driven_m = self._odometer.distance_m
        course_rad = self._course_rad + move.curvature_pm * min(driven_m, move.length_m)
        error_rad = course_rad - self._heading.angle_rad
        self._helm.steer(self._throttle, self._steer_per_rad * error_rad)
        if driven_m + STOP_LEAD_S * (self._odometer.speed_mps or 0.0) >= move.length_m:
            return True
        expected_s = move.length_m / self._speed_mps
        return self._is_stuck(elapsed_s, DRIVE_LIMIT_S + DRIVE_LIMIT_FACTOR * expected_s)

    def _adapt_throttle(self, elapsed_s: float, dt_s: float) -> None:
        speed_mps = self._odometer.speed_mps
        if speed_mps is None:
            self._throttle = BLIND_THROTTLE
        elif elapsed_s > SPEED_SETTLE_S:
            error = 1.0 - speed_mps / self._speed_mps
            factor = 1.0 + THROTTLE_GAIN_PS * max(-1.0, error) * dt_s
            least, most = THROTTLE_RANGE
            self._throttle = min(most, max(least, self._throttle * factor))

    # --- sequence -------------------------------------------------------------------------

    def _begin(self, now_us: int) -> None:
        self._move_start_us = now_us
        self._odometer.begin_leg()
        self._message = f"move {self._index + 1} of {len(self._moves)}"

    def _next(self, now_us: int) -> None:
        if self._done:
            return
        self._course_rad += turned_rad(self._moves[self._index])
        self._index += 1
        if self._index == len(self._moves):
            self._finish("done")
            return
        if isinstance(self._moves[self._index], Pivot):
            self._helm.stop()
        self._begin(now_us)

    def _is_stuck(self, elapsed_s: float, limit_s: float) -> bool:
        if elapsed_s <= limit_s:
            return False
        self._finish(f"gave up: {self._message} took longer than {limit_s:.0f} s")
        return True

    def _finish(self, message: str) -> None:
        self._helm.stop()
        self._done = True
        self._message = message


def turned_rad(move: Move) -> float:
    """By how much a move changes the course [rad]."""
    if isinstance(move, Pivot):
        return move.angle_rad
    return move.length_m * move.curvature_pm if isinstance(move, Drive) else 0.0


def make_script(script: str) -> ScriptedDriver | CircuitPilot:
    """The driver or pilot that a fleet file's ``autopilot = "script:square:5"`` names.

    Raises:
        ConfigError: no such script, or numbers that make no sense.
    """
    if is_circuit(script):
        return CircuitPilot(script)
    for drive in DriveKind:
        script_moves(script, drive)
    return ScriptedDriver(script)
