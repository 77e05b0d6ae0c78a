"""What scripted drivers do, as lists of simple moves. Pure data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import msgspec

from pico_gz.errors import ConfigError, did_you_mean
from pico_gz.messages import DriveKind

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
    """Hold two commands, -1..1: (left, right) or (throttle, steering); for ever by default."""

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
    """Two commands held, for ever or for some seconds."""
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


def parse_script_name(text: str) -> tuple[str, tuple[float, ...]]:
    """Split ``script:square:5`` into its name and numbers; the prefix may be left out.

    Raises:
        ConfigError: no such script, or numbers that are none.
    """
    name, _, rest = text.removeprefix(SCRIPT_PREFIX).partition(":")
    if name not in SCRIPTS:
        raise ConfigError(f"Unknown script {name!r}.", hint=did_you_mean(name, SCRIPTS))
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
