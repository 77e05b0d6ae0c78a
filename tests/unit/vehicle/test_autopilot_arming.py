"""Arming: reasons a person can act on, and neutral outputs whenever it is not armed."""

import pytest
from rover_world import World, e7_of

from pico_gz.core.ground_control import MissionItem, MissionType, Mode, Result
from pico_gz.core.messages import GpsFixType

NEUTRAL = (1500, 1500)


def texts(world):
    return world.texts + [text.text for text in world.autopilot.drain_texts()]


def refused(world):
    """What it says when it refuses."""
    assert world.autopilot.arm() is Result.FAILED
    assert not world.autopilot.status().armed
    return [text for text in texts(world) if text.startswith("Arm: ")]


def outputs(world):
    return world.platform.servo_outputs_us()[0], world.platform.servo_outputs_us()[2]


def test_a_healthy_rover_arms():
    world = World()
    world.run(3.0)
    assert world.autopilot.prearm_checks() is Result.ACCEPTED
    assert world.autopilot.arm() is Result.ACCEPTED
    assert world.autopilot.arm() is Result.ACCEPTED
    assert "Throttle armed" in texts(world)


def test_before_the_estimator_is_ready():
    assert refused(World()) == ["Arm: still initialising"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"gps_on": False}, "no GPS"),
        ({"fix_type": GpsFixType.FIX_2D}, "GPS: need 3D fix"),
        ({"compass_on": False}, "no compass"),
    ],
)
def test_missing_sensors(change, reason):
    world = World()
    for name, value in change.items():
        setattr(world, name, value)
    world.run(3.0)
    assert f"Arm: {reason}" in refused(world)
    assert world.autopilot.prearm_checks() is Result.FAILED
    assert f"PreArm: {reason}" in texts(world)
    assert world.autopilot.arm(force=True) is Result.ACCEPTED


def test_checks_can_be_switched_off():
    world = World(params={"ARMING_CHECK": 0.0})
    world.gps_on = world.compass_on = False
    world.run(3.0)
    assert world.autopilot.arm() is Result.ACCEPTED


def test_lost_sensors():
    world = World()
    world.run(3.0)
    world.gps_on = world.compass_on = False
    world.run(2.0)
    assert refused(world) == ["Arm: compass not healthy", "Arm: GPS: need 3D fix"]


@pytest.mark.parametrize(
    ("part", "reason", "bit"),
    [("gyro_dead", "gyros not healthy", 1), ("accel_dead", "accelerometers not healthy", 2)],
)
def test_a_dead_imu_does_not_arm(part, reason, bit):
    world = World(noise=1.0)
    world.run(3.0)
    assert world.autopilot.telemetry().sensors_healthy & 3 == 3
    setattr(world, part, True)
    world.run(3.0)
    assert world.autopilot.telemetry().sensors_healthy & 3 == 3 & ~bit
    assert refused(world) == [f"Arm: {reason}"]
    setattr(world, part, False)
    world.run(10.0)
    assert world.autopilot.arm() is Result.ACCEPTED


def test_throttle_must_be_neutral():
    world = World()
    world.run(3.0)
    world.platform.inject_rc([1500, 1500, 1900], world.time_us)
    world.run(0.1)
    assert refused(world) == ["Arm: throttle is not neutral"]


def test_battery_too_low():
    world = World(params={"BATT_ARM_VOLT": 7.7})
    world.run(3.0)
    assert refused(world) == ["Arm: battery 7.6 V is below 7.7 V"]


def test_outside_the_fence():
    world = World(params={"FENCE_ENABLE": 1.0})
    world.run(3.0)
    lat_e7, lon_e7 = e7_of(50, 0)
    fence = [MissionItem(seq=0, command=5003, param1=10.0, lat_e7=lat_e7, lon_e7=lon_e7)]
    world.autopilot.missions.replace(MissionType.FENCE, fence)
    world.run(0.2)
    assert refused(world) == ["Arm: vehicle is outside the fence"]


def test_a_fence_counts_for_arming_as_soon_as_it_is_there():
    world = World(params={"FENCE_ENABLE": 1.0})
    world.run(3.0)
    lat_e7, lon_e7 = e7_of(50, 0)
    fence = [MissionItem(seq=0, command=5003, param1=10.0, lat_e7=lat_e7, lon_e7=lon_e7)]
    world.autopilot.missions.replace(MissionType.FENCE, fence)
    assert refused(world) == ["Arm: vehicle is outside the fence"]
    world.autopilot.params.set("FENCE_ENABLE", 0.0)
    assert world.autopilot.prearm_checks() is Result.ACCEPTED
    world.autopilot.params.set("FENCE_ENABLE", 1.0)
    assert world.autopilot.prearm_checks() is Result.FAILED
    world.autopilot.missions.clear(MissionType.FENCE)
    assert world.autopilot.arm() is Result.ACCEPTED


@pytest.mark.parametrize("mode", [Mode.MANUAL, Mode.ACRO, Mode.GUIDED, Mode.CIRCLE, Mode.HOLD])
def test_disarmed_means_neutral_in_every_mode(mode):
    world = World()
    world.run(3.0)
    assert world.autopilot.set_mode(mode) is Result.ACCEPTED
    for _ in range(20):
        world.platform.inject_rc([2000, 1500, 2000], world.time_us)
        world.run(0.1)
        assert outputs(world) == NEUTRAL


def test_outputs_are_neutral_from_the_start():
    assert outputs(World()) == NEUTRAL


def test_disarming_stops_at_once():
    world = World().ready()
    for _ in range(20):
        world.platform.inject_rc([1500, 1500, 1900], world.time_us)
        world.run(0.1)
    assert outputs(world)[0] > 1600
    assert world.autopilot.disarm() is Result.ACCEPTED
    assert outputs(world) == NEUTRAL


def test_arming_and_disarming_by_stick():
    world = World()
    world.run(3.0)
    for _ in range(25):
        world.platform.inject_rc([2000, 1500, 1500], world.time_us)
        world.run(0.1)
    assert world.autopilot.status().armed
    for _ in range(25):
        world.platform.inject_rc([1000, 1500, 1500], world.time_us)
        world.run(0.1)
    assert not world.autopilot.status().armed


def test_mode_switch():
    world = World(params={"MODE1": 4.0, "MODE6": 5.0})
    world.run(3.0)
    for pulse, mode in ((1100, "MANUAL"), (1900, "LOITER"), (1100, "HOLD")):
        world.platform.inject_rc([1500] * 7 + [pulse], world.time_us)
        world.run(0.2)
        assert world.autopilot.status().mode == mode


def test_safe_disarm_sends_no_pulses():
    world = World(params={"MOT_SAFE_DISARM": 1.0})
    world.run(3.0)
    assert outputs(world) == (0, 0)
    assert world.platform.collect_actuator_commands().motors == (0.0, 0.0)
    world.autopilot.arm()
    world.run(0.1)
    assert outputs(world) == NEUTRAL
    car = World("pico_trail_ackermann", params={"MOT_SAFE_DISARM": 1.0})
    car.run(1.0)
    assert outputs(car) == (1500, 0)


def test_without_arming_it_is_armed_from_the_start():
    world = World(params={"ARMING_REQUIRE": 0.0})
    world.run(1.0)
    assert world.autopilot.status().armed


def hold_right(world, seconds):
    for _ in range(round(seconds / 0.1)):
        world.autopilot.rc_override({1: 2000, 3: 1500})
        world.run(0.1)


def test_a_stick_held_while_armed_does_not_arm_again_right_after_a_disarm():
    world = World(params={"FS_THR_ENABLE": 0.0}).ready()
    assert world.autopilot.arm() is Result.ACCEPTED
    hold_right(world, 3.0)
    world.autopilot.disarm()
    hold_right(world, 1.5)
    assert not world.autopilot.status().armed
    hold_right(world, 1.0)  # held for two seconds since: that is a pilot who wants it
    assert world.autopilot.status().armed


def test_arming_for_a_moment_starts_the_hold_again():
    world = World(params={"FS_THR_ENABLE": 0.0}).ready()
    world.autopilot.disarm()
    hold_right(world, 1.9)
    assert not world.autopilot.status().armed
    world.autopilot.arm(force=True)  # armed and disarmed between two looks at the sticks
    world.autopilot.disarm()
    hold_right(world, 1.5)
    assert not world.autopilot.status().armed
