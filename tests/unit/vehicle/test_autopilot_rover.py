"""The autopilot as a whole: separation, determinism, snapshots, telemetry, ground commands."""

import gc
import json
import math
import subprocess
import sys
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType

import msgspec
import pytest
from rover_world import World, e7_of, waypoints

import pico_gz
from pico_gz.adapters.contract import SimulatorAdapter
from pico_gz.bridge.bridge import SitlBridge
from pico_gz.core.autopilot import Autopilot
from pico_gz.core.ground_control import (
    GcsGuided,
    GcsMissions,
    GcsParams,
    GcsVehicle,
    MissionItem,
    MissionType,
    Mode,
    Result,
)
from pico_gz.core.messages import VehicleTruth
from pico_gz.core.vehicle_config import PICO_TRAIL_CHANNELS, ChannelMap, DriveKind
from pico_gz.errors import ConfigError
from pico_gz.simulator.kinematics import Motion
from pico_gz.vehicle.autopilot.rover_autopilot import RoverAutopilot
from pico_gz.vehicle.platform.platform import SitlPlatform


def reachable(root):
    """Every object that can be reached from ``root`` without going through code."""
    code = (ModuleType, type, FunctionType, BuiltinFunctionType)
    seen, waiting = {id(root): root}, [root]
    while waiting:
        for thing in gc.get_referents(waiting.pop()):
            if id(thing) not in seen and not isinstance(thing, code):
                seen[id(thing)] = thing
                waiting.append(thing)
    return list(seen.values())


def driving(**kwargs):
    world = World(**kwargs).ready()
    world.autopilot.missions.replace(MissionType.MISSION, waypoints((8, 0), (8, 8), (0, 8)))
    world.autopilot.set_mode(Mode.AUTO)
    return world


# --- separation -------------------------------------------------------------------------------


def test_the_object_graph_holds_its_own_platform_and_nothing_of_the_world():
    first, second = driving(), driving()
    first.run(1.0)
    things = reachable(first.autopilot)
    platforms = [thing for thing in things if isinstance(thing, SitlPlatform)]
    assert platforms == [first.platform]
    assert [thing for thing in things if isinstance(thing, RoverAutopilot)] == [first.autopilot]
    foreign = (SimulatorAdapter, SitlBridge, VehicleTruth, Motion, World)
    assert [type(thing) for thing in things if isinstance(thing, foreign)] == []
    assert second.platform not in platforms


def test_importing_it_loads_nothing_of_the_world():
    code = (
        "import sys; import pico_gz.vehicle.autopilot.rover_autopilot\n"
        "bad = ('adapters', 'bridge', 'mavlink', 'simulator.', 'fdm', 'session')\n"
        "print([m for m in sys.modules if m.startswith(tuple('pico_gz.' + b for b in bad))])"
    )
    root = Path(pico_gz.__file__).parents[1]
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root
    )
    assert result.stdout.strip() == "[]"


def test_it_is_what_others_expect():
    pilot = RoverAutopilot()
    assert isinstance(pilot, Autopilot)
    parts = (
        (GcsVehicle, pilot),
        (GcsParams, pilot.params),
        (GcsMissions, pilot.missions),
        (GcsGuided, pilot.guided),
    )
    for contract, part in parts:
        names = [name for name in vars(contract) if not name.startswith("_")]
        assert len(names) <= 24
        # Each is its own, not the empty one of the contract.
        assert [n for n in names if getattr(type(part), n) is getattr(contract, n)] == []


def test_a_tick_before_the_start_is_an_error():
    with pytest.raises(ConfigError, match="not started"):
        RoverAutopilot().tick(0)


# --- determinism and snapshots ----------------------------------------------------------------


def trace(world, seconds):
    outputs = []
    for _ in range(round(seconds * 50)):
        world.run(0.02)
        outputs.append(world.platform.servo_outputs_us())
    return outputs


def test_equal_inputs_give_equal_outputs():
    assert trace(driving(noise=1.0, seed=5), 20.0) == trace(driving(noise=1.0, seed=5), 20.0)


@pytest.mark.parametrize("preset", ["pico_trail_freenove", "pico_trail_ackermann"])
@pytest.mark.parametrize("at_s", [0.5, 7.3, 21.0])
def test_a_snapshot_continues_bit_for_bit(preset, at_s):
    first = driving(preset=preset, noise=1.0, seed=6)
    first.autopilot.params.set("WP_SPEED", 0.6)
    first.run(at_s)
    saved = msgspec.msgpack.encode([first.autopilot.save_state(), first.platform.save_state()])
    pilot_state, platform_state = msgspec.msgpack.decode(saved)
    drive = first.platform.drive
    platform = SitlPlatform(1, drive=drive)
    pilot = RoverAutopilot(drive=drive)
    pilot.start(platform)
    pilot.load_state(pilot_state)
    platform.load_state(platform_state)
    for _ in range(1500):
        first.step()
        # The second one gets the same records as the first one did.
    # Run the same world again with the restored autopilot in its place.
    again = driving(preset=preset, noise=1.0, seed=6)
    again.autopilot.params.set("WP_SPEED", 0.6)
    again.run(at_s)
    again.autopilot, again.platform = pilot, platform
    for _ in range(1500):
        again.step()
    assert (again.north, again.east, again.yaw) == (first.north, first.east, first.yaw)
    assert pilot.save_state() == first.autopilot.save_state()


@pytest.mark.parametrize("mode", list(Mode))
def test_every_mode_can_be_saved(mode):
    world = driving()
    world.run(6.0)
    if mode is not Mode.INITIALISING:
        world.autopilot.set_mode(mode)
    world.run(2.0)
    saved = msgspec.msgpack.decode(msgspec.msgpack.encode(world.autopilot.save_state()))
    other = RoverAutopilot()
    other.start(SitlPlatform(1))
    other.load_state(saved)
    assert other.status() == world.autopilot.status()
    assert other.save_state() == world.autopilot.save_state()


def test_fence_and_lists_survive_a_snapshot():
    world = World().ready()
    lat_e7, lon_e7 = e7_of(0, 0)
    fence = [MissionItem(seq=0, command=5003, param1=5.0, lat_e7=lat_e7, lon_e7=lon_e7)]
    world.autopilot.missions.replace(MissionType.FENCE, fence)
    other = RoverAutopilot()
    other.start(SitlPlatform(1))
    other.load_state(json.loads(json.dumps(world.autopilot.save_state())))
    assert other.missions.items(MissionType.FENCE) == world.autopilot.missions.items(
        MissionType.FENCE
    )
    assert other._rover.fence.excess_m((7.0, 0.0), (0.0, 0.0), 4, 300.0) == pytest.approx(2.0, 0.01)


def test_a_gps_that_falls_silent_is_told_as_no_gps():
    world = World()
    world.ready()
    told = world.autopilot.telemetry()
    assert (told.gps_fix, told.gps_satellites > 0) == (3, True)
    world.gps_on = False
    world.run(1.5)
    told = world.autopilot.telemetry()
    assert (told.gps_fix, told.gps_satellites, told.gps_hdop) == (0, 0, 99.99)
    world.gps_on = True
    world.run(0.5)
    assert world.autopilot.telemetry().gps_fix == 3


def test_local_positions_count_from_the_origin_also_when_home_moves():
    world = World()
    world.ready()
    before = world.autopilot.telemetry()
    assert world.autopilot.set_home(*e7_of(50.0, -20.0), 40.0) is Result.ACCEPTED
    told = world.autopilot.telemetry()
    assert (told.north_m, told.east_m) == (before.north_m, before.east_m)
    assert (told.origin_lat_e7, told.origin_lon_e7) == (before.home_lat_e7, before.home_lon_e7)
    # So "5 m north of where I am" is 5 m away, whatever home is.
    assert world.autopilot.set_mode(Mode.GUIDED) is Result.ACCEPTED
    assert world.autopilot.guided.to_local(told.north_m + 5.0, told.east_m) is Result.ACCEPTED
    world.run(0.1)
    assert world.autopilot.telemetry().waypoint_distance_m == pytest.approx(5.0, abs=0.2)


# --- channels ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("channels", "expected"),
    [
        (ChannelMap(), (1, 3)),
        (PICO_TRAIL_CHANNELS, (1, 2)),
        (ChannelMap(left=5, right=16), (5, 16)),
    ],
)
def test_outputs_follow_the_wiring(channels, expected):
    platform = SitlPlatform(7, channels=channels)
    pilot = RoverAutopilot()
    pilot.start(platform)
    used = [n for n, pulse in enumerate(platform.servo_outputs_us(), start=1) if pulse]
    assert tuple(used) == expected
    assert pilot.params.by_name("SYSID_THISMAV").value == 7
    assert pilot.params.by_name(f"SERVO{expected[0]}_FUNCTION").value == 73


def test_servo_functions_overrule_the_wiring():
    platform = SitlPlatform(1)
    RoverAutopilot({"SERVO2_FUNCTION": 73, "SERVO4_FUNCTION": 74}).start(platform)
    used = [n for n, pulse in enumerate(platform.servo_outputs_us(), start=1) if pulse]
    assert used == [2, 4]


def test_servo_limits_trim_and_direction():
    world = World(params={"SERVO1_REVERSED": 1.0, "SERVO3_TRIM": 1520.0, "SERVO3_MAX": 1900.0})
    world.ready()
    for _ in range(20):
        world.platform.inject_rc([1500, 1500, 2000], world.time_us)
        world.run(0.1)
    outputs = world.platform.servo_outputs_us()
    assert (outputs[0], outputs[2]) == (1000, 1900)
    world.autopilot.disarm()
    outputs = world.platform.servo_outputs_us()
    assert (outputs[0], outputs[2]) == (1500, 1520)


def test_ackermann_uses_throttle_and_steering():
    platform = SitlPlatform(1, drive=DriveKind.ACKERMANN)
    pilot = RoverAutopilot(drive=DriveKind.ACKERMANN)
    pilot.start(platform)
    assert pilot.params.by_name("SERVO1_FUNCTION").value == 26
    assert pilot.params.by_name("SERVO3_FUNCTION").value == 70


# --- telemetry --------------------------------------------------------------------------------


def test_telemetry_before_anything():
    telemetry = RoverAutopilot().telemetry()
    assert telemetry.mode is Mode.INITIALISING
    assert not telemetry.position_valid
    assert telemetry.gps_fix == 0
    assert telemetry.mission_state == 1
    assert telemetry.ekf_flags == 1024


def test_telemetry_while_driving():
    world = driving(noise=0.3)
    world.run(6.0)
    telemetry = world.autopilot.telemetry()
    assert telemetry.time_us == world.time_us
    assert telemetry.armed
    assert telemetry.mode is Mode.AUTO
    assert telemetry.position_valid
    assert (telemetry.north_m, telemetry.east_m) == pytest.approx(
        (world.north, world.east), abs=0.5
    )
    lat_e7, lon_e7 = e7_of(world.north, world.east)
    assert telemetry.lat_e7 == pytest.approx(lat_e7, abs=60)
    assert telemetry.lon_e7 == pytest.approx(lon_e7, abs=60)
    assert telemetry.alt_m == pytest.approx(40.0, abs=2.0)
    assert telemetry.ground_speed_mps == pytest.approx(0.7, abs=0.1)
    assert telemetry.velocity_ned_mps[0] == pytest.approx(0.7, abs=0.1)
    assert telemetry.yaw_rad == pytest.approx(world.yaw, abs=0.1)
    assert telemetry.gps_fix == 3
    assert telemetry.battery_v == pytest.approx(7.6, abs=0.01)
    assert telemetry.mission_current == 1
    assert telemetry.mission_count == 3
    assert telemetry.mission_state == 3
    assert telemetry.target_valid
    assert telemetry.target_lat_e7 == pytest.approx(e7_of(8, 0)[0], abs=2)
    assert telemetry.waypoint_distance_m == pytest.approx(8.0 - world.north, abs=0.5)
    assert telemetry.home_valid
    assert telemetry.ekf_flags & 0x3FF == 0x33F & ~64
    assert max(telemetry.ekf_variances) < 0.5
    assert telemetry.sensors_healthy & telemetry.sensors_enabled == telemetry.sensors_enabled
    assert telemetry.sensors_healthy & 0x100000  # no fence is no breach
    assert len(telemetry.servo_us) == 16
    msgspec.msgpack.encode(telemetry)


def test_a_lost_gps_shows_in_the_health_bits():
    world = driving()
    world.run(2.0)
    world.gps_on = False
    world.run(2.0)
    telemetry = world.autopilot.telemetry()
    assert telemetry.sensors_present & 0x20
    assert not telemetry.sensors_healthy & 0x20
    assert telemetry.position_valid
    world.run(13.0)
    telemetry = world.autopilot.telemetry()
    assert not telemetry.position_valid
    assert telemetry.ekf_flags & 128


# --- ground commands --------------------------------------------------------------------------


def test_set_param_answers_what_holds():
    pilot = RoverAutopilot()
    assert pilot.params.set("WP_SPEED", 1.5).value == 1.5
    assert pilot.params.set("WP_SPEED", math.nan).value == 1.5
    assert pilot.params.set("WP_SPEED", 1e9).value == 1.5
    assert pilot.params.set("NO_SUCH", 1.0) is None
    assert pilot.params.set("SIM_GPS_DISABLE", 1.0).value == 1.0
    assert [info.name for info in pilot.params.drain_changes()] == ["WP_SPEED", "SIM_GPS_DISABLE"]


def test_home():
    world = World()
    assert world.autopilot.set_home_here() is Result.FAILED
    assert world.autopilot.set_home(1, 1, 0.0) is Result.TEMPORARILY_REJECTED
    world.run(3.0)
    assert world.autopilot.telemetry().home_lat_e7 == pytest.approx(e7_of(0, 0)[0], abs=1)
    assert world.autopilot.set_home(0, 0, 0.0) is Result.DENIED
    assert world.autopilot.set_home(*e7_of(3, 4), math.nan) is Result.DENIED
    assert world.autopilot.set_home(*e7_of(3, 4), 40.0) is Result.ACCEPTED
    telemetry = world.autopilot.telemetry()
    assert (telemetry.home_lat_e7, telemetry.home_lon_e7) == e7_of(3.0, 4.0)
    assert world.autopilot.set_home_here() is Result.ACCEPTED
    assert world.autopilot.telemetry().home_lat_e7 == pytest.approx(e7_of(0, 0)[0], abs=2)


def test_mission_shows_home_and_counts():
    world = World()
    world.run(3.0)
    assert world.autopilot.missions.replace(MissionType.MISSION, waypoints((1, 1))) == 0
    assert world.autopilot.missions.items(MissionType.MISSION)[0].lat_e7 == pytest.approx(
        e7_of(0, 0)[0], abs=1
    )
    assert world.autopilot.params.by_name("MIS_TOTAL").value == 2
    assert world.autopilot.missions.clear(MissionType.MISSION) == 0
    assert world.autopilot.missions.items(MissionType.MISSION) == ()
    assert world.autopilot.params.by_name("MIS_TOTAL").value == 0


def test_manual_control_drives_in_manual():
    world = World().ready()
    for _ in range(20):
        world.autopilot.manual_control(0.0, 0.2, 0.6, 0.0, 0)
        world.run(0.1)
    assert world.speed == pytest.approx(0.57, abs=0.06)
    assert world.rate > 0.3
    world.autopilot.manual_control(math.nan, math.nan, math.inf, 0.0, 0)
    world.run(0.1)


def test_speed_and_reverse_and_pause_commands():
    world = driving()
    assert world.autopilot.change_speed(0.4) is Result.ACCEPTED
    assert world.autopilot.change_speed(-1.0) is Result.DENIED
    assert world.autopilot.change_speed(math.nan) is Result.DENIED
    world.run(5.0)
    assert world.speed == pytest.approx(0.4, abs=0.05)
    assert world.autopilot.set_reverse(True) is Result.ACCEPTED
    assert world.autopilot.set_paused(True) is Result.ACCEPTED
    world.autopilot.set_mode(Mode.HOLD)
    assert world.autopilot.set_paused(True) is Result.DENIED


def test_calibration_and_reboot():
    world = World().ready()
    assert world.autopilot.calibrate([1, 0, 0]) is Result.DENIED
    assert world.autopilot.reboot() is Result.DENIED
    world.autopilot.disarm()
    assert world.autopilot.calibrate([1, 0, 1]) is Result.ACCEPTED
    assert world.autopilot.calibrate([0, 1, 0]) is Result.UNSUPPORTED
    world.autopilot.params.set("WP_SPEED", 0.55)
    world.autopilot.missions.replace(MissionType.MISSION, waypoints((3, 0)))
    assert world.autopilot.reboot() is Result.ACCEPTED
    assert world.autopilot.status().mode == "INITIALISING"
    world.ready()
    assert world.autopilot.params.by_name("WP_SPEED").value == 0.55
    assert world.autopilot.start_mission() is Result.ACCEPTED
    assert world.run_until(lambda: world.autopilot.status().done, 30.0)


def test_parameters_set_just_before_a_reboot_are_echoed_and_reach_the_simulator():
    """A set parameter is a saved one, as in ArduPilot: what is still to be sent is sent."""
    world = World()
    params = world.autopilot.params
    params.drain_changes()
    params.drain_sim_changes()
    params.set("WP_SPEED", 0.55)
    params.set("SIM_GPS_DISABLE", 1.0)
    assert world.autopilot.reboot() is Result.ACCEPTED
    echoed = {info.name: info.value for info in params.drain_changes()}
    assert echoed == {"WP_SPEED": 0.55, "SIM_GPS_DISABLE": 1.0}
    assert params.drain_sim_changes() == {"SIM_GPS_DISABLE": 1.0}


def test_status_tells_the_newest_message():
    world = driving()
    world.run(1.0)
    status = world.autopilot.status()
    assert status.mode == "AUTO"
    assert status.armed
    assert status.waypoint == 1
    assert status.last_message
    assert not status.done
