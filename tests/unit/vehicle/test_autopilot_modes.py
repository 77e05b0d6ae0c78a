"""Every mode, driven in a small world."""

import math

import pytest
from rover_world import World, e7_of, waypoints

from pico_gz.core.ground_control import MissionItem, MissionType, Mode, Result
from pico_gz.vehicle.autopilot.mission import MissionState

PRESETS = ["pico_trail_freenove", "pico_trail_ackermann"]


def stick(world, seconds, throttle=0.0, steering=0.0, **channels):
    """Hold sticks for a while."""
    for _ in range(round(seconds * 10)):
        pulses = [1500] * 16
        pulses[0] = round(1500 + 500 * steering)
        pulses[2] = round(1500 + 500 * throttle)
        for name, value in channels.items():
            pulses[int(name[2:]) - 1] = value
        world.platform.inject_rc(pulses, world.time_us)
        world.run(0.1)


def mode_of(world):
    return world.autopilot.status().mode


def test_boots_through_initialising_into_the_initial_mode():
    world = World(params={"INITIAL_MODE": 4.0})
    assert mode_of(world) == "INITIALISING"
    assert world.autopilot.arm(force=True) is Result.FAILED
    world.run(1.0)
    assert mode_of(world) == "HOLD"


def test_an_initial_mode_without_position_falls_back_to_hold():
    world = World(params={"INITIAL_MODE": 10.0})
    world.gps_on = False
    world.run(1.0)
    assert mode_of(world) == "HOLD"


@pytest.mark.parametrize("preset", PRESETS)
def test_manual(preset):
    world = World(preset).ready()
    stick(world, 3.0, throttle=0.5)
    assert world.speed == pytest.approx(0.47, abs=0.05)
    stick(world, 3.0, throttle=0.5, steering=0.3)
    assert world.rate > 0.1
    stick(world, 2.0)
    assert world.speed == pytest.approx(0.0, abs=0.02)


@pytest.mark.parametrize("preset", PRESETS)
def test_acro_holds_speed_and_turn_rate(preset):
    world = World(preset, params={"ACRO_TURN_RATE": 60.0}).ready()
    world.autopilot.set_mode(Mode.ACRO)
    stick(world, 6.0, throttle=0.5, steering=0.5)
    # Full stick is 1 m/s and 60 deg/s; the dead zone takes a little.
    assert world.speed == pytest.approx(0.47, abs=0.06)
    assert math.degrees(world.rate) == pytest.approx(28.0, abs=5.0)


@pytest.mark.parametrize("preset", PRESETS)
def test_steering_holds_a_sideways_acceleration(preset):
    world = World(preset, params={"ATC_TURN_MAX_G": 0.1}).ready()
    world.autopilot.set_mode(Mode.STEERING)
    stick(world, 6.0, throttle=0.6, steering=0.5)
    assert world.speed * world.rate == pytest.approx(0.47 * 0.1 * 9.81, rel=0.2)
    stick(world, 3.0, throttle=-0.6, steering=0.5)
    assert world.speed < -0.2
    assert world.rate < 0.0


@pytest.mark.parametrize("preset", PRESETS)
def test_hold_brakes_and_stands(preset):
    world = World(preset).ready()
    stick(world, 3.0, throttle=0.8)
    world.autopilot.set_mode(Mode.HOLD)
    stick(world, 3.0, throttle=0.8)
    where = (world.north, world.east)
    stick(world, 5.0, throttle=0.8)
    assert (world.north, world.east) == pytest.approx(where, abs=0.02)


def test_guided_point():
    world = World().ready()
    assert world.autopilot.guided.to_global(*e7_of(5, 5)) is Result.TEMPORARILY_REJECTED
    assert world.autopilot.guided.to_global(*e7_of(5, 5), change_mode=True) is Result.ACCEPTED
    assert mode_of(world) == "GUIDED"
    assert world.run_until(lambda: "Target reached" in world.texts, 30.0)
    assert (world.north, world.east) == pytest.approx((5, 5), abs=0.5)
    assert world.autopilot.guided.to_local(0.0, 5.0) is Result.ACCEPTED
    world.run(20.0)
    assert (world.north, world.east) == pytest.approx((0, 5), abs=0.5)


def test_guided_speed():
    world = World().ready()
    world.autopilot.guided.to_global(*e7_of(20, 0), speed_mps=0.3, change_mode=True)
    world.run(5.0)
    assert world.speed == pytest.approx(0.3, abs=0.05)


def test_guided_velocity_stops_when_nobody_repeats_it():
    world = World().ready()
    world.autopilot.set_mode(Mode.GUIDED)
    for _ in range(8):
        assert world.autopilot.guided.velocity((0.0, 0.5)) is Result.ACCEPTED
        world.run(1.0)
    assert math.degrees(world.yaw) == pytest.approx(90.0, abs=5.0)
    assert world.speed == pytest.approx(0.5, abs=0.05)
    world.run(5.0)
    assert world.speed == pytest.approx(0.0, abs=0.02)
    assert any("Target not received" in text for text in world.texts)


@pytest.mark.parametrize("preset", PRESETS)
def test_guided_turn_rate_and_heading(preset):
    world = World(preset).ready()
    world.autopilot.set_mode(Mode.GUIDED)
    for _ in range(4):
        world.autopilot.guided.velocity(None, speed_mps=0.5, yaw_rate_radps=-0.4)
        world.run(1.0)
    assert world.speed == pytest.approx(0.5, abs=0.06)
    assert world.rate == pytest.approx(-0.4, abs=0.05)
    for _ in range(10):
        world.autopilot.guided.heading(math.radians(45.0), None, 0.5)
        world.run(1.0)
    assert math.degrees(math.atan2(math.sin(world.yaw), math.cos(world.yaw))) == pytest.approx(
        45.0, abs=5.0
    )
    assert world.speed == pytest.approx(0.47, abs=0.06)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1e308])
def test_guided_refuses_what_is_not_a_number(bad):
    world = World().ready()
    world.autopilot.set_mode(Mode.GUIDED)
    pilot = world.autopilot
    assert pilot.guided.to_local(bad, 0.0) is Result.DENIED
    assert pilot.guided.velocity((bad, 0.0)) is Result.DENIED
    assert pilot.guided.velocity(None, speed_mps=bad) is Result.DENIED
    assert pilot.guided.heading(bad, None, 0.1) is Result.DENIED
    assert pilot.guided.to_global(2_000_000_000, 0) is Result.DENIED
    world.run(0.5)


@pytest.mark.parametrize("preset", PRESETS)
def test_rtl(preset):
    world = World(preset).ready()
    world.autopilot.set_mode(Mode.GUIDED)
    world.autopilot.guided.to_global(*e7_of(6, 4))
    world.run(20.0)
    assert world.autopilot.set_mode(Mode.RTL) is Result.ACCEPTED
    assert world.run_until(lambda: "Reached destination" in world.texts, 40.0)
    world.run(2.0)
    assert math.hypot(world.north, world.east) < 0.5
    assert world.speed == pytest.approx(0.0, abs=0.02)


def test_rtl_prefers_a_near_rally_point():
    world = World().ready()
    lat_e7, lon_e7 = e7_of(20, 0)
    rally = [MissionItem(seq=0, command=5100, lat_e7=lat_e7, lon_e7=lon_e7)]
    assert world.autopilot.missions.replace(MissionType.RALLY, rally) == 0
    world.autopilot.set_mode(Mode.GUIDED)
    world.autopilot.guided.to_global(*e7_of(15, 0))
    world.run(27.0)
    world.autopilot.set_mode(Mode.RTL)
    world.run(15.0)
    assert (world.north, world.east) == pytest.approx((20, 0), abs=0.5)


def test_smart_rtl_goes_back_the_way_it_came():
    world = World().ready()
    world.autopilot.set_mode(Mode.GUIDED)
    for point in ((8, 0), (8, 8)):
        world.autopilot.guided.to_global(*e7_of(*point))
        world.run(17.0)
    assert world.autopilot.set_mode(Mode.SMART_RTL) is Result.ACCEPTED
    away = []
    for _ in range(600):
        world.run(0.1)
        away.append(min(abs(world.north - 8.0), abs(world.east)))
        if "Reached destination" in world.texts:
            break
    assert "Reached destination" in world.texts
    # Never far from the two legs, whereas the straight way home is 4 m from both.
    assert max(away) < 1.5
    assert math.hypot(world.north, world.east) < 1.0


def test_smart_rtl_without_a_path_is_refused():
    world = World(params={"SRTL_POINTS": 0.0}).ready()
    assert world.autopilot.set_mode(Mode.SMART_RTL) is Result.FAILED
    assert any("no recorded path" in text for text in world.texts + world_texts(world))


def world_texts(world):
    return [text.text for text in world.autopilot.drain_texts()]


@pytest.mark.parametrize("preset", PRESETS)
def test_loiter_stops_and_returns_when_pushed(preset):
    world = World(preset, params={"FS_THR_ENABLE": 0.0}).ready()
    stick(world, 3.0, throttle=0.8)
    world.autopilot.set_mode(Mode.LOITER)
    world.run(3.0)
    where = (world.north, world.east)
    world.run(20.0)
    assert (world.north, world.east) == pytest.approx(where, abs=0.05)
    world.north -= 3.0
    assert world.run_until(
        lambda: math.hypot(world.north - where[0], world.east - where[1]) < 1.0, 60.0
    )


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("direction", [0, 1])
def test_circle(preset, direction):
    world = World(preset, params={"CIRC_RADIUS": 4.0, "CIRC_DIR": float(direction)}).ready()
    assert world.autopilot.set_mode(Mode.CIRCLE) is Result.ACCEPTED
    world.run(10.0)
    radii, turned = [], world.yaw
    for _ in range(400):
        world.run(0.1)
        radii.append(math.hypot(world.north - 4.0, world.east))
    assert min(radii) > 3.8
    assert max(radii) < 4.2
    assert (world.yaw - turned) * (1 if direction == 0 else -1) > 2 * math.pi


# --- AUTO -------------------------------------------------------------------------------------


def mission_item(seq, command, place=None, **changes):
    lat_e7, lon_e7 = e7_of(*place) if place else (0, 0)
    return MissionItem(seq=seq, command=command, lat_e7=lat_e7, lon_e7=lon_e7, **changes)


def run_items(world, *entries, timeout_s=120.0):
    """Drive a mission of (command, place, changes); true when it gets done."""
    items = waypoints()
    for command, place, changes in entries:
        items.append(mission_item(len(items), command, place, **changes))
    return world.drive_mission(items, timeout_s)


def test_auto_needs_a_mission():
    world = World().ready()
    assert world.autopilot.set_mode(Mode.AUTO) is Result.FAILED
    assert any("there is no mission" in text for text in world_texts(world))


@pytest.mark.parametrize("preset", PRESETS)
def test_auto_drives_waypoints_and_stops(preset):
    world = World(preset)
    assert world.drive_mission(waypoints((6, 0), (6, 6)), 60.0)
    world.run(3.0)
    assert (world.north, world.east) == pytest.approx((6, 6), abs=0.5)
    assert world.speed == pytest.approx(0.0, abs=0.02)
    assert mode_of(world) == "AUTO"
    assert "Mission Complete" in world.texts
    assert world.autopilot.drain_reached() == [1, 2]


def test_waypoint_delay_waits():
    world = World()
    assert world.drive_mission(waypoints((3, 0), param1=5.0), 60.0)
    with_delay = world.time_us
    other = World()
    assert other.drive_mission(waypoints((3, 0)), 60.0)
    assert with_delay - other.time_us == pytest.approx(5e6, abs=1e5)


def test_loiter_time_and_unlimited():
    world = World()
    assert run_items(world, (19, (4, 0), {"param1": 3.0}), (16, (4, 3), {}))
    assert (world.north, world.east) == pytest.approx((4, 3), abs=0.6)
    endless = World()
    assert not run_items(endless, (17, (4, 0), {}), (16, (4, 3), {}), timeout_s=40.0)
    assert (endless.north, endless.east) == pytest.approx((4, 0), abs=0.6)
    assert endless.autopilot.status().waypoint == 1


@pytest.mark.parametrize("preset", PRESETS)
def test_loiter_turns(preset):
    world = World(preset)
    assert run_items(world, (18, (0, 0), {"param1": 2.0, "param3": 3.0}), timeout_s=120.0)
    assert world.yaw > 2 * math.pi * 1.6
    counter = World(preset)
    assert run_items(counter, (18, (0, 0), {"param1": 1.0, "param3": -3.0}), timeout_s=120.0)
    assert counter.yaw < -math.pi


def test_return_to_launch_item():
    world = World()
    assert run_items(world, (16, (5, 0), {}), (20, None, {}))
    assert math.hypot(world.north, world.east) < 0.5


def test_jump_repeats():
    world = World()
    items = waypoints((2, 0), (2, 2))
    items.append(MissionItem(seq=3, command=177, param1=1.0, param2=1.0))
    assert world.drive_mission(items, 90.0)
    assert world.autopilot.drain_reached() == [1, 2, 1, 2]


def test_change_speed_on_the_way():
    world = World()
    items = waypoints((6, 0))
    items.insert(1, MissionItem(seq=1, command=178, param1=1.0, param2=0.3))
    items[2] = mission_item(2, 16, (6, 0))
    world.ready()
    world.autopilot.missions.replace(MissionType.MISSION, items)
    world.autopilot.set_mode(Mode.AUTO)
    world.run(6.0)
    assert world.speed == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize("preset", PRESETS)
def test_reverse_drives_backwards(preset):
    world = World(preset, yaw_deg=180.0)
    items = waypoints((8, 0))
    items.insert(1, MissionItem(seq=1, command=194, param1=1.0))
    items[2] = mission_item(2, 16, (8, 0))
    assert world.drive_mission(items, 60.0)
    assert (world.north, world.east) == pytest.approx((8, 0), abs=0.5)
    assert abs(math.cos(world.yaw) + 1.0) < 0.05


def test_set_home_here_in_a_mission():
    world = World()
    assert run_items(world, (16, (3, 0), {}), (179, None, {"param1": 1.0}), (16, (5, 0), {}))
    world.autopilot.set_mode(Mode.RTL)
    world.run(10.0)
    assert (world.north, world.east) == pytest.approx((3, 0), abs=0.6)


def test_leaving_and_resuming():
    world = World().ready()
    world.autopilot.missions.replace(MissionType.MISSION, waypoints((4, 0), (4, 4), (0, 4)))
    world.autopilot.set_mode(Mode.AUTO)
    assert world.run_until(lambda: world.autopilot.status().waypoint == 2, 30.0)
    world.autopilot.set_mode(Mode.HOLD)
    assert world.autopilot.telemetry().mission_state == MissionState.PAUSED
    world.run(2.0)
    world.autopilot.set_mode(Mode.AUTO)
    assert world.autopilot.status().waypoint == 2
    world.autopilot.set_mode(Mode.HOLD)
    world.autopilot.params.set("MIS_RESTART", 1)
    world.autopilot.set_mode(Mode.AUTO)
    assert world.autopilot.status().waypoint == 1


def test_set_current_and_pause():
    world = World().ready()
    world.autopilot.missions.replace(MissionType.MISSION, waypoints((4, 0), (4, 4), (0, 4)))
    assert world.autopilot.missions.set_current(9) is Result.DENIED
    assert world.autopilot.start_mission(2) is Result.ACCEPTED
    assert world.autopilot.status().waypoint == 2
    world.run(3.0)
    assert world.autopilot.set_paused(True) is Result.ACCEPTED
    world.run(2.0)
    where = (world.north, world.east)
    world.run(3.0)
    assert (world.north, world.east) == pytest.approx(where, abs=0.02)
    world.autopilot.set_paused(False)
    assert world.autopilot.missions.set_current(3) is Result.ACCEPTED
    assert world.run_until(lambda: world.autopilot.status().done, 40.0)
    assert (world.north, world.east) == pytest.approx((0, 4), abs=0.5)


@pytest.mark.parametrize(
    ("behaviour", "mode"), [(0, "AUTO"), (1, "AUTO"), (2, "ACRO"), (3, "MANUAL")]
)
def test_done_behaviour(behaviour, mode):
    world = World(params={"MIS_DONE_BEHAVE": float(behaviour)})
    assert world.drive_mission(waypoints((3, 0)), 40.0)
    world.run(2.0)
    assert mode_of(world) == mode
    where = (world.north, world.east)
    world.run(5.0)
    assert (world.north, world.east) == pytest.approx(where, abs=0.1)


@pytest.mark.parametrize(("behaviour", "mode"), [(0, "AUTO"), (2, "ACRO"), (3, "MANUAL")])
def test_a_mission_without_a_place_is_done_at_once(behaviour, mode):
    world = World(params={"MIS_DONE_BEHAVE": float(behaviour)}).ready()
    home = waypoints()
    speed = MissionItem(seq=1, command=178, param2=0.4)
    assert world.autopilot.missions.replace(MissionType.MISSION, [*home, speed]) == 0
    assert world.autopilot.set_mode(Mode.AUTO) is Result.ACCEPTED
    world.run(1.0)
    assert world.texts.count("Mission Complete") == 1
    assert mode_of(world) == mode
    assert world.autopilot.status().done


@pytest.mark.parametrize("restart", [0.0, 1.0])
def test_an_item_to_start_at_is_where_it_starts(restart):
    world = World(params={"MIS_RESTART": restart}).ready()
    world.autopilot.missions.replace(MissionType.MISSION, waypoints((4, 0), (4, 4), (0, 4)))
    assert world.autopilot.start_mission(2) is Result.ACCEPTED
    assert world.autopilot.status().waypoint == 2
    world.run(1.0)
    world.autopilot.set_mode(Mode.HOLD)
    world.autopilot.set_mode(Mode.AUTO)
    assert world.autopilot.status().waypoint == (1 if restart else 2)


def test_a_finished_mission_can_be_started_again():
    world = World()
    assert world.drive_mission(waypoints((2, 0)), 40.0)
    assert world.autopilot.start_mission() is Result.ACCEPTED
    assert not world.autopilot.status().done
    assert world.run_until(lambda: world.autopilot.status().done, 20.0)


def test_a_new_mission_while_driving_stops():
    world = World().ready()
    world.autopilot.missions.replace(MissionType.MISSION, waypoints((20, 0)))
    world.autopilot.set_mode(Mode.AUTO)
    world.run(3.0)
    world.autopilot.missions.replace(MissionType.MISSION, waypoints((0, 5)))
    assert mode_of(world) == "HOLD"


@pytest.mark.parametrize("mode", [2, 6, 16, 99, -1])
def test_unknown_modes_are_denied(mode):
    world = World()
    world.run(1.0)
    assert world.autopilot.set_mode(mode) is Result.DENIED


def test_modes_with_position_are_refused_without_one():
    world = World()
    world.gps_on = False
    world.run(2.0)
    for mode in (Mode.AUTO, Mode.GUIDED, Mode.RTL, Mode.LOITER, Mode.CIRCLE, Mode.SMART_RTL):
        assert world.autopilot.set_mode(mode) is Result.FAILED
    assert any("requires position" in text for text in world_texts(world))
