"""The Lightweight adapter: the contract's hooks over the fleet engine."""

from __future__ import annotations

import logging
import math
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields

import msgspec
import pytest

from pico_gz.adapters.lightweight import LightweightAdapter
from pico_gz.adapters.lightweight_config import LightweightConfig
from pico_gz.bridge.bridge import SitlBridge
from pico_gz.core.messages import ActuatorCommands
from pico_gz.core.rover_spec import rover_spec
from pico_gz.core.vehicle_config import NoiseProfile, Pose, VehicleConfig
from pico_gz.errors import ConfigError, SimulatorConnectionError, UnknownVehicleError
from pico_gz.simulator.obstacles import Disc
from pico_gz.simulator.world import World

DT = 10_000


def connected(*ids, config=None, preset="pico_trail_freenove", noise="typical", **options):
    adapter = LightweightAdapter(config, **{"seed": 42, **options})
    for vehicle_id in ids or (1,):
        adapter.add_vehicle(
            VehicleConfig(
                id=vehicle_id,
                preset=preset,
                noise=NoiseProfile(noise),
                pose=Pose(east_m=3.0 * (vehicle_id - 1)),
            )
        )
    adapter.connect()
    return adapter


def send(adapter, *motors, servos=()):
    adapter.send_actuators(
        {
            vehicle_id: ActuatorCommands(adapter.sim_time_us(), vehicle_id, motors, servos)
            for vehicle_id in adapter.vehicle_ids()
        }
    )


def run(adapter, steps):
    for _ in range(steps):
        adapter.step(DT)
    return adapter.receive_truth()


# --- configuration ----------------------------------------------------------------------------


def test_the_nine_documented_defaults():
    config = LightweightConfig()
    assert (config.wheel_base, config.max_speed, config.max_turn_rate) == (0.15, 1.0, 2.0)
    assert (config.gps_noise_m, config.gps_rate_hz) == (0.5, 5)
    assert (config.accel_noise_mss, config.gyro_noise_rads) == (0.1, 0.01)
    assert (config.compass_noise_rad, config.seed) == (0.05, None)


def test_the_simple_model_is_kinematic():
    adapter = connected(config=LightweightConfig(max_speed=2.0))
    send(adapter, 1.0, 1.0)
    assert run(adapter, 100)[1].north_m == pytest.approx(2.0, abs=1e-9)
    send(adapter, 1.0, -1.0)
    assert run(adapter, 1)[1].rates_frd_radps[2] == pytest.approx(2.0, abs=1e-12)


def test_the_simple_model_has_white_noise():
    adapter = connected(config=LightweightConfig())
    accels, gyros = [], []
    for _ in range(3000):
        adapter.step(DT)
        imu = adapter.receive_sensors()[1].imu
        accels.append(imu.accel_mss[0])
        gyros.append(imu.gyro_rads[2])

    def sigma(values):
        return math.sqrt(sum(value * value for value in values) / len(values))

    assert sigma(accels) == pytest.approx(0.1, rel=0.05)
    assert sigma(gyros) == pytest.approx(0.01, rel=0.05)


def test_a_preset_sets_everything_and_keys_override_it():
    config = LightweightConfig(preset="ardupilot_skid", max_speed=3.0, gps_rate_hz=10)
    spec = config.spec()
    assert (spec.max_speed, spec.wheel_base) == (3.0, rover_spec("ardupilot_skid").wheel_base)
    assert config.wheel_base == spec.wheel_base
    assert (spec.gps_rate_hz, spec.gps_noise_m) == (10, None)
    assert config.gps_noise_m is None


def test_a_config_is_typed_and_frozen():
    config = LightweightConfig(max_speed=2.0)
    with pytest.raises(FrozenInstanceError):
        config.max_speed = 3.0
    assert {item.name for item in fields(config) if item.init} == {
        *("preset", "wheel_base", "max_speed", "max_turn_rate", "seed"),
        *("gps_noise_m", "gps_rate_hz", "accel_noise_mss", "gyro_noise_rads"),
        "compass_noise_rad",
    }
    with pytest.raises(TypeError, match="wheel_bas"):
        LightweightConfig(wheel_bas=0.2)
    assert config == LightweightConfig(max_speed=2.0, wheel_base=0.15)
    assert hash(config) == hash(LightweightConfig(max_speed=2.0))


def test_a_noisy_ideal_rover_with_a_figure_of_its_own_is_the_simple_model():
    rover = rover_spec("ideal", {"noise_free": False, "gps_noise_m": 0.3})
    spec = connected(rover_of=lambda vehicle: rover).rover(1)
    assert (spec.gps_noise_m, spec.compass_noise_rad) == (0.3, 0.05)
    plain = rover_spec("ideal", {"noise_free": False})
    assert connected(rover_of=lambda vehicle: plain).rover(1) == plain


def test_the_gps_rate_is_obeyed():
    for rate in (1.0, 10.0):
        adapter = connected(config=LightweightConfig(gps_rate_hz=rate))
        fixes = 0
        for _ in range(500):
            adapter.step(DT)
            fixes += adapter.receive_sensors()[1].gps is not None
        assert fixes == pytest.approx(5.0 * rate, abs=1)


def test_without_a_config_the_vehicle_names_its_preset():
    assert connected(preset="ardupilot_car").rover(1) == rover_spec("ardupilot_car")


def test_a_program_may_choose_the_rovers():
    wide = rover_spec("ideal", {"wheel_base": 0.5})
    adapter = connected(rover_of=lambda vehicle: wide, max_speed=0.5)
    assert adapter.rover(1) == rover_spec("ideal", {"wheel_base": 0.5, "max_speed": 0.5})


@pytest.mark.parametrize(
    ("keys", "word"),
    [
        ({"wheel_base": 0.0}, "wheel_base"),
        ({"max_speed": -1.0}, "max_speed"),
        ({"gps_noise_m": -0.1}, "gps_noise_m"),
        ({"gyro_noise_rads": math.nan}, "gyro_noise_rads"),
        ({"compass_noise_rad": 1e9}, "compass_noise_rad"),
        ({"max_speed": "fast"}, "max_speed"),
        ({"preset": "tank"}, "tank"),
    ],
)
def test_impossible_configs_are_refused(keys, word):
    with pytest.raises(ConfigError, match=word):
        LightweightConfig(**keys)


def test_unknown_options_get_a_suggestion():
    with pytest.raises(ConfigError) as caught:
        LightweightAdapter(wheel_bas=0.2)
    assert "wheel_base" in caught.value.hint


def test_an_unknown_preset_leaves_nothing_behind():
    adapter = LightweightAdapter(seed=1)
    with pytest.raises(ConfigError, match="tank"):
        adapter.add_vehicle(VehicleConfig(id=1, preset="tank"))
    assert adapter.vehicle_ids() == ()
    adapter.add_vehicle(VehicleConfig(id=1))


def test_a_drawn_seed_is_told_and_can_be_given_again(caplog):
    with caplog.at_level(logging.WARNING):  # what is shown without being asked for
        first = LightweightAdapter()
    assert str(first.seed) in caplog.text
    assert LightweightAdapter(seed=first.seed).seed == first.seed
    assert LightweightAdapter(LightweightConfig(seed=5)).seed == 5
    assert LightweightAdapter(LightweightConfig(seed=5), seed=6).seed == 6


# --- the contract -----------------------------------------------------------------------------


def test_the_contract_in_short():
    adapter = LightweightAdapter(seed=1)
    assert (adapter.adapter_type, adapter.name, adapter.bounded_step) == (
        "lightweight", "lightweight", True,
    )  # fmt: skip
    assert adapter.supports_lockstep()
    with pytest.raises(SimulatorConnectionError):
        adapter.step(DT)
    adapter.connect()
    adapter.step(DT)
    assert adapter.sim_time_us() == DT
    assert adapter.receive_sensors() == {}
    adapter.disconnect()
    adapter.disconnect()


def test_capabilities_are_honest():
    capabilities = connected().capabilities()
    assert capabilities.multi_vehicle
    assert capabilities.terrain
    assert capabilities.wind
    sensors = capabilities.sensors
    assert sensors.imu
    assert sensors.gps
    assert not sensors.camera
    assert not sensors.optical_flow
    assert not sensors.rangefinder
    ranging = connected(rover_of=lambda _: rover_spec("ideal", {"rangefinders_deg": (0.0,)}))
    assert ranging.capabilities().sensors.rangefinder


def test_every_promised_sensor_delivers():
    adapter = connected()
    seen = set()
    for _ in range(100):
        adapter.step(DT)
        record = adapter.receive_sensors()[1]
        assert record.timestamp_us == adapter.sim_time_us()
        for name in ("imu", "gps", "compass", "barometer", "encoders", "battery"):
            if getattr(record, name) is not None:
                seen.add(name)
    assert seen == {"imu", "gps", "compass", "barometer", "encoders", "battery"}


def test_skid_and_ackermann_commands():
    skid, car = connected(preset="ideal"), connected(preset="pico_trail_ackermann")
    send(skid, 0.6, 0.4)
    send(car, 0.8, servos=(0.5,))
    assert run(skid, 50)[1].rates_frd_radps[2] > 0.0
    assert run(car, 50)[1].rates_frd_radps[2] > 0.0


def test_missing_commands_are_neutral():
    adapter = connected(preset="ideal")
    send(adapter, 1.0, 1.0)
    run(adapter, 1)
    send(adapter)
    assert run(adapter, 1)[1].velocity_ned_mps == (0.0, 0.0, 0.0)


def test_truth_is_made_when_asked_and_kept_until_the_next_step():
    adapter = connected(1, 2)
    send(adapter, 0.5, 0.5)
    first = run(adapter, 10)
    assert list(first) == [1, 2]
    assert adapter.receive_truth() is first
    assert run(adapter, 1)[1] != first[1]


def test_sensors_of_a_noise_free_rover_tell_the_truth():
    adapter = connected(preset="ideal", noise="bad")
    send(adapter, 0.8, 0.8)
    run(adapter, 10)
    imu = adapter.receive_sensors()[1].imu
    assert imu.accel_mss == pytest.approx((0.0, 0.0, -9.80665), abs=1e-12)
    assert imu.gyro_rads == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)


def test_set_pose_and_speed():
    adapter = connected()
    adapter.set_pose(1, 5.0, 6.0, 90.0)
    truth = adapter.receive_truth()[1]
    assert (truth.north_m, truth.east_m) == (5.0, 6.0)
    adapter.set_motion(1, 0.0, 0.0, 0.0, 0.7)
    send(adapter, 0.7, 0.7)
    assert run(adapter, 1)[1].velocity_ned_mps[0] == pytest.approx(0.7, abs=0.1)
    with pytest.raises(UnknownVehicleError):
        adapter.set_pose(9, 0.0, 0.0, 0.0)


def test_failures_and_parameters_are_passed_on():
    adapter = connected()
    adapter.set_failure(1, "motor_left", "off")
    send(adapter, 1.0, 1.0)
    assert run(adapter, 100)[1].rates_frd_radps[2] < -0.5
    adapter.set_environment(1, "SIM_GPS_DISABLE", 1.0)
    with pytest.raises(ConfigError):
        adapter.set_failure(1, "mavlink", "off")
    with pytest.raises(ConfigError):
        adapter.set_environment(1, "SIM_NO_SUCH_THING", 1.0)


def test_contacts_are_told():
    world = World(obstacles=(Disc(north_m=1.0, east_m=0.0, radius_m=0.3),))
    adapter = connected(world=world)
    send(adapter, 1.0, 1.0)
    run(adapter, 200)
    assert [contact.other for contact in adapter.drain_contacts()] == ["disc_1"]


def test_a_snapshot_goes_on_with_the_same_bytes():
    whole, first, second = (connected(1, 2, 3) for _ in range(3))
    for adapter in (whole, first):
        send(adapter, 0.9, 0.6)
        run(adapter, 150)
    second.load_state(msgspec.msgpack.decode(msgspec.msgpack.encode(first.save_state())))
    assert second.sim_time_us() == whole.sim_time_us()
    whole.receive_sensors()  # or its unread samples would be merged into the next ones
    for _ in range(100):
        for adapter in (whole, second):
            adapter.step(DT)
        assert second.receive_sensors() == whole.receive_sensors()
        assert second.receive_truth() == whole.receive_truth()


def test_a_snapshot_of_another_seed_is_refused():
    with pytest.raises(ConfigError, match="seed"):
        connected(seed=1).load_state(connected(seed=2).save_state())


def test_vehicles_come_and_go():
    adapter = connected(1, 2)
    run(adapter, 5)
    adapter.remove_vehicle(1)
    adapter.add_vehicle(VehicleConfig(id=7))
    adapter.step(DT)
    assert list(adapter.receive_sensors()) == list(adapter.receive_truth()) == [2, 7]


def test_it_is_light_to_import():
    code = (
        "import sys, pico_gz.adapters.lightweight as m;"
        "heavy = {'pymavlink', 'pydantic', 'jinja2', 'docker', 'typer', 'rich', 'scipy'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_a_place_that_is_taken_is_known():
    post = Disc(north_m=5.0, east_m=0.0, radius_m=0.5)
    adapter = connected(1, 2, world=World(obstacles=(post,)))
    adapter.set_pose(2, 2.0, 0.0, 90.0)
    assert adapter.overlaps_at(1, Pose(north_m=2.2)) == ["rover_2"]
    assert adapter.overlaps_at(1, Pose(north_m=4.5)) == ["disc_1"]
    assert adapter.overlaps_at(2, Pose(north_m=2.1)) == []
    off = connected(1, 2, world=World(obstacles=(post,), contacts=False))
    assert off.overlaps_at(1, Pose(north_m=5.0)) == []


# --- places that are taken --------------------------------------------------------------------


def test_a_vehicle_inside_another_is_refused_with_both_names():
    adapter = connected(1, 2)
    third = VehicleConfig(id=3, name="third", pose=Pose(east_m=3.1))
    with pytest.raises(ConfigError, match=r"third cannot be added: .* inside rover_2\."):
        adapter.add_vehicle(third)
    assert adapter.vehicle_ids() == (1, 2)
    adapter.add_vehicle(msgspec.structs.replace(third, pose=Pose(east_m=4.5)))
    assert list(run(adapter, 1)) == [1, 2, 3]


def test_what_counts_is_where_the_others_are_now():
    adapter = connected(1)
    second = VehicleConfig(id=2, name="second")
    adapter.set_pose(1, 5.0, 0.0, 0.0)
    adapter.add_vehicle(second)
    adapter.remove_vehicle(2)
    with pytest.raises(ConfigError, match=r"second cannot be added: .* inside rover_1\."):
        adapter.add_vehicle(msgspec.structs.replace(second, pose=Pose(north_m=5.1)))


def test_a_vehicle_inside_an_obstacle_is_refused_unless_nothing_collides():
    barrel = Disc(north_m=0.0, east_m=0.2, radius_m=0.3)
    with pytest.raises(ConfigError, match=r"rover_1 cannot be added: .* inside disc_1\."):
        connected(1, world=World(obstacles=(barrel,)))
    connected(1, world=World(obstacles=(barrel,), contacts=False))


def test_the_bridge_refuses_it_before_and_during_a_run_and_keeps_its_fleet():
    bridge = SitlBridge()
    bridge.register_adapter(LightweightAdapter(seed=1))
    bridge.spawn_vehicle(VehicleConfig(id=1))
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"late cannot be added: .* inside rover_1\."):
            bridge.spawn_vehicle(VehicleConfig(id=2, name="late"))
        assert [vehicle.id for vehicle in bridge.vehicles] == [1]
        bridge.step(3)
    bridge.spawn_vehicle(VehicleConfig(id=2, name="late", pose=Pose(east_m=1.0)))
    bridge.step(1)
    assert list(bridge.view.truth) == [1, 2]
