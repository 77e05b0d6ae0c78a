"""A fleet of many: one vehicle's life does not depend on the others, nor on interruptions."""

from __future__ import annotations

import math
import random

import msgspec
import pytest

from pico_gz.core.rover_spec import rover_spec
from pico_gz.core.vehicle_config import Pose
from pico_gz.errors import ConfigError, DuplicateVehicleError, UnknownVehicleError
from pico_gz.simulator.fleet_engine import FleetEngine
from pico_gz.simulator.obstacles import Disc
from pico_gz.simulator.sensor_setup import fit_sensors
from pico_gz.simulator.terrain import RampTerrain
from pico_gz.simulator.world import WindConfig, World

DT = 10_000
FREENOVE = rover_spec("pico_trail_freenove", {"rangefinders_deg": (0.0, 90.0)})
POST = Disc(north_m=3.0, east_m=1.0, radius_m=0.5)
ALONE = World(obstacles=(POST,), contacts=False, wind=WindConfig(north_mps=2.0, gust_mps=1.0))


def make(ids, *, world=ALONE, spec=FREENOVE, seed=42):
    engine = FleetEngine(world, seed)
    for vehicle_id in ids:
        add(engine, vehicle_id, spec)
    return engine


def add(engine, vehicle_id, spec=FREENOVE):
    pose = Pose(north_m=0.1 * vehicle_id, east_m=2.0 * vehicle_id, yaw_deg=11.0 * vehicle_id)
    engine.add(spec, fit_sensors(spec, vehicle_id), pose)


def command(engine, step):
    for vehicle_id in engine.vehicle_ids:
        left = math.sin(0.05 * step + vehicle_id)
        engine.command(vehicle_id, left, 0.9 * left if step % 70 else 0.0)


def life(engine, steps, *, of, start=0, dt_us=DT):
    """Everything that one vehicle does and measures."""
    told = []
    for step in range(start, start + steps):
        command(engine, step)
        records = {record.vehicle_id: record for record in engine.step(dt_us)}
        told.append((engine.truth()[of], records[of]))
    return told


@pytest.mark.parametrize(
    "spec", [FREENOVE, rover_spec("pico_trail_ackermann"), rover_spec("ideal")]
)
def test_a_vehicle_alone_and_among_255_does_the_same(spec):
    alone = life(make([77], spec=spec), 120, of=77)
    assert life(make(range(1, 256), spec=spec), 120, of=77) == alone
    assert life(make([77, 3], spec=spec), 120, of=77) == alone


def test_the_order_of_registration_does_not_matter():
    ids = list(range(1, 41))
    shuffled = ids.copy()
    random.Random(3).shuffle(shuffled)
    engines = [
        make(ids, world=World(obstacles=(POST,))),
        make(shuffled, world=World(obstacles=(POST,))),
    ]
    for step in range(100):
        for engine in engines:
            command(engine, step)
        assert engines[0].step(DT) == engines[1].step(DT)
    assert engines[0].truth() == engines[1].truth()


def test_records_come_in_id_order_from_mixed_groups():
    engine = FleetEngine(World(), 1)
    presets = ["ideal", "pico_trail_freenove", "ardupilot_car"]
    for vehicle_id in range(30, 0, -1):
        add(engine, vehicle_id, rover_spec(presets[vehicle_id % 3]))
    for _ in range(3):
        assert [record.vehicle_id for record in engine.step(DT)] == list(range(1, 31))
    assert list(engine.truth()) == list(range(1, 31))


def test_coming_and_going_leaves_the_others_alone():
    quiet = make([5])
    busy = make([5])
    draw = random.Random(1)
    for step in range(60):
        for _ in range(3):
            vehicle_id = draw.choice([i for i in range(1, 36) if i != 5])
            if vehicle_id in busy.vehicle_ids:
                busy.remove(vehicle_id)
            else:
                add(busy, vehicle_id)
        for engine in (quiet, busy):
            command(engine, step)
        expected, told = quiet.step(DT), busy.step(DT)
        assert expected[0] in told
        assert busy.truth()[5] == quiet.truth()[5]


@pytest.mark.parametrize("count", [1, 3, 14])
@pytest.mark.parametrize(
    "world",
    [
        World(obstacles=(POST,), wind=WindConfig(gust_mps=2.0)),
        World(obstacles=(POST,), terrain=RampTerrain(8.0, 30.0)),
    ],
    ids=["windy", "ramp"],
)
def test_a_snapshot_goes_on_as_if_nothing_had_happened(count, world):
    ids = range(1, count + 1)
    whole, first = make(ids, world=world), make(ids, world=world)
    for engine in (whole, first):
        life(engine, 130, of=1)
    saved = msgspec.msgpack.decode(msgspec.msgpack.encode(first.save_state()))
    second = make(ids, world=world)
    second.load_state(saved)
    assert second.truth() == whole.truth()
    assert second.time_us == whole.time_us
    for step in range(130, 200):
        for engine in (whole, second):
            command(engine, step)
        assert second.step(DT) == whole.step(DT)
        assert second.truth() == whole.truth()
    assert second.save_state() == whole.save_state()


def test_a_snapshot_of_other_vehicles_is_refused():
    with pytest.raises(ConfigError, match="vehicles"):
        make([1, 2]).load_state(make([1, 3]).save_state())


def test_steps_of_any_length():
    engine = make([1], spec=rover_spec("ideal"), world=World())
    engine.command(1, 1.0, 1.0)
    for dt_us in (1, 999, 9_000, 190_000, 800_000):
        engine.step(dt_us)
    assert engine.time_us == 1_000_000
    start, truth = 0.1, engine.truth()[1]
    way = math.hypot(truth.north_m - start, truth.east_m - 2.0)
    assert way == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("count", [1, 13])
def test_a_vehicle_can_be_put_elsewhere(count):
    engine = make(range(1, count + 1), world=World())
    life(engine, 50, of=1)
    wheels = engine.save_state()["vehicles"]["1"]["vehicle"]["wheel_left_rad"]
    others = {i: truth for i, truth in engine.truth().items() if i != 1}
    engine.set_pose(1, -50.0, 20.0, 90.0)
    truth = engine.truth()
    assert (truth[1].north_m, truth[1].east_m) == (-50.0, 20.0)
    assert truth[1].quat_wxyz == pytest.approx((math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)))
    assert truth[1].velocity_ned_mps == (0.0, 0.0, 0.0)
    assert {i: t for i, t in truth.items() if i != 1} == others
    assert engine.save_state()["vehicles"]["1"]["vehicle"]["wheel_left_rad"] == wheels
    engine.command(1, 0.9, 0.9)
    engine.step(DT)
    assert engine.truth()[1].east_m > 20.0


def test_a_vehicle_can_be_given_a_speed():
    engine = make([1], spec=rover_spec("ardupilot_skid"), world=World())
    engine.set_pose(1, 0.0, 0.0, 0.0, speed_mps=2.0)
    engine.command(1, 0.5, 0.5)
    engine.step(DT)
    assert engine.truth()[1].velocity_ned_mps[0] == pytest.approx(2.0, abs=1e-9)
    with pytest.raises(ConfigError, match="reaches"):
        engine.set_pose(1, 0.0, 0.0, 0.0, speed_mps=9.0)
    with pytest.raises(ConfigError, match="finite"):
        engine.set_pose(1, math.nan, 0.0, 0.0)


def test_a_vehicle_nobody_commands_stands():
    engine = make(range(1, 20), world=World())
    before = engine.truth()
    for _ in range(50):
        engine.step(DT)
    after = engine.truth()
    assert all(after[i].north_m == before[i].north_m for i in before)


def test_commands_given_before_the_first_step_count():
    engine = make([1], spec=rover_spec("ideal"), world=World())
    engine.command(1, 1.0, 1.0)
    engine.step(DT)
    assert math.hypot(*engine.truth()[1].velocity_ned_mps) == pytest.approx(1.0)


def test_commands_survive_a_change_of_the_fleet():
    engine = make([1], spec=rover_spec("ideal"), world=World())
    engine.command(1, 1.0, 1.0)
    engine.step(DT)
    for vehicle_id in range(2, 17):
        add(engine, vehicle_id, rover_spec("ideal"))
    engine.step(DT)
    assert math.hypot(*engine.truth()[1].velocity_ned_mps) == pytest.approx(1.0)


def test_rangefinders_see_obstacles_and_vehicles():
    spec = rover_spec("ideal", {"rangefinders_deg": (0.0,)})
    for contacts, expected in ((True, 2.0 - 0.15), (False, 4.0)):
        engine = FleetEngine(World(contacts=contacts), 1)
        for vehicle_id, north in ((1, 0.0), (2, 2.0)):
            engine.add(spec, fit_sensors(spec, vehicle_id), Pose(north_m=north))
        ranges = [engine.step(DT)[0].rangefinders for _ in range(20)]
        seen = [sample[0].distance_m for sample in ranges if sample]
        assert seen
        assert seen[-1] == pytest.approx(expected, abs=0.05)


def test_bad_calls():
    engine = make([1])
    with pytest.raises(DuplicateVehicleError):
        add(engine, 1)
    for call in (
        lambda: engine.remove(9),
        lambda: engine.set_pose(9, 0.0, 0.0, 0.0),
        lambda: engine.set_failure(9, "gps", "off"),
        lambda: engine.set_parameter(9, "SIM_GPS_DISABLE", 1.0),
    ):
        with pytest.raises(UnknownVehicleError):
            call()


def test_sensor_failures_reach_the_sensors():
    engine = make([1, 2])
    with pytest.raises(ConfigError, match="no unit 'gsp'") as caught:
        engine.set_failure(1, "gsp", "off")
    assert caught.value.hint == "Did you mean 'gps'?"
    engine.set_failure(1, "gps", "off")
    told = [engine.step(DT) for _ in range(100)]
    assert all(one.gps is None for one, _ in told)
    assert any(two.gps is not None for _, two in told)
    engine.set_parameter(2, "SIM_GPS_DISABLE", 1.0)
    engine.set_failure(1, "gps", "ok")
    told = [engine.step(DT) for _ in range(100)]
    assert any(one.gps is not None for one, _ in told)
