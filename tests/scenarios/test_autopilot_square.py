"""A 20 m square in AUTO at 0.7 m/s, judged on the true path."""

import math

import pytest
from driving import SQUARE, Drive, distance, off_path

PRESETS = ["pico_trail_freenove", "pico_trail_ackermann"]
WP_RADIUS_M = 2.0
FEW_SEEDS, MORE_SEEDS = range(1, 4), range(4, 21)
LIMIT_M = {"off": 0.15, "typical": 1.0}


def drive_square(preset, noise, seed):
    drive = Drive(preset, noise, seed)
    drive.start_mission(SQUARE)
    squares, nearest = [], [math.inf] * len(SQUARE)

    def watch():
        place = drive.place
        squares.append(off_path(place, SQUARE) ** 2)
        for index, corner in enumerate(SQUARE):
            nearest[index] = min(nearest[index], distance(place, corner))

    assert drive.run_until(lambda: drive.autopilot.status().done, 180.0, watch), drive.texts
    drive.run(2.0, watch)
    rms = math.sqrt(sum(squares) / len(squares))
    assert rms <= LIMIT_M[noise]
    assert max(nearest) <= WP_RADIUS_M
    assert distance(drive.place, SQUARE[-1]) <= WP_RADIUS_M
    assert drive.autopilot.drain_reached() == [1, 2, 3, 4]


@pytest.mark.parametrize("preset", PRESETS)
def test_square_without_noise(preset):
    drive_square(preset, "off", 1)


@pytest.mark.parametrize("seed", FEW_SEEDS)
@pytest.mark.parametrize("preset", PRESETS)
def test_square_with_typical_noise(preset, seed):
    drive_square(preset, "typical", seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", MORE_SEEDS)
@pytest.mark.parametrize("preset", PRESETS)
def test_square_with_typical_noise_more_seeds(preset, seed):
    drive_square(preset, "typical", seed)


@pytest.mark.parametrize("preset", ["ardupilot_skid", "ardupilot_car", "ideal"])
def test_square_with_other_rovers(preset):
    drive = Drive(preset, "typical", 1)
    drive.start_mission(SQUARE)
    assert drive.run_until(lambda: drive.autopilot.status().done, 180.0), drive.texts
    assert distance(drive.place, SQUARE[-1]) <= WP_RADIUS_M
