"""Obstacles of the fleet file and their outlines."""

from __future__ import annotations

import math

import msgspec
import pytest

from pico_gz.errors import ConfigError
from pico_gz.simulator.obstacles import Box, Disc, Obstacle, Wall, outline


def test_they_are_read_by_their_kind():
    table = {"kind": "wall", "north_m": 1, "east_m": 0, "north2_m": 2, "east2_m": 0}
    assert msgspec.convert(table, Obstacle, strict=False) == Wall(
        north_m=1.0, east_m=0.0, north2_m=2.0, east2_m=0.0
    )


@pytest.mark.parametrize(
    ("obstacle", "point", "clearance"),
    [
        (Disc(north_m=1.0, east_m=2.0, radius_m=0.5), (1.0, 4.0), 1.5),
        (Disc(north_m=1.0, east_m=2.0, radius_m=0.5), (1.0, 2.0), -0.5),
        (Box(north_m=0.0, east_m=0.0, size_n_m=2.0, size_e_m=4.0), (3.0, 0.0), 2.0),
        (Box(north_m=0.0, east_m=0.0, size_n_m=2.0, size_e_m=4.0), (4.0, 6.0), 5.0),
        (Box(north_m=0.0, east_m=0.0, size_n_m=2.0, size_e_m=4.0), (0.5, 0.0), -0.5),
        (Box(north_m=0.0, east_m=0.0, size_n_m=2.0, size_e_m=4.0, yaw_deg=90.0), (3.0, 0.0), 1.0),
        (
            Wall(north_m=0.0, east_m=0.0, north2_m=3.0, east2_m=4.0, thickness_m=0.2),
            (5.5, -2.0),
            5.0,
        ),
    ],
)
def test_clearance(obstacle, point, clearance):
    if isinstance(obstacle, Wall):
        # 5.1 m to the side of its middle
        point = (1.5 + 5.1 * 0.8, 2.0 - 5.1 * 0.6)
    assert outline(obstacle).clearance_m(*point) == pytest.approx(clearance, abs=1e-9)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Disc(north_m=0.0, east_m=0.0, radius_m=0.0),
        lambda: Disc(north_m=math.nan, east_m=0.0, radius_m=1.0),
        lambda: Wall(north_m=1.0, east_m=1.0, north2_m=1.0, east2_m=1.0),
        lambda: Wall(north_m=1.0, east_m=1.0, north2_m=2.0, east2_m=1.0, thickness_m=-1.0),
        lambda: Box(north_m=0.0, east_m=0.0, size_n_m=1.0, size_e_m=0.0),
    ],
)
def test_what_has_no_size_is_refused(make):
    with pytest.raises(ConfigError):
        make()
