"""The adapter jsbsim: units and frames, controls, wind, sensors, set state, snapshots."""

import math

import pytest

from pico_gz import ActuatorCommands, VehicleConfig
from pico_gz.adapters.jsbsim import aircraft as border
from pico_gz.adapters.jsbsim.adapter import JsbsimAdapter
from pico_gz.adapters.jsbsim.aircraft import AircraftSpec, Start
from pico_gz.core.frames import LocalFrame, euler_from_quat
from pico_gz.core.rover_spec import RoverSpec
from pico_gz.core.vehicle_config import Pose
from pico_gz.errors import ConfigError, MissingExtraError
from pico_gz.simulator.world import WindConfig, World

pytestmark = pytest.mark.jsbsim
STEP_US = 10_000
FLYING = AircraftSpec(altitude_m=300.0, airspeed_mps=50.0)
AT_ORIGIN = Pose()
LEVEL = (0.75, 0.0, 0.0, 0.0)  # throttle, aileron, elevator, rudder
PERFECT = RoverSpec(noise_free=True, imu="simple", gps="simple", compass="simple",
                    barometer="simple", gps_latency_ms=0.0)  # fmt: skip


@pytest.fixture(autouse=True)
def _package():
    pytest.importorskip("jsbsim", reason="the extra jsbsim is not installed")


def flying(spec=FLYING, pose=AT_ORIGIN, *, ids=(1,), **options):
    adapter = JsbsimAdapter(aircraft_of=lambda _: spec, sensors_of=lambda _: PERFECT, **options)
    for vehicle_id in ids:
        adapter.add_vehicle(VehicleConfig(id=vehicle_id, pose=pose))
    adapter.connect()
    return adapter


def fly(adapter, seconds, controls=LEVEL, *, step_us=STEP_US):
    """The records and truths of vehicle 1, step by step."""
    throttle, *surfaces = controls
    found = []
    for _ in range(round(seconds * 1e6 / step_us)):
        command = {
            i: ActuatorCommands(0, i, (throttle,), tuple(surfaces)) for i in adapter.vehicle_ids()
        }
        adapter.send_actuators(command)
        adapter.step(step_us)
        found.append((adapter.receive_sensors()[1], adapter.receive_truth()[1]))
    return found


def test_a_start_in_the_air_is_where_and_how_it_was_asked_for():
    adapter = flying(pose=Pose(north_m=2000.0, east_m=-3000.0, yaw_deg=120.0))
    (_, truth), *_ = fly(adapter, 0.01)
    assert math.dist((truth.north_m, truth.east_m), (2000.0, -3000.0)) < 1.0
    above_m = adapter._world.origin.geodetic_from_ned(truth.north_m, truth.east_m, truth.down_m)[2]
    assert above_m == pytest.approx(40.0 + 300.0, abs=0.01)
    assert math.hypot(*truth.velocity_ned_mps) == pytest.approx(50.0, abs=0.1)
    assert math.degrees(euler_from_quat(truth.quat_wxyz)[2]) == pytest.approx(120.0, abs=0.05)
    assert math.hypot(*truth.accel_ned_mps2) < 0.2  # it is trimmed


def test_headings_and_velocities_are_those_of_the_origin():
    """100 km east of it, north is another direction: by the longitude times sin(latitude)."""
    frame = LocalFrame(60.0, 10.0, 0.0)
    lat_deg, lon_deg, _ = frame.geodetic_from_ned(0.0, 100_000.0, 0.0)
    turn = border.local_to_fleet(frame, lat_deg, lon_deg)
    turned_deg = math.degrees(math.atan2(turn[1][0], turn[0][0]))
    expected_deg = -math.degrees(math.radians(lon_deg - 10.0) * math.sin(math.radians(60.0)))
    assert turned_deg == pytest.approx(expected_deg, abs=0.01)
    assert abs(expected_deg) > 1.5


def test_acceleration_is_the_change_of_velocity_and_gravity_is_felt_besides():
    steps = fly(flying(), 3.0, (1.0, 0.3, 0.2, 0.0))
    (_, before), (record, after) = steps[-2:]
    change = [
        (a - b) / 0.01 for a, b in zip(after.velocity_ned_mps, before.velocity_ned_mps, strict=True)
    ]
    assert change == pytest.approx(after.accel_ned_mps2, abs=0.1)
    assert math.hypot(*change) > 1.0
    standing = fly(flying(AircraftSpec()), 4.0, (0.0, 0.0, 0.0, 0.0))[-1][0]
    assert math.hypot(*standing.imu.accel_mss) == pytest.approx(9.80665, abs=0.02)
    assert record.imu.gyro_rads == pytest.approx(after.rates_frd_radps, abs=1e-3)


@pytest.mark.parametrize(("axis", "number"), [("aileron", 0), ("elevator", 1), ("rudder", 2)])
def test_controls_turn_the_positive_way(axis, number):
    def rate(sign):
        controls = (0.75, *(0.2 * sign if i == number else 0.0 for i in range(3)))
        return fly(flying(), 0.5, controls)[-1][1].rates_frd_radps[number]

    assert rate(1.0) - rate(-1.0) > 0.05


def test_brakes_hold_a_closed_throttle_and_full_throttle_moves_it():
    adapter = flying(AircraftSpec())
    (_, first), *_, (_, last) = fly(adapter, 5.0, (0.0, 0.0, 0.0, 0.0))
    assert math.dist((first.north_m, first.east_m), (last.north_m, last.east_m)) < 0.2
    assert fly(adapter, 5.0, (1.0, 0.0, 0.0, 0.0))[-1][1].velocity_ned_mps[0] > 5.0


def test_wind_carries_an_aircraft_that_starts_at_its_airspeed():
    windy = World(wind=WindConfig(north_mps=3.0, east_mps=-4.0))
    (_, truth), *_ = fly(flying(world=windy), 0.01)
    assert truth.wind_ned_mps == (3.0, -4.0, 0.0)
    north, east, _ = truth.velocity_ned_mps
    assert (north, east) == pytest.approx((53.0, -4.0), abs=0.1)


def test_sensors_are_an_aircrafts():
    adapter = flying(pose=Pose(north_m=30_000.0))
    origin, seen = adapter._world.origin, {}
    for record, truth in fly(adapter, 1.0):
        assert record.encoders is record.battery is record.rangefinders is None
        lat_deg, lon_deg, alt_m = origin.geodetic_from_ned(
            truth.north_m, truth.east_m, truth.down_m
        )
        if record.gps is not None:
            seen["gps"] = record.gps
            assert record.gps.alt_m == pytest.approx(alt_m, abs=0.1)
            assert (record.gps.lat_deg, record.gps.lon_deg) == pytest.approx(
                (lat_deg, lon_deg), abs=1e-6
            )
        if record.barometer is not None:
            # 30 km away, the plane of the origin lies 70 m above the ground.
            seen["barometer"] = record.barometer
            expected_pa = 101325.0 * (1.0 - 2.25577e-5 * alt_m) ** 5.25588
            assert record.barometer.pressure_pa == pytest.approx(expected_pa, abs=1.0)
            assert -truth.down_m < alt_m - origin.alt_m - 50.0
    assert set(seen) == {"gps", "barometer"}


def test_state_is_set_on_the_ground_and_in_the_air():
    adapter = flying()
    fly(adapter, 1.0)
    adapter.set_motion(1, 500.0, 600.0, 90.0, 45.0)
    truth = adapter.receive_truth()[1]
    assert (truth.north_m, truth.east_m) == pytest.approx((500.0, 600.0), abs=0.1)
    assert truth.velocity_ned_mps[1] == pytest.approx(45.0, abs=0.1)
    assert -truth.down_m == pytest.approx(300.0, abs=1.0)
    adapter.set_pose(1, 10.0, 20.0, 180.0)
    truth = fly(adapter, 1.0, (0.0, 0.0, 0.0, 0.0))[-1][1]
    assert (truth.north_m, truth.east_m) == pytest.approx((10.0, 20.0), abs=0.2)
    assert -truth.down_m < 2.0
    with pytest.raises(ConfigError, match="in the air only"):
        adapter.set_motion(1, 0.0, 0.0, 0.0, 10.0)


def test_a_snapshot_continues_bit_for_bit_after_set_state_and_gusts():
    adapter = flying(world=World(wind=WindConfig(north_mps=2.0, gust_mps=2.0)))
    fly(adapter, 2.0, (0.8, 0.05, 0.0, 0.0))
    adapter.set_motion(1, 100.0, 0.0, 10.0, 48.0)
    fly(adapter, 2.0, (0.6, -0.05, 0.02, 0.01))
    saved = adapter.save_state()
    first = fly(adapter, 10.0)
    fly(adapter, 1.0, (1.0, 0.0, 0.0, 0.0))
    adapter.load_state(saved)
    assert fly(adapter, 10.0) == first


def test_an_aircraft_flies_the_same_beside_others():
    assert fly(flying(ids=(1, 2, 3)), 1.0) == fly(flying(), 1.0)


@pytest.mark.parametrize("step_us", [1_000, 7_919, 50_000])
def test_any_step_flies_alike(step_us):
    adapter = flying()
    (_, truth) = fly(adapter, 5.0, step_us=step_us)[-1]
    assert adapter.sim_time_us() == round(5e6 / step_us) * step_us
    speed_mps = fly(flying(), 5.0)[-1][1].north_m / 5.0
    assert truth.north_m / adapter.sim_time_us() * 1e6 == pytest.approx(speed_mps, rel=2e-3)


def test_failures_are_those_of_its_sensors():
    adapter = flying()
    adapter.set_failure(1, "gps", "off")
    assert all(record.gps is None for record, _ in fly(adapter, 1.0))
    with pytest.raises(ConfigError, match="no unit 'motor_left'"):
        adapter.set_failure(1, "motor_left", "off")


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (("c172q", 0.0, 0.0), "no aircraft 'c172q'"),
        (("c172p", 300.0, 15.0), "cannot trim c172p for level flight at 15 m/s"),
        (("c182", 0.0, 0.0), "does not start engine 1 of c182"),
    ],
)
def test_what_cannot_be_is_refused_by_name(start, words):
    model, altitude_m, airspeed_mps = start
    with pytest.raises(ConfigError, match=words):
        border.Aircraft(Start(model, 0.0, 0.0, 0.0, altitude_m, airspeed_mps), LocalFrame(0.0, 0.0))


def test_a_crash_harms_no_other():
    adapter = flying(AircraftSpec(altitude_m=50.0, airspeed_mps=60.0), ids=(1, 2))
    steps = fly(adapter, 20.0, (1.0, 0.0, -1.0, 0.0))
    assert all(math.isfinite(truth.down_m) for _, truth in steps)


def test_it_says_nothing_and_writes_no_file(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fly(flying(), 0.1)
    fly(flying(AircraftSpec(model="c172x")), 0.1)
    with pytest.raises(ConfigError):
        border.Aircraft(Start("ball", 0.0, 0.0, 0.0, 500.0, 60.0), LocalFrame(0.0, 0.0))
    assert capfd.readouterr() == ("", "")
    assert not list(tmp_path.iterdir())


def test_a_missing_package_is_named(monkeypatch):
    border.package.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "jsbsim", None)
    try:
        assert "pico-gz[jsbsim]" in JsbsimAdapter.unavailable_reason()
        with pytest.raises(MissingExtraError):
            JsbsimAdapter().connect()
    finally:
        border.package.cache_clear()
