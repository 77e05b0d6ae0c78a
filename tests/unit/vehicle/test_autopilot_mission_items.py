"""Mission items beyond waypoints, and the commands that do the same at once."""

import math

import pytest
from rover_world import World, e7_of

from pico_gz.core.ground_control import MissionItem, MissionResult, MissionType, Mode, Result
from pico_gz.vehicle.autopilot.actions import RELAY_PINS
from pico_gz.vehicle.autopilot.mission import SKIPPED_COMMANDS

WAYPOINT, DELAY, DISTANCE, SET_SPEED = 16, 93, 114, 178


def item(command, *params, at=(0.0, 0.0)):
    lat_e7, lon_e7 = e7_of(*at) if command in (16, 92) else (0, 0)
    names = dict(zip(("param1", "param2", "param3", "param4"), params, strict=False))
    return MissionItem(seq=0, command=command, lat_e7=lat_e7, lon_e7=lon_e7, **names)


def start(*items, **kwargs):
    """A rover that begins a mission of these items."""
    world = World(**kwargs).ready()
    listed = [
        MissionItem(
            seq=n, command=i.command, lat_e7=i.lat_e7, lon_e7=i.lon_e7,
            param1=i.param1, param2=i.param2, param3=i.param3, param4=i.param4,
        )
        for n, i in enumerate((item(WAYPOINT), *items))
    ]  # fmt: skip
    missions = world.autopilot.missions
    assert missions.replace(MissionType.MISSION, listed) is MissionResult.ACCEPTED
    assert world.autopilot.set_mode(Mode.AUTO) is Result.ACCEPTED
    return world


def finish(world, timeout_s=60.0):
    assert world.run_until(lambda: "Mission Complete" in world.texts, timeout_s), world.texts


def test_a_delay_stops_for_its_time():
    world = start(item(DELAY, 3.0), item(WAYPOINT, at=(3.0, 0.0)))
    world.run(2.8)
    assert abs(world.north) < 0.1
    finish(world)
    assert world.north == pytest.approx(3.0, abs=0.4)


@pytest.mark.parametrize(("angle", "relative", "final"), [(90.0, 0.0, 90.0), (-45.0, 1.0, -45.0)])
def test_yaw_and_speed(angle, relative, final):
    world = start(item(213, angle, 0.3, relative))
    finish(world)
    assert math.degrees(world.yaw) == pytest.approx(final, abs=8.0)


def test_a_condition_on_distance_waits_for_the_way():
    world = start(
        item(WAYPOINT, at=(1.0, 0.0)), item(DISTANCE, 3.0), item(SET_SPEED, 0.0, 0.3),
        item(WAYPOINT, at=(9.0, 0.0)),
    )  # fmt: skip
    assert world.run_until(lambda: any("speed 0.30" in text for text in world.texts), 30.0)
    assert world.north == pytest.approx(6.0, abs=0.5)


def test_tags_are_jumped_to():
    world = start(
        item(600, 7.0), item(WAYPOINT, at=(2.0, 0.0)), item(WAYPOINT), item(601, 7.0, 1.0)
    )
    finish(world)
    assert world.texts.count("Reached waypoint #2") == 2


def test_a_jump_to_a_tag_that_is_missing_is_refused():
    missions = World().autopilot.missions
    jump = MissionItem(seq=1, command=601, param1=7.0, param2=1.0)
    answer = missions.replace(MissionType.MISSION, [item(WAYPOINT), jump])
    assert answer is MissionResult.INVALID_PARAM1


def test_servo_relay_fence_and_mode_switches():
    world = start(
        item(183, 5.0, 1900.0), item(181, 1.0, 1.0), item(207, 1.0), item(218, 56.0, 2.0),
        item(WAYPOINT, at=(2.0, 0.0)),
    )  # fmt: skip
    world.run(0.5)
    assert world.platform.servo_outputs_us()[4] == 1900
    assert world.platform.gpio_level(RELAY_PINS[1])
    assert world.autopilot.params.by_name("FENCE_ENABLE").value == 1
    assert world.autopilot.status().mode == "LOITER"


def test_a_motor_is_not_a_servo():
    world = World().ready()
    assert world.autopilot.do_command(183, (1.0, 1900.0, 0, 0, 0, 0, 0)) is Result.DENIED
    assert world.autopilot.do_command(183, (5.0, 100.0, 0, 0, 0, 0, 0)) is Result.DENIED
    assert world.autopilot.do_command(181, (9.0, 1.0, 0, 0, 0, 0, 0)) is Result.DENIED
    assert world.autopilot.do_command(218, (300.0, 2.0, 0, 0, 0, 0, 0)) is Result.UNSUPPORTED


def test_the_guided_part_of_a_mission_ends_at_its_limit():
    world = start(item(222, 4.0), item(92, 1.0, at=(50.0, 0.0)), item(WAYPOINT))
    world.run(2.0)
    assert world.north > 0.4
    assert world.autopilot.guided.to_local(0.0, 3.0) is Result.ACCEPTED
    assert world.run_until(lambda: "Reached waypoint #2" in world.texts, 5.0)
    assert world.autopilot.guided.to_local(0.0, 3.0) is Result.TEMPORARILY_REJECTED
    finish(world)


@pytest.mark.parametrize("command", sorted(SKIPPED_COMMANDS))
def test_what_a_rover_cannot_do_is_skipped_and_reported(command):
    world = start(item(command, math.nan), item(WAYPOINT, at=(0.5, 0.0)))
    finish(world, 10.0)
    assert f"Mission: 1 {SKIPPED_COMMANDS[command]} skipped" in world.texts


def test_the_motor_test_needs_a_disarmed_rover_and_ends():
    world = World()
    world.run(3.0)
    world.platform.hold_while_disarmed(lambda: world.autopilot.status().armed)
    left = (3.0, 0.0, 60.0, 1.0, 0.0, 0.0, 0.0)
    assert world.autopilot.do_command(209, left) is Result.ACCEPTED
    world.run(0.5)
    assert world.wheel[0] > 0.3
    assert world.wheel[1] == 0.0
    world.run(2.0)
    assert abs(world.wheel[0]) < 0.01
    assert world.autopilot.arm() is Result.ACCEPTED
    assert world.autopilot.do_command(209, left) is Result.DENIED


def test_arming_by_an_aux_function_is_checked():
    world = World()
    assert world.autopilot.do_command(218, (153.0, 2.0)) is Result.FAILED
    world.run(3.0)
    assert world.autopilot.do_command(218, (153.0, 2.0)) is Result.ACCEPTED
    assert world.autopilot.do_command(218, (31.0, 2.0)) is Result.ACCEPTED
    assert not world.autopilot.status().armed


def test_calibrations():
    world = World()
    world.run(1.0)
    assert world.autopilot.calibrate([0, 0, 0, 0, 1, 0, 0]) is Result.ACCEPTED
    world.hear()
    assert "Calibration successful" in world.texts
