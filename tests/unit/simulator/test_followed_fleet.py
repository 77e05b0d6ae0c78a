"""Sensors of vehicles that another simulator moves: core and Python model, value by value."""

from __future__ import annotations

import random
from datetime import date
from unittest import mock

import msgspec
import pytest

from pico_gz.core.frames import LocalFrame
from pico_gz.core.rover_spec import PRESETS, rover_spec
from pico_gz.core.vehicle_config import NoiseProfile
from pico_gz.errors import ConfigError, UnknownVehicleError
from pico_gz.simulator import native_build as build
from pico_gz.simulator.followed_fleet import FollowedFleet
from pico_gz.simulator.followed_motion import SEEN_NUMBERS, FollowedMotion
from pico_gz.simulator.sensor_setup import fit_sensors
from pico_gz.simulator.sensor_suite import SensorSuite
from pico_gz.simulator.world import magnetic_field
from tests.unit.simulator.test_native import CHANGES, KINDS, PARAMETERS, needs_core

FRAME = LocalFrame(35.0, 139.0, 40.0)
FIELD = magnetic_field(35.0, 139.0, 40.0, date(2026, 1, 1))
SENSORS = ("gyro", "gps", "mag", "baro", "battery", "encoder")

encode = msgspec.msgpack.Encoder().encode


def add(fleet: FollowedFleet, vehicle_id: int, preset: str, changes: dict, noise) -> None:
    spec = rover_spec(preset, changes)
    setup = fit_sensors(spec, vehicle_id, noise, {"rangefinders": ()})
    fleet.add(FollowedMotion(spec), SensorSuite(setup, FRAME, FIELD, 7))


def seen(draw: random.Random) -> tuple[float, ...]:
    return (
        *(draw.uniform(-50.0, 50.0) for _ in range(9)),
        *(draw.uniform(0.1, 1.0) for _ in range(4)),
        *(draw.uniform(-20.0, 20.0) for _ in range(3)),
        draw.choice((0.0, 1.0)),
        *(draw.uniform(-1.0, 1.0) for _ in range(4)),
        *(draw.uniform(-3.0, 3.0) for _ in range(3)),
        draw.choice((0.0, 1.0)),
        *(draw.uniform(-90.0, 90.0) for _ in range(2)),
    )


def pure_fleet() -> FollowedFleet:
    with mock.patch.object(build, "load", return_value=None):
        return FollowedFleet(FRAME)


def change(fleet: FollowedFleet, vehicle_id: int, method: str, *arguments) -> str:
    try:
        with fleet.changing(vehicle_id) as suite:
            getattr(suite, method)(*arguments)
    except ConfigError as error:
        return str(error)
    return ""


class Twins:
    """The same fleet on the core and on the Python model, under the same random treatment."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.fleets = FollowedFleet(FRAME), pure_fleet()
        self.added: set[int] = set()
        self.now_us, self.dt_us = 0, 10_000

    def disturb(self) -> None:
        """Do something that happens now and then."""
        draw, some = self.draw, self.draw.randrange(1, 12)
        match draw.randrange(30):
            case 0 if some in self.added:
                for fleet in self.fleets:
                    fleet.remove(some)
                self.added.discard(some)
            case 1 if some in self.added:
                self.change(some, "set_failure", draw.choice(SENSORS), draw.choice(KINDS))
            case 2 if some in self.added:
                self.change(some, "set_parameter", *draw.choice(PARAMETERS))
            case 3:
                self.dt_us = draw.choice((10_000, 2_500, 20_000, 7_000, 150_000))
            case 4:
                self.now_us += draw.choice((10_000, 3_000_000))  # the clock jumps
            case _ if some not in self.added:
                self.add(some)

    def add(self, vehicle_id: int) -> None:
        draw = self.draw
        fitted = draw.choice(sorted(PRESETS)), draw.choice(CHANGES[:-1])
        noise = draw.choice(list(NoiseProfile))
        for fleet in self.fleets:
            add(fleet, vehicle_id, *fitted, noise)
        self.added.add(vehicle_id)

    def change(self, vehicle_id: int, *how) -> None:
        refusals = {change(fleet, vehicle_id, *how) for fleet in self.fleets}
        assert len(refusals) == 1

    def step(self) -> int:
        """Make a step of both and compare; returns how many vehicles were seen."""
        self.disturb()
        self.now_us += self.dt_us
        # Records get lost now and then.
        records = {i: seen(self.draw) for i in sorted(self.added) if self.draw.random() < 0.95}
        native, pure = (fleet.sample(records, self.now_us, self.dt_us) for fleet in self.fleets)
        assert set(native) == set(pure) == set(records)
        for vehicle_id in records:
            assert encode(native[vehicle_id]) == encode(pure[vehicle_id]), self.now_us
        return len(records)


@needs_core
@pytest.mark.parametrize("seed", range(12))
def test_core_and_python_measure_the_same(seed):
    twins, count = Twins(seed), 0
    while count < 2_500:
        count += twins.step()


@needs_core
def test_the_core_measures_what_it_covers():
    fleet = FollowedFleet(FRAME)
    add(fleet, 1, sorted(PRESETS)[0], {}, NoiseProfile.TYPICAL)
    records = {1: seen(random.Random(1))}
    with mock.patch.object(SensorSuite, "sample", side_effect=AssertionError):
        assert fleet.sample(records, 10_000, 10_000)[1].timestamp_us == 10_000
    with fleet.changing(1) as suite:
        suite.set_failure("gps", "off")
    with (
        mock.patch.object(SensorSuite, "sample", side_effect=ZeroDivisionError),
        pytest.raises(ZeroDivisionError),
    ):
        fleet.sample(records, 20_000, 10_000)


@pytest.mark.parametrize("make", [FollowedFleet, lambda _: pure_fleet()])
def test_only_vehicles_of_the_fleet_can_be_changed(make):
    fleet = make(FRAME)
    with pytest.raises(UnknownVehicleError), fleet.changing(9):
        pass
    fleet.remove(9)
    assert fleet.sample({}, 10_000, 10_000) == {}


def test_what_is_seen_has_as_many_numbers_as_the_core_expects():
    assert len(seen(random.Random(1))) == SEEN_NUMBERS
