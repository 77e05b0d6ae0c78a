"""Exchangeable drive and sensor models."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from pico_gz.core.messages import SensorData
from pico_gz.core.rover_spec import rover_spec
from pico_gz.core.vehicle_config import Pose
from pico_gz.errors import ConfigError
from pico_gz.simulator.drive_model import Travel
from pico_gz.simulator.fleet_engine import FleetEngine
from pico_gz.simulator.models import ModelTable
from pico_gz.simulator.sensor_setup import fit_sensors
from pico_gz.simulator.steering import SkidDrive
from pico_gz.simulator.world import World


class CrawlDrive:
    """Goes straight on at a tenth of the throttle, whatever it is told."""

    def __init__(self, spec):
        self._spec = spec

    def prepare(self, dt_us):
        self._dt_s = dt_us * 1e-6

    def advance(self, memory, yaw_radps, commands, battery_ratio, push_mps2):
        travel = Travel()
        travel.memory = memory
        travel.speed_mps = travel.speed_mean_mps = speed = 0.1 * commands[0]
        turn = speed * self._dt_s / self._spec.wheel_radius_m
        travel.turn_left_rad = travel.turn_right_rad = turn
        travel.throttle_abs = speed
        return travel

    def blocked(self, memory):
        return memory

    def moving(self, speed_mps):
        return (speed_mps,)


class MuteSensors:
    """Say nothing at all."""

    battery_ratio = 1.0

    def __init__(self, setup, frame, magnetic, seed, scene):
        self._id = setup.vehicle_id

    def sample(self, now_us, dt_us, motion):
        return SensorData(timestamp_us=now_us, vehicle_id=self._id)

    def save(self):
        return {}


def drive(models, count, **changes):
    engine = FleetEngine(World(), seed=1, models=models)
    spec = rover_spec("ideal", changes)
    for vehicle_id in range(1, count + 1):
        engine.add(spec, fit_sensors(spec, vehicle_id), Pose(east_m=5.0 * vehicle_id))
        engine.command(vehicle_id, 1.0, 1.0)
    for _ in range(100):
        records = engine.step(10_000)
    return engine.truth(), records


@pytest.mark.parametrize("count", [1, 20])
def test_another_drive_model(count):
    models = ModelTable()
    models.add_drive("crawl", CrawlDrive)
    truth, _ = drive(models, count, drive_model="crawl")
    assert truth[count].north_m == pytest.approx(0.1, abs=1e-12)


@pytest.mark.parametrize("count", [1, 20])
def test_another_sensor_model(count):
    models = ModelTable()
    models.add_sensors("mute", MuteSensors)
    _, records = drive(models, count, sensor_model="mute")
    assert [record.vehicle_id for record in records] == list(range(1, count + 1))
    assert all(record.imu is None for record in records)


def test_models_come_through_entry_points(monkeypatch):
    point = EntryPoint(name="drive.crawl", value=f"{__name__}:CrawlDrive", group="pico_gz.models")
    monkeypatch.setattr("pico_gz.simulator.models.entry_points", lambda group: [point])
    truth, _ = drive(None, 1, drive_model="crawl")
    assert truth[1].north_m == pytest.approx(0.1, abs=1e-12)


def test_a_broken_model_is_named(monkeypatch):
    point = EntryPoint(name="drive.bad", value="no_such_module:Drive", group="pico_gz.models")
    monkeypatch.setattr("pico_gz.simulator.models.entry_points", lambda group: [point])
    with pytest.raises(ConfigError, match="no_such_module"):
        drive(None, 1, drive_model="bad")


def test_a_model_that_ends_the_program_is_named(monkeypatch):
    def leave(point):
        raise SystemExit("no licence")

    point = EntryPoint(name="drive.bad", value="exits:Drive", group="pico_gz.models")
    monkeypatch.setattr("pico_gz.simulator.models.entry_points", lambda group: [point])
    monkeypatch.setattr(EntryPoint, "load", leave)
    with pytest.raises(ConfigError, match="no licence"):
        drive(None, 1, drive_model="bad")


def test_unknown_models_are_told_at_once():
    engine = FleetEngine(World(), seed=1)
    for key in ("drive_model", "sensor_model"):
        spec = rover_spec("ideal", {key: "skidd"})
        with pytest.raises(ConfigError, match="skidd"):
            engine.add(spec, fit_sensors(spec, 1), Pose())
    assert engine.vehicle_ids == ()


def test_built_in_models_cannot_be_replaced():
    with pytest.raises(ConfigError):
        ModelTable().add_drive("skid", CrawlDrive)
    with pytest.raises(ConfigError):
        ModelTable().add_sensors("standard", MuteSensors)
    assert isinstance(ModelTable().drive(rover_spec("ideal")), SkidDrive)
