"""Colours: one per rover, told apart at a glance, and those of things."""

from __future__ import annotations

import colorsys

from pico_gz.worldgen.shapes import Colour

# Successive hues are this far apart on the circle, so near ids never look alike.
_GOLDEN_RATIO = 0.6180339887498949
_FIRST_HUE = 0.57

BLACK: Colour = (0.04, 0.04, 0.05)
TYRE: Colour = (0.08, 0.08, 0.09)
WHITE: Colour = (0.96, 0.96, 0.96)
STEEL: Colour = (0.55, 0.57, 0.60)
GLASS: Colour = (0.12, 0.16, 0.22)
YELLOW: Colour = (0.95, 0.78, 0.10)
BOARD_GREEN: Colour = (0.05, 0.38, 0.18)
LAMP: Colour = (1.0, 0.95, 0.75)
BRAKE_LAMP: Colour = (0.75, 0.05, 0.05)
ORANGE: Colour = (0.95, 0.42, 0.05)
BRICK: Colour = (0.58, 0.27, 0.20)
WOOD: Colour = (0.72, 0.53, 0.32)
CONCRETE: Colour = (0.62, 0.62, 0.60)
GRASS: Colour = (0.36, 0.46, 0.30)


def rover_colour(number: int) -> Colour:
    """The body colour of rover ``number``."""
    hue = (_FIRST_HUE + _GOLDEN_RATIO * (number - 1)) % 1.0
    value = (0.85, 0.65)[(number - 1) // 12 % 2]
    red, green, blue = colorsys.hsv_to_rgb(hue, 0.80, value)
    return (round(red, 3), round(green, 3), round(blue, 3))


def readable_on(colour: Colour) -> Colour:
    """Black or white, whichever is easier to read on ``colour``."""
    red, green, blue = colour
    return BLACK if 0.3 * red + 0.59 * green + 0.11 * blue > 0.5 else WHITE
