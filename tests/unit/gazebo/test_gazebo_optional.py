"""What a plugin tells beyond the plain keys: distances, wind; and what can be broken."""

import math
from collections.abc import Callable

import msgspec
import pytest

from pico_gz.core.frames import quat_from_euler
from pico_gz.core.messages import ActuatorCommands, VehicleTruth
from pico_gz.core.units import pwm_from_normalized
from pico_gz.core.vehicle_config import DriveKind, NoiseProfile, VehicleConfig
from pico_gz.errors import ConfigError, SimulatorError, UnknownVehicleError
from pico_gz.gazebo.adapter import GazeboAdapter, GazeboConfig
from pico_gz.gazebo.records import wind_of
from pico_gz.gazebo.sensors import SensorSite
from pico_gz.simulator.faults import ActuatorFaults, FailureKind
from pico_gz.testing.plugin_twin import PluginTwin
from pico_gz.vehicle.external.records import apparent_wind
from pico_gz.wire.memory_network import MemoryNetwork
from pico_gz.wire.state import decode_state, encode_state
from pico_gz.wire.state_record import ImuRecord, StateRecord, WindvaneRecord

HOST = "127.0.0.1"
STEP_US = 10_000
# Of the number of a record: the keys that it has beside the plain ones.
Extras = Callable[[int], dict[str, object]]


class Bench:
    """A rover whose records are rewritten on the way, one physics step after the other."""

    def __init__(self, extras: Extras = lambda _: {}, preset: str = "") -> None:
        self.net = MemoryNetwork(disturb=self._rewrite)
        self.twin = PluginTwin([9002], step_us=2000, network=self.net)
        self.twin._vehicles[0].socket.on_arrival = self.twin.try_step  # type: ignore[attr-defined]
        self.adapter = GazeboAdapter(network=self.net)
        self._extras = extras
        self.records = 0
        vehicle = VehicleConfig(id=1, noise=NoiseProfile.OFF)
        if preset:
            vehicle = msgspec.structs.replace(vehicle, preset=preset)
        self.adapter.add_vehicle(vehicle)
        self.adapter.connect()

    def _rewrite(
        self, sender: tuple[str, int], _: tuple[str, int], data: bytes, __: float
    ) -> list[tuple[float, bytes]]:
        if sender[1] != 9002:
            return [(0.0, data)]
        self.records += 1
        record = msgspec.structs.replace(decode_state(data), **self._extras(self.records))
        return [(0.0, encode_state(record))]

    def ranges(self) -> tuple[float | None, ...] | None:
        self.adapter.step(STEP_US)
        found = self.adapter.receive_sensors()[1].rangefinders
        if found is None:
            return None
        return tuple(None if sample is None else sample.distance_m for sample in found)

    def wind(self) -> tuple[float, float, float]:
        self.adapter.step(STEP_US)
        return self.adapter.receive_truth()[1].wind_ned_mps

    def pwm(self) -> tuple[int, ...]:
        self.adapter.step(STEP_US)
        return self.twin.link().pwm_us[:3]


# --- distances --------------------------------------------------------------------------------


@pytest.mark.parametrize("distance_m", [0.0, 0.01, 2.5, 7.5, 30.0])
def test_a_distance_is_what_the_wire_says(distance_m: float) -> None:
    bench = Bench(lambda _: {"rng_1": distance_m})
    assert bench.ranges() == (distance_m,)
    found = bench.adapter.receive_sensors()[1].rangefinders
    assert found is not None
    assert found[0] is not None
    assert found[0].max_m > 1e6, "nobody knows how far it sees"
    assert found[0].min_m == 0.0


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"rng_1": 2.5, "rng_2": -1.0, "rng_3": 7.5}, (2.5, None, 7.5)),
        ({"rng_1": -1.0, "rng_2": 3.0}, (None, 3.0)),
        ({"rng_2": 3.0}, (None, 3.0)),
        ({"rng_1": 3.0, "rng_2": -1.0}, (3.0,)),
        ({"rng_1": -1.0, "rng_2": -1.0}, None),
    ],
)
def test_each_range_sensor_alone_may_be_missing(
    keys: dict[str, object], told: tuple[float | None, ...] | None
) -> None:
    bench = Bench(lambda _: keys)
    assert bench.ranges() == told
    assert bench.adapter.capabilities().sensors.rangefinder == (told is not None)


def test_a_distance_in_any_record_of_a_step_is_told_once() -> None:
    bench = Bench()
    first = bench.records + 2
    bench._extras = lambda n: {"rng_1": 1.5} if n == first else {}
    assert bench.ranges() == (1.5,)
    assert bench.ranges() is None


def test_capabilities_grow_with_what_comes_and_do_not_shrink() -> None:
    bench = Bench()
    assert not bench.adapter.capabilities().sensors.rangefinder
    assert not bench.adapter.capabilities().wind
    bench._extras = lambda _: {"rng_1": 1.5, "windvane": WindvaneRecord(0.0, 1.0)}
    bench.adapter.step(STEP_US)
    bench._extras = lambda _: {}
    bench.adapter.step(STEP_US)
    assert bench.adapter.capabilities().sensors.rangefinder
    assert bench.adapter.capabilities().wind
    bench.adapter.disconnect()
    assert not bench.adapter.capabilities().sensors.rangefinder


def test_capabilities_of_a_fleet_that_was_empty_at_first() -> None:
    net = MemoryNetwork()
    adapter = GazeboAdapter(GazeboConfig(), network=net)
    adapter.connect()
    assert not adapter.capabilities().sensors.imu
    adapter.add_vehicle(VehicleConfig(id=1))
    assert not adapter.capabilities().sensors.imu, "nothing has come yet"
    twin = PluginTwin([9002], step_us=2000, network=net)
    twin._vehicles[0].socket.on_arrival = twin.try_step  # type: ignore[attr-defined]
    adapter.step(STEP_US)
    found = adapter.capabilities().sensors
    assert (found.imu, found.gps, found.compass, found.barometer) == (True,) * 4
    adapter.remove_vehicle(1)
    assert adapter.capabilities().sensors.gps, "once seen, it stays"


# --- wind -------------------------------------------------------------------------------------


@pytest.mark.parametrize("yaw_deg", [0.0, 90.0, -135.0])
@pytest.mark.parametrize("wind", [(3.0, 0.0, 0.0), (-2.0, 1.5, 0.0), (0.0, 0.0, 0.0)])
def test_wind_of_a_vane_is_the_inverse_of_what_a_vane_feels(
    yaw_deg: float, wind: tuple[float, float, float]
) -> None:
    quat = quat_from_euler(0.02, -0.03, math.radians(yaw_deg))
    truth = VehicleTruth(
        timestamp_us=0,
        vehicle_id=1,
        north_m=0.0,
        east_m=0.0,
        down_m=0.0,
        quat_wxyz=quat,
        velocity_ned_mps=(0.9, -0.4, 0.0),
        wind_ned_mps=wind,
    )
    record = StateRecord(
        timestamp_s=0.0,
        imu=ImuRecord((0.0, 0.0, 0.0), (0.0, 0.0, -9.8)),
        position_ned_m=(0.0, 0.0, 0.0),
        quat_wxyz=quat,
        velocity_ned_mps=truth.velocity_ned_mps,
        windvane=apparent_wind(truth),
    )
    assert wind_of(record) == pytest.approx(wind, abs=1e-12)


def test_a_head_wind_on_the_bow_of_a_rover_that_looks_east_blows_west() -> None:
    # The twin's rover looks east (Gazebo's x) and stands.
    bench = Bench(lambda _: {"windvane": WindvaneRecord(0.0, 3.2)})
    assert bench.wind() == pytest.approx((0.0, -3.2, 0.0), abs=1e-9)
    assert bench.adapter.capabilities().wind


def test_the_vehicles_own_speed_is_no_wind() -> None:
    bench = Bench()
    bench.adapter.send_actuators({1: ActuatorCommands(0, 1, (0.6, 0.6))})
    for _ in range(100):
        bench.adapter.step(STEP_US)
    bench._extras = lambda _: {"windvane": WindvaneRecord(0.0, 0.9)}
    assert bench.adapter.receive_truth()[1].velocity_ned_mps[1] == pytest.approx(0.9)
    assert bench.wind() == pytest.approx((0.0, 0.0, 0.0), abs=1e-9)


def test_the_wind_blows_on_between_two_records_that_tell_of_it() -> None:
    bench = Bench()
    first = bench.records + 2
    bench._extras = lambda n: {"wind_ned_mps": (1.0, 2.0, 0.5)} if n == first else {}
    assert bench.wind() == (1.0, 2.0, 0.5)
    assert bench.wind() == (1.0, 2.0, 0.5)


def test_wind_itself_wins_over_a_vane() -> None:
    bench = Bench(lambda _: {"wind_ned_mps": (1.0, 2.0, 0.5), "windvane": WindvaneRecord(0.0, 9.0)})
    assert bench.wind() == (1.0, 2.0, 0.5)


# --- failures ---------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["imu", "gyro", "accel", "range", "rangefinder"])
def test_what_gazebo_delivers_cannot_be_broken_here(unit: str) -> None:
    bench = Bench()
    with pytest.raises(SimulatorError, match=f"cannot break {unit}: .* over the wire") as caught:
        bench.adapter.set_failure(1, unit, "off")
    assert "gps" in caught.value.hint
    assert "motor_left" in caught.value.hint


def test_unknown_units_kinds_and_vehicles_are_refused() -> None:
    adapter = Bench().adapter
    with pytest.raises(ConfigError, match="no unit 'motor_lef'") as caught:
        adapter.set_failure(1, "motor_lef", "off")
    assert "motor_left" in caught.value.hint
    with pytest.raises(ConfigError, match="of"):
        adapter.set_failure(1, "motor_left", "of")
    with pytest.raises(UnknownVehicleError):
        adapter.set_failure(9, "motor_left", "off")
    with pytest.raises(ConfigError, match="steers with its motors"):
        adapter.set_failure(1, "steering", "off")


def test_a_motor_that_is_off_gets_neutral_until_it_is_mended() -> None:
    bench = Bench()
    bench.adapter.send_actuators({1: ActuatorCommands(0, 1, (1.0, 1.0))})
    assert bench.pwm() == (2000, 0, 2000)
    bench.adapter.set_failure(1, "motor_left", "off")
    assert bench.pwm() == (1500, 0, 2000)
    bench.adapter.send_actuators({1: ActuatorCommands(0, 1, (0.5, 0.5))})
    assert bench.pwm() == (1500, 0, 1750)
    bench.adapter.set_failure(1, "motor_left", "ok")
    assert bench.pwm() == (1750, 0, 1750)


def test_a_stuck_motor_keeps_its_command() -> None:
    bench = Bench()
    bench.adapter.send_actuators({1: ActuatorCommands(0, 1, (0.2, 1.0))})
    bench.adapter.set_failure(1, "motor_right", "stuck")
    bench.adapter.send_actuators({1: ActuatorCommands(0, 1, (0.0, 0.0))})
    assert bench.pwm() == (1500, 0, 2000)


def test_a_delayed_motor_follows_300_ms_late() -> None:
    bench = Bench()
    bench.pwm()
    bench.adapter.set_failure(1, "motor_left", "delayed")
    bench.adapter.send_actuators({1: ActuatorCommands(0, 1, (1.0, 1.0))})
    left = [bench.pwm()[0] for _ in range(35)]
    assert left == [1500] * 30 + [2000] * 5


@pytest.mark.parametrize("kind", [kind for kind in FailureKind if kind is not FailureKind.OK])
def test_every_failure_follows_the_rules_of_all_simulators(kind: FailureKind) -> None:
    bench = Bench()
    seed = SensorSite().seed
    faults = ActuatorFaults(seed, 1, DriveKind.SKID)
    bench.adapter.set_failure(1, "motor_right", kind)
    faults.set("motor_right", kind, (0.0, 0.0))
    for step in range(60):
        wanted = (0.5, 0.01 * step)
        bench.adapter.send_actuators({1: ActuatorCommands(0, 1, wanted)})
        left, right = faults.apply(wanted, bench.adapter.sim_time_us(), STEP_US)
        assert bench.pwm() == (pwm_from_normalized(left), 0, pwm_from_normalized(right))


def test_steering_and_throttle_of_a_car_fail_alone() -> None:
    bench = Bench(preset="ardupilot_car")
    bench.adapter.send_actuators({1: ActuatorCommands(0, 1, (1.0,), (0.5,))})
    assert bench.pwm() == (1750, 0, 2000)
    bench.adapter.set_failure(1, "steering", "off")
    assert bench.pwm() == (1500, 0, 2000)
    bench.adapter.set_failure(1, "motor_right", "off")
    assert bench.pwm() == (1500, 0, 1500)
    bench.adapter.set_failure(1, "steering", "ok")
    assert bench.pwm() == (1750, 0, 1500)


def test_a_vehicle_that_leaves_takes_its_failures_along() -> None:
    bench = Bench()
    bench.adapter.set_failure(1, "motor_left", "stuck")
    bench.adapter.remove_vehicle(1)
    bench.adapter.step(STEP_US)
    bench.adapter.add_vehicle(VehicleConfig(id=1))
    bench.adapter.send_actuators({1: ActuatorCommands(0, 1, (1.0, 1.0))})
    assert bench.pwm() == (2000, 0, 2000)
