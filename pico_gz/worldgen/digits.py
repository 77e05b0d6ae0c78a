"""A rover's number, made of seven-segment boxes lying flat, to be read from above."""

from __future__ import annotations

from collections.abc import Iterator

from pico_gz.worldgen.shapes import BoxShape, Colour, Placement, Visual

# Which of the segments a..g are lit: a top, b and c right, d bottom, e and f left, g middle.
# A one stands in the middle (h, i), where one looks for it.
_LIT = {
    "0": "abcdef",
    "1": "hi",
    "2": "abged",
    "3": "abgcd",
    "4": "fgbc",
    "5": "afgcd",
    "6": "afgedc",
    "7": "abc",
    "8": "abcdefg",
    "9": "abcdfg",
}
# Middle of each segment in units of (half width, half height), and whether it lies crosswise.
_SEGMENTS = {
    "a": (0.0, 1.0, True),
    "b": (1.0, 0.5, False),
    "c": (1.0, -0.5, False),
    "d": (0.0, -1.0, True),
    "e": (-1.0, -0.5, False),
    "f": (-1.0, 0.5, False),
    "g": (0.0, 0.0, True),
    "h": (0.0, 0.5, False),
    "i": (0.0, -0.5, False),
}
_THICKNESS = 0.22  # of a digit's width
_GAP = 0.45  # between digits, of a digit's width
_ASPECT = 1.9  # height over width, at most
_RELIEF_M = 0.001


def number_visuals(
    number: int, *, center: Placement, length_m: float, width_m: float, colour: Colour
) -> tuple[Visual, ...]:
    """Write ``number`` on a surface of ``length_m`` along x and ``width_m`` along y.

    The top of the digits points forward (+x), so the number reads upright behind the rover.

    Args:
        number: 0 or more.
        center: middle of the surface; only its position is used.
        length_m: room along the rover.
        width_m: room across it.
        colour: of the segments.
    """
    text = str(number)
    slots = len(text) + _GAP * (len(text) - 1)
    digit_m = min(width_m / slots, length_m / 1.2)
    height_m = min(length_m, _ASPECT * digit_m)
    visuals: list[Visual] = []
    for index, digit in enumerate(text):
        # Left to right for the reader is from +y to -y.
        offset_m = digit_m * ((1.0 + _GAP) * index + 0.5 - 0.5 * slots)
        for segment, shape, ahead_m, right_m in _segments(digit, digit_m, height_m):
            at = Placement(
                x_m=center.x_m + ahead_m,
                y_m=center.y_m - offset_m - right_m,
                z_m=center.z_m + 0.5 * _RELIEF_M,
            )
            name = f"number_{index + 1}{segment}"
            visuals.append(Visual(name=name, shape=shape, colour=colour, at=at))
    return tuple(visuals)


def _segments(
    digit: str, width_m: float, height_m: float
) -> Iterator[tuple[str, BoxShape, float, float]]:
    """Each lit segment: its letter, box, and how far ahead and to the right of the middle."""
    thick_m = _THICKNESS * width_m
    half_width_m, half_height_m = 0.5 * (width_m - thick_m), 0.5 * (height_m - thick_m)
    for segment in _LIT[digit]:
        right, ahead, crosswise = _SEGMENTS[segment]
        if crosswise:
            shape = BoxShape(thick_m, width_m, _RELIEF_M)
        else:
            shape = BoxShape(half_height_m + thick_m, thick_m, _RELIEF_M)
        yield segment, shape, ahead * half_height_m, right * half_width_m
