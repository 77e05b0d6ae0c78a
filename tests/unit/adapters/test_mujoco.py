"""The MuJoCo adapter: motion, sensors, contacts, fleets that change, snapshots."""

import itertools
import json
import math

import msgspec
import pytest

from pico_gz import ActuatorCommands, LightweightAdapter, Pose, VehicleConfig
from pico_gz.adapters.mujoco.adapter import MujocoAdapter
from pico_gz.core.frames import yaw_from_quat
from pico_gz.core.rover_spec import rover_spec
from pico_gz.core.vehicle_config import NoiseProfile
from pico_gz.errors import ConfigError
from pico_gz.simulator.obstacles import Box, Disc, Wall
from pico_gz.simulator.terrain import HeightmapTerrain, RampTerrain
from pico_gz.simulator.world import WindConfig, World

pytestmark = pytest.mark.mujoco
pytest.importorskip("mujoco", reason="needs the extra mujoco")

STEP_US = 10_000
FREENOVE, CAR = "pico_trail_freenove", "pico_trail_ackermann"
ORIGIN = (Pose(),)


def make(preset=FREENOVE, *, world=None, poses=ORIGIN, kind=MujocoAdapter, **fields):
    """A connected adapter with quiet rovers, ids from 1."""
    spec = rover_spec(preset, {"noise_free": True, "imu_rate_hz": 0.0, **fields})
    adapter = kind(world=world or World(), rover_of=lambda _: spec, seed=3)
    for number, pose in enumerate(poses, start=1):
        adapter.add_vehicle(VehicleConfig(id=number, pose=pose, noise=NoiseProfile.OFF))
    adapter.connect()
    return adapter


def drive(adapter, seconds, first=0.0, second=0.0, *, ids=None):
    """Command for a while; returns the records of every step."""
    records = []
    for _ in range(round(seconds * 1e6 / STEP_US)):
        adapter.send_actuators(
            {
                i: ActuatorCommands(adapter.sim_time_us(), i, (first, second), (second,))
                for i in (adapter.vehicle_ids() if ids is None else ids)
            }
        )
        records.append(dict(adapter.advance(STEP_US)))
    return records


def truth(adapter, vehicle_id=1):
    return adapter.receive_truth()[vehicle_id]


# --- motion -------------------------------------------------------------------------------


def turn_and_way(adapter, seconds, commands):
    """Degrees turned and metres gone by a command and a second of rest."""
    yaw_rad = way_m = 0.0
    places = [truth(adapter)]
    for now in itertools.chain((commands,) * round(seconds * 10), ((0.0, 0.0),) * 10):
        drive(adapter, 0.1, *now)
        places.append(truth(adapter))
    for one, other in itertools.pairwise(places):
        way_m += math.hypot(other.north_m - one.north_m, other.east_m - one.east_m)
        yaw = yaw_from_quat(other.quat_wxyz) - yaw_from_quat(one.quat_wxyz)
        yaw_rad += math.remainder(yaw, math.tau)
    return math.degrees(yaw_rad), way_m


MANOEUVRES = {
    "straight": (FREENOVE, (0.8, 0.8), 0.0),
    "reverse": (FREENOVE, (-0.5, -0.5), 0.0),
    "arc": (FREENOVE, (0.7, 0.4), 0.0),
    "pivot": (FREENOVE, (0.4, -0.4), 0.0),
    "slope up": (FREENOVE, (0.7, 0.7), 10.0),
    "slope down": (FREENOVE, (0.5, 0.5), -10.0),
    "ideal arc": ("ideal", (0.6, 0.5), 0.0),
    "ArduPilot's skid pivot": ("ardupilot_skid", (0.2, -0.2), 0.0),
    "car, left arc": (CAR, (0.5, -0.6), 0.0),
    "car, uphill": (CAR, (0.6, 0.0), 10.0),
}


@pytest.mark.parametrize("name", MANOEUVRES)
def test_distances_and_turns_are_those_of_lightweight(name):
    preset, commands, slope_deg = MANOEUVRES[name]
    world = World(terrain=RampTerrain(slope_deg)) if slope_deg else World()
    (turn, way), (turn_there, way_there) = (
        turn_and_way(make(preset, world=world, kind=kind), 2.0, commands)
        for kind in (MujocoAdapter, LightweightAdapter)
    )
    assert way == pytest.approx(way_there, rel=0.1, abs=0.03)
    assert turn == pytest.approx(turn_there, rel=0.1, abs=0.5)
    assert max(abs(turn_there), way_there) > 0.5


def test_a_rover_stays_where_it_is_put_on_a_slope():
    adapter = make(world=World(terrain=RampTerrain(12.0)), poses=(Pose(yaw_deg=35.0),))
    drive(adapter, 1.0)
    before = truth(adapter)
    drive(adapter, 4.0)
    after = truth(adapter)
    assert math.hypot(after.north_m - before.north_m, after.east_m - before.east_m) < 1e-3


def test_it_climbs_a_low_kerb_and_not_a_high_one():
    ways = {}
    for height_m in (0.012, 0.2):
        kerb = Box(north_m=1.7, east_m=0.0, size_n_m=2.0, size_e_m=2.0, height_m=height_m)
        adapter = make(world=World(obstacles=(kerb,)))
        drive(adapter, 3.0, 0.5, 0.5)
        ways[height_m] = truth(adapter)
    assert ways[0.012].north_m > 1.2
    assert ways[0.012].down_m == pytest.approx(-0.012, abs=2e-3)
    assert ways[0.2].north_m < 0.7 - 0.12


def test_wheels_follow_the_ground_of_a_heightmap():
    heights = [[0.05 * north for _ in range(41)] for north in range(41)]
    terrain = HeightmapTerrain(heights, 0.25)
    adapter = make(world=World(terrain=terrain))
    drive(adapter, 3.0, 0.6, 0.6)
    now = truth(adapter)
    assert now.north_m > 0.8
    assert -now.down_m == pytest.approx(terrain.height_m(now.north_m, now.east_m), abs=0.01)


def test_wind_pushes():
    world = World(wind=WindConfig(east_mps=25.0))
    calm, windy = make(drag_area_m2=0.05), make(world=world, drag_area_m2=0.05)
    for adapter in (calm, windy):
        drive(adapter, 2.0, 0.5, 0.5)
    assert truth(windy).wind_ned_mps == (0.0, 25.0, 0.0)
    assert truth(windy).quat_wxyz != truth(calm).quat_wxyz


# --- sensors ------------------------------------------------------------------------------


def test_the_imu_measures_specific_force_in_frd():
    adapter = make(world=World(terrain=RampTerrain(10.0)))
    imu = drive(adapter, 2.0)[-1][1].imu
    assert imu.accel_mss == pytest.approx((1.703, 0.0, -9.658), abs=0.02)
    adapter = make()
    records = drive(adapter, 0.05, 1.0, 1.0)
    assert records[-1][1].imu.accel_mss[0] > 2.0
    drive(adapter, 2.0, 0.7, 0.5)
    imu, now = drive(adapter, 0.01, 0.7, 0.5)[-1][1].imu, truth(adapter)
    speed = math.hypot(*now.velocity_ned_mps[:2])
    assert imu.gyro_rads[2] > 0.5
    assert imu.accel_mss[1] == pytest.approx(speed * imu.gyro_rads[2], rel=0.1)


def test_the_imu_has_its_own_place():
    place = make(imu_position_frd_m=(0.1, 0.0, 0.0))
    records = drive(place, 2.0, 0.4, -0.4)
    imu = records[-1][1].imu
    assert imu.accel_mss[0] == pytest.approx(-0.1 * imu.gyro_rads[2] ** 2, rel=0.1)
    assert math.hypot(*truth(place).accel_ned_mps2[:2]) < 0.1


def test_rangefinders_see_obstacles_and_rovers_but_not_themselves():
    world = World(obstacles=(Wall(north_m=2.0, east_m=-3.0, north2_m=2.0, east2_m=3.0),))
    adapter = make(
        world=world,
        poses=(Pose(), Pose(north_m=0.0, east_m=1.5)),
        rangefinders_deg=(0.0, 90.0, 180.0),
        range_beam_deg=0.0,
    )
    ranges = next(r[1].rangefinders for r in reversed(drive(adapter, 0.2)) if r[1].rangefinders)
    ahead, right, behind = (one.distance_m for one in ranges)
    assert ahead == pytest.approx(1.95, abs=0.01)
    assert right == pytest.approx(1.5 - 0.5 * 0.16, abs=0.03)
    assert behind == 4.0
    lone = make(world=World(contacts=False), poses=(Pose(), Pose(east_m=1.5)),
                rangefinders_deg=(90.0,))  # fmt: skip
    ranges = next(r[1].rangefinders for r in reversed(drive(lone, 0.2)) if r[1].rangefinders)
    assert ranges[0].distance_m == 4.0


# --- contacts -----------------------------------------------------------------------------


def test_contacts_name_their_partner_and_force():
    world = World(obstacles=(Disc(north_m=1.0, east_m=0.0, radius_m=0.2),))
    adapter = make(world=world, poses=(Pose(), Pose(east_m=2.0), Pose(east_m=2.6)))
    drive(adapter, 2.0, 0.6, 0.6, ids=(1,))
    (touch,) = adapter.drain_contacts()
    assert (touch.vehicle_id, touch.other) == (1, "disc_1")
    assert touch.force_n > 0.5
    assert adapter.touching() == [(1, "disc_1")]
    adapter.set_pose(2, 0.0, 2.0, 90.0)
    drive(adapter, 2.0, 0.6, 0.6, ids=(2,))
    assert [(c.vehicle_id, c.other) for c in adapter.drain_contacts()] == [(2, 3)]
    adapter.remove_vehicle(3)
    assert adapter.touching() == [(1, "disc_1")]


def test_without_contacts_nothing_is_touched():
    world = World(obstacles=(Disc(north_m=1.0, east_m=0.0, radius_m=0.2),), contacts=False)
    adapter = make(world=world)
    drive(adapter, 3.0, 0.6, 0.6)
    assert truth(adapter).north_m > 1.3
    assert adapter.drain_contacts() == []


# --- interventions ------------------------------------------------------------------------


def test_a_pose_and_a_motion_can_be_set():
    adapter = make(poses=(Pose(), Pose(east_m=3.0)))
    drive(adapter, 1.0, 0.5, 0.5)
    untouched = truth(adapter, 2)
    adapter.set_motion(1, 5.0, -4.0, 90.0, 0.6)
    now = truth(adapter)
    assert (now.north_m, now.east_m) == pytest.approx((5.0, -4.0))
    assert now.velocity_ned_mps == pytest.approx((0.0, 0.6, 0.0), abs=1e-9)
    assert math.degrees(yaw_from_quat(now.quat_wxyz)) == pytest.approx(90.0)
    assert truth(adapter, 2) == untouched
    drive(adapter, 0.5, 0.62, 0.62, ids=(1,))
    assert truth(adapter).east_m == pytest.approx(-3.7, abs=0.02)
    with pytest.raises(ConfigError, match=r"reaches 1\.0 m/s"):
        adapter.set_motion(1, 0.0, 0.0, 0.0, 2.0)


def test_failures_reach_motors_and_sensors():
    adapter = make()
    adapter.set_failure(1, "motor_left", "off")
    drive(adapter, 0.8, 0.5, 0.5)
    assert yaw_from_quat(truth(adapter).quat_wxyz) < -0.5
    adapter.set_failure(1, "gps", "off")
    assert not any(record[1].gps for record in drive(adapter, 1.0))
    with pytest.raises(ConfigError, match="no unit 'range'"):
        adapter.set_failure(1, "range", "off")


def test_rovers_come_and_go_while_the_others_continue():
    adapter, alone = make(poses=(Pose(),)), make(poses=(Pose(),))
    for one in (adapter, alone):
        drive(one, 1.0, 0.6, 0.4)
    spec_car = VehicleConfig(id=9, pose=Pose(north_m=3.0), preset=CAR)
    adapter.add_vehicle(spec_car)
    adapter.add_vehicle(VehicleConfig(id=4, pose=Pose(north_m=-3.0, yaw_deg=90.0)))
    assert truth(adapter, 4).north_m == pytest.approx(-3.0)
    for one in (adapter, alone):
        drive(one, 1.0, 0.6, 0.4, ids=(1,))
    assert adapter.vehicle_ids() == (1, 4, 9)
    assert truth(adapter).north_m == pytest.approx(truth(alone).north_m, abs=1e-6)
    adapter.remove_vehicle(4)
    drive(adapter, 0.5, 0.6, 0.4)
    assert list(adapter.receive_truth()) == [1, 9]
    with pytest.raises(ConfigError, match="stand inside"):
        adapter.add_vehicle(VehicleConfig(id=5, pose=Pose(north_m=3.05)))


def test_a_step_must_be_a_whole_number_of_physics_steps():
    adapter = make()
    with pytest.raises(ConfigError, match="5000 us is no whole number of physics steps of 2000"):
        adapter.advance(5_000)


# --- determinism --------------------------------------------------------------------------


def rich():
    """Rovers of both kinds with noise, wind, obstacles, failures and rangefinders."""
    specs = {
        1: rover_spec(FREENOVE, {"rangefinders_deg": (0.0, 45.0)}),
        2: rover_spec(CAR),
        3: rover_spec("ardupilot_skid"),
    }
    world = World(
        terrain=RampTerrain(5.0, 20.0, 1.0, 3.0),
        obstacles=(Disc(north_m=2.0, east_m=0.2, radius_m=0.2),),
        wind=WindConfig(north_mps=2.0, gust_mps=3.0),
    )
    adapter = MujocoAdapter(world=world, rover_of=lambda config: specs[config.id], seed=11)
    for number in specs:
        adapter.add_vehicle(VehicleConfig(id=number, pose=Pose(east_m=1.5 * (number - 1))))
    adapter.connect()
    return adapter


def test_a_run_has_the_same_bits_again_and_continues_from_a_snapshot():
    one, other = rich(), rich()
    assert drive(one, 1.5, 0.6, 0.5) == drive(other, 1.5, 0.6, 0.5)
    one.set_failure(2, "steering", "stuck")
    drive(one, 0.5, 0.6, -0.2)
    saved = json.loads(json.dumps(one.save_state()))
    rest = drive(one, 1.0, 0.5, 0.3)
    at_end = dict(one.receive_truth())
    drive(other, 0.7, -0.3, 0.9)
    for restored in (one, other):
        restored.load_state(saved)
        assert drive(restored, 1.0, 0.5, 0.3) == rest
        assert dict(restored.receive_truth()) == at_end
    stranger = make()
    with pytest.raises(ConfigError, match="seed"):
        stranger.load_state(saved)
    with pytest.raises(ConfigError, match="vehicles"):
        stranger.load_state(msgspec.structs.asdict(_Saved(**saved)) | {"seed": 3})


class _Saved(msgspec.Struct):
    seed: int
    time_us: int
    wind: dict
    mujoco: dict
    sensors: dict
    touching: list
    vehicles: dict
