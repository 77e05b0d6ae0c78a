"""Where a ground station expects ArduRover's behaviour and would notice another."""

import pytest
from rover_world import World, e7_of

from pico_gz.core.ground_control import MissionItem, MissionType, Mode, Result


def home_of(world):
    now = world.autopilot.telemetry()
    return now.home_lat_e7, now.home_lon_e7


def push(world, north_m):
    """Push a disarmed rover north, slowly."""
    for _ in range(100):
        world.north += 0.01 * north_m
        world.run(0.05)
    world.run(5.0)


def test_home_follows_a_disarmed_rover():
    world = World()
    world.run(3.0)
    before = home_of(world)
    push(world, 3.0)
    assert home_of(world)[0] - before[0] == pytest.approx(3.0 / 0.0111, abs=80)


def test_home_stays_where_a_ground_station_put_it():
    world = World()
    world.run(3.0)
    lat_e7, lon_e7 = e7_of(5.0, 5.0)
    assert world.autopilot.set_home(lat_e7, lon_e7, 40.0) is Result.ACCEPTED
    push(world, 3.0)
    assert home_of(world) == (lat_e7, lon_e7)


def test_home_stays_while_armed():
    world = World().ready()
    before = home_of(world)
    assert world.autopilot.set_mode(Mode.GUIDED) is Result.ACCEPTED
    world.autopilot.guided.to_local(4.0, 0.0)
    world.run(15.0)
    assert home_of(world) == before


@pytest.mark.parametrize("mode", [Mode.RTL, Mode.SMART_RTL])
def test_it_does_not_arm_on_the_way_home(mode):
    world = World().ready()
    world.autopilot.set_mode(Mode.GUIDED)
    world.autopilot.guided.to_local(8.0, 0.0)
    world.run(6.0)
    assert world.autopilot.set_mode(mode) is Result.ACCEPTED
    world.autopilot.disarm()
    assert world.autopilot.arm() is Result.FAILED
    world.hear()
    assert f"Arm: {mode.name} mode not armable" in world.texts


def test_system_status():
    world = World(params={"FS_GCS_ENABLE": 1.0}).ready()
    now = world.autopilot.telemetry()
    assert (now.active, now.critical) == (True, False)
    world.autopilot.set_mode(Mode.HOLD)
    assert not world.autopilot.telemetry().active
    world.autopilot.set_mode(Mode.MANUAL)
    world.autopilot.gcs_heartbeat(255)
    world.run(8.0)
    assert "GCS failsafe" in world.texts
    assert world.autopilot.telemetry().critical
    world.autopilot.gcs_heartbeat(255)
    world.run(0.3)
    assert not world.autopilot.telemetry().critical


@pytest.mark.parametrize(("number", "name"), [(6, "FOLLOW"), (7, "SIMPLE"), (8, "DOCK")])
def test_modes_that_only_ardurover_has_are_refused_by_name(number, name):
    world = World().ready()
    assert world.autopilot.set_mode(number) is Result.DENIED
    world.hear()
    assert f"{name} is not built in" in world.texts


def test_the_number_of_rally_points_is_a_parameter():
    autopilot = World().ready().autopilot
    lat_e7, lon_e7 = e7_of(5.0, 5.0)
    items = [MissionItem(seq=n, command=5100, lat_e7=lat_e7, lon_e7=lon_e7) for n in range(2)]
    autopilot.missions.replace(MissionType.RALLY, items)
    assert autopilot.params.by_name("RALLY_TOTAL").value == 2
    autopilot.missions.clear(MissionType.RALLY)
    assert autopilot.params.by_name("RALLY_TOTAL").value == 0


def test_a_small_circle_fence_with_all_types_works():
    world = World().ready()
    for name, value in (("FENCE_TYPE", 7), ("FENCE_RADIUS", 5), ("FENCE_ENABLE", 1)):
        assert world.autopilot.params.set(name, value).value == value
    world.autopilot.set_mode(Mode.GUIDED)
    world.autopilot.guided.to_local(12.0, 0.0)
    assert world.run_until(lambda: "Fence breached" in world.texts, 20.0)
    assert world.autopilot.telemetry().critical


def test_the_battery_is_watched_by_default():
    autopilot = World().autopilot
    assert autopilot.params.by_name("BATT_MONITOR").value == 4


def test_a_target_that_was_reached_stays_the_target():
    world = World().ready()
    world.autopilot.set_mode(Mode.GUIDED)
    assert not world.autopilot.telemetry().target_valid
    world.autopilot.guided.to_local(3.0, 0.0)
    assert world.run_until(lambda: "Target reached" in world.texts, 20.0)
    now = world.autopilot.telemetry()
    assert now.target_valid
    assert now.waypoint_distance_m == 0.0
    world.autopilot.set_mode(Mode.HOLD)
    assert not world.autopilot.telemetry().target_valid
