"""Numbers and colours of rovers."""

from itertools import pairwise

import pytest

from pico_gz.gazebo.worlds.parts import (
    BLACK,
    WHITE,
    Placement,
    number_visuals,
    readable_on,
    rover_colour,
)


def picture(number, rows=7):
    """The number as text, seen from above with the rover's nose upwards."""
    visuals = number_visuals(
        number, center=Placement(z_m=1.0), length_m=0.19, width_m=0.1 * 5.0, colour=WHITE
    )
    step = 0.19 / rows
    width = max(abs(v.at.y_m) + v.shape.y_m / 2 for v in visuals)
    lines = []
    for row in range(rows):
        x_m = 0.095 - step * (row + 0.5)
        line = ""
        for column in range(40):
            y_m = width - 2 * width * (column + 0.5) / 40
            hit = any(
                abs(v.at.x_m - x_m) <= v.shape.x_m / 2 and abs(v.at.y_m - y_m) <= v.shape.y_m / 2
                for v in visuals
            )
            line += "#" if hit else " "
        lines.append(line.rstrip())
    return lines


def test_digits_read_from_left_to_right():
    """In 17 the seven's bar is at the top right, and nothing is at the bottom left."""
    lines = picture(17)
    top, bottom = lines[0].ljust(40), lines[-1].ljust(40)
    assert top[24:38].count("#") > 10
    assert bottom[20:34].count("#") == 0
    assert bottom[34:].count("#") > 0


def test_two_and_five_are_mirror_images():
    assert [line.ljust(40)[::-1].rstrip() for line in picture(2)] == picture(5)


@pytest.mark.parametrize("number", [1, 8, 10, 88, 255])
def test_numbers_stay_on_the_deck(number):
    visuals = number_visuals(
        number, center=Placement(x_m=0.3, z_m=1.0), length_m=0.1, width_m=0.13, colour=BLACK
    )
    for visual in visuals:
        assert abs(visual.at.x_m - 0.3) + visual.shape.x_m / 2 <= 0.05 + 1e-9
        assert abs(visual.at.y_m) + visual.shape.y_m / 2 <= 0.065 + 1e-9
        assert visual.at.z_m > 1.0
    assert len({visual.name for visual in visuals}) == len(visuals)


def test_neighbours_do_not_look_alike():
    for first, second in pairwise(rover_colour(number) for number in range(1, 256)):
        assert sum(abs(a - b) for a, b in zip(first, second, strict=True)) > 0.3


def test_numbers_can_be_read_on_every_colour():
    for number in range(1, 256):
        colour = rover_colour(number)
        text = readable_on(colour)
        assert text in (BLACK, WHITE)
        assert sum(abs(a - b) for a, b in zip(colour, text, strict=True)) > 0.6
