"""Failsafes: when they act, what they do, and that they say so."""

import math

import pytest
from rover_world import World, e7_of, waypoints

from pico_gz.core.ground_control import MissionItem, MissionType, Mode, Result


def mode_of(world):
    return world.autopilot.status().mode


def radio(world, seconds, throttle_us=1500):
    """Send radio frames for a while."""
    for _ in range(round(seconds * 10)):
        pulses = [1500] * 16
        pulses[2] = throttle_us
        world.platform.inject_rc(pulses, world.time_us)
        world.run(0.1)


def driving(**params):
    """A rover on its way north in AUTO, some metres from home."""
    world = World(params=params).ready()
    world.autopilot.missions.replace(MissionType.MISSION, waypoints((60, 0)))
    assert world.autopilot.set_mode(Mode.AUTO) is Result.ACCEPTED
    world.run(8.0)
    return world


# --- radio ------------------------------------------------------------------------------------


def test_radio_loss_holds_after_the_timeout_and_says_so():
    world = World().ready()
    radio(world, 2.0, throttle_us=1700)
    lost_us = world.time_us
    assert world.run_until(lambda: mode_of(world) == "HOLD", 5.0)
    # Half a second until silence is noticed, then FS_TIMEOUT.
    assert world.time_us - lost_us == pytest.approx(2.0e6, abs=2e5)
    assert "Radio failsafe" in world.texts
    radio(world, 1.0)
    assert "Radio failsafe cleared" in world.texts
    assert mode_of(world) == "HOLD"


def test_low_throttle_counts_as_radio_loss():
    world = World().ready()
    radio(world, 1.0)
    radio(world, 3.0, throttle_us=905)
    assert mode_of(world) == "HOLD"


def test_never_a_radio_is_no_loss():
    world = driving()
    assert mode_of(world) == "AUTO"


def test_a_short_silence_is_forgiven():
    world = World().ready()
    radio(world, 1.0)
    world.run(1.5)
    radio(world, 1.0)
    assert mode_of(world) == "MANUAL"


@pytest.mark.parametrize(
    ("action", "mode"), [(0, "AUTO"), (1, "RTL"), (2, "HOLD"), (3, "SMART_RTL"), (4, "SMART_RTL")]
)
def test_actions_by_number(action, mode):
    world = driving(FS_ACTION=float(action))
    radio(world, 0.5)
    world.run(3.0)
    assert mode_of(world) == mode


def test_terminate_disarms():
    world = driving(FS_ACTION=5.0)
    radio(world, 0.5)
    world.run(3.0)
    assert not world.autopilot.status().armed
    assert world.platform.collect_actuator_commands().motors == (0.0, 0.0)


def test_continue_in_auto():
    world = driving(FS_THR_ENABLE=2.0)
    radio(world, 0.5)
    world.run(3.0)
    assert mode_of(world) == "AUTO"


def test_no_action_on_the_way_home():
    world = driving()
    radio(world, 0.5)
    world.autopilot.set_mode(Mode.RTL)
    world.run(3.0)
    assert mode_of(world) == "RTL"


def test_refused_modes_fall_back():
    world = driving(FS_ACTION=3.0, SRTL_POINTS=0.0)
    radio(world, 0.5)
    world.run(3.0)
    assert mode_of(world) == "RTL"


def test_the_action_is_taken_once():
    world = driving()
    radio(world, 0.5)
    world.run(3.0)
    assert mode_of(world) == "HOLD"
    world.autopilot.set_mode(Mode.AUTO)
    world.run(5.0)
    assert mode_of(world) == "AUTO"


def test_overrides_that_stop_are_lost_and_do_not_come_back_by_being_cleared():
    world = World().ready()
    world.autopilot.rc_override({3: 1700})
    world.run(10.0)
    assert mode_of(world) == "HOLD"
    assert "Radio failsafe" in world.texts
    assert "Radio failsafe cleared" not in world.texts
    world.autopilot.set_mode(Mode.MANUAL)
    for _ in range(2):
        # The next loss counts like the first.
        world.autopilot.rc_override({3: 1700})
        world.run(10.0)
    assert mode_of(world) == "HOLD"


def test_overrides_are_cleared_by_a_failsafe():
    world = driving(FS_GCS_ENABLE=1.0, RC_OVERRIDE_TIME=-1.0)
    world.autopilot.rc_override({3: 1900})
    world.autopilot.gcs_heartbeat(255)
    world.run(8.0)
    assert mode_of(world) == "HOLD"
    assert not any(world.autopilot._rover.rc.override_values)


# --- ground station ---------------------------------------------------------------------------


def test_gcs_loss():
    world = driving(FS_GCS_ENABLE=1.0)
    world.run(10.0)
    assert mode_of(world) == "AUTO"
    world.autopilot.gcs_heartbeat(7)
    world.run(10.0)
    assert mode_of(world) == "AUTO"
    for _ in range(5):
        world.autopilot.gcs_heartbeat(255)
        world.run(1.0)
    assert world.run_until(lambda: mode_of(world) == "HOLD", 10.0)
    assert "GCS failsafe" in world.texts


def test_gcs_loss_is_off_by_default():
    world = driving()
    world.autopilot.gcs_heartbeat(255)
    world.run(15.0)
    assert mode_of(world) == "AUTO"


def test_a_ground_station_lost_before_arming_counts():
    world = World(params={"FS_GCS_ENABLE": 1.0})
    world.run(3.0)
    world.autopilot.gcs_heartbeat(255)
    world.run(10.0)
    assert world.autopilot.arm() is Result.FAILED
    world.run(0.1)
    assert "Arm: GCS failsafe on" in world.texts
    world.texts.clear()
    assert world.autopilot.arm(force=True) is Result.ACCEPTED
    world.autopilot.missions.replace(MissionType.MISSION, waypoints((60, 0)))
    assert world.autopilot.set_mode(Mode.AUTO) is Result.ACCEPTED
    world.run(0.5)
    assert mode_of(world) == "HOLD"
    assert "GCS failsafe" in world.texts


# --- estimator --------------------------------------------------------------------------------


def test_gps_loss_for_good_ends_in_hold():
    world = driving()
    world.gps_on = False
    world.run(10.0)
    assert mode_of(world) == "AUTO"
    assert "GPS lost, dead reckoning" in world.texts
    assert world.run_until(lambda: mode_of(world) == "HOLD", 5.0)
    assert "EKF failsafe: position lost" in world.texts
    world.gps_on = True
    world.run(3.0)
    assert "GPS is back" in world.texts
    assert "EKF failsafe cleared" in world.texts
    assert world.autopilot.set_mode(Mode.AUTO) is Result.ACCEPTED


def test_report_only_stops_without_changing_the_mode():
    world = driving(FS_EKF_ACTION=2.0)
    world.gps_on = False
    world.run(16.0)
    assert mode_of(world) == "AUTO"
    assert "EKF failsafe: position lost" in world.texts
    assert world.speed == pytest.approx(0.0, abs=0.02)


def test_manual_driving_needs_no_position():
    world = World(params={"FS_THR_ENABLE": 0.0}).ready()
    world.gps_on = False
    world.run(16.0)
    assert mode_of(world) == "MANUAL"


@pytest.mark.parametrize("part", ["gyro_dead", "accel_dead"])
def test_a_dead_imu_ends_in_hold(part):
    world = World(noise=1.0).ready()
    world.autopilot.missions.replace(MissionType.MISSION, waypoints((6, 0), (6, 6), (0, 6)))
    assert world.autopilot.set_mode(Mode.AUTO) is Result.ACCEPTED
    world.run(3.0)
    setattr(world, part, True)
    # A gyro that says "straight on" is found out in the next turn.
    assert world.run_until(lambda: mode_of(world) == "HOLD", 15.0)
    assert "EKF failsafe: IMU failed" in world.texts
    world.run(3.0)
    assert world.speed == pytest.approx(0.0, abs=0.02)
    setattr(world, part, False)
    world.run(3.0)
    assert "EKF failsafe cleared" in world.texts


def test_nothing_is_wrong_with_an_imu_without_noise():
    world = World().ready()
    world.run(5.0)
    assert world.autopilot.prearm_checks() is Result.ACCEPTED
    world.autopilot.missions.replace(MissionType.MISSION, waypoints((6, 0), (6, 6)))
    assert world.autopilot.set_mode(Mode.AUTO) is Result.ACCEPTED
    assert world.run_until(lambda: world.autopilot.status().done, 60.0)
    assert not [text for text in world.texts if "failsafe" in text]


# --- battery ----------------------------------------------------------------------------------


def test_battery_low_and_critical():
    world = driving(
        BATT_LOW_VOLT=7.0, BATT_CRT_VOLT=6.5, BATT_FS_LOW_ACT=1.0, BATT_FS_CRT_ACT=2.0,
        BATT_LOW_TIMER=5.0,
    )  # fmt: skip
    world.voltage = 6.8
    world.run(4.0)
    assert mode_of(world) == "AUTO"
    world.run(2.0)
    assert mode_of(world) == "RTL"
    assert "Battery low failsafe" in world.texts
    world.voltage = 6.3
    world.run(6.0)
    assert mode_of(world) == "HOLD"
    assert "Battery critical failsafe" in world.texts
    world.voltage = 7.6
    world.autopilot.set_mode(Mode.AUTO)
    world.run(6.0)
    assert mode_of(world) == "AUTO"


@pytest.mark.parametrize(("critical", "mode"), [(2.0, "HOLD"), (0.0, "RTL")])
def test_low_does_not_undo_what_critical_did(critical, mode):
    world = driving(
        BATT_LOW_VOLT=7.0, BATT_CRT_VOLT=6.5, BATT_FS_LOW_ACT=1.0, BATT_FS_CRT_ACT=critical,
        BATT_LOW_TIMER=5.0,
    )  # fmt: skip
    world.voltage = 6.0
    world.run(8.0)
    assert mode_of(world) == mode
    assert "Battery critical failsafe" in world.texts


def test_a_battery_critical_before_arming_counts():
    world = World(params={"BATT_CRT_VOLT": 6.5, "BATT_FS_CRT_ACT": 2.0, "BATT_LOW_TIMER": 2.0})
    world.voltage = 6.0
    world.run(6.0)
    assert world.autopilot.arm() is Result.FAILED
    world.run(0.1)
    assert "Arm: battery critical" in world.texts
    assert world.autopilot.arm(force=True) is Result.ACCEPTED
    world.autopilot.missions.replace(MissionType.MISSION, waypoints((60, 0)))
    assert world.autopilot.set_mode(Mode.AUTO) is Result.ACCEPTED
    world.run(0.5)
    assert mode_of(world) == "HOLD"


def test_a_short_dip_is_forgiven():
    world = driving(BATT_LOW_VOLT=7.0, BATT_FS_LOW_ACT=2.0)
    world.voltage = 6.0
    world.run(5.0)
    world.voltage = 7.6
    world.run(8.0)
    assert mode_of(world) == "AUTO"


def test_without_a_monitor_nobody_knows():
    world = driving(BATT_MONITOR=0.0, BATT_LOW_VOLT=7.0, BATT_FS_LOW_ACT=2.0)
    world.voltage = 5.0
    world.run(15.0)
    assert mode_of(world) == "AUTO"
    assert world.autopilot.telemetry().battery_remaining_percent == -1


# --- fence ------------------------------------------------------------------------------------


def circle_fence(world, radius, command=5003, place=(0, 0)):
    lat_e7, lon_e7 = e7_of(*place)
    item = MissionItem(seq=0, command=command, param1=radius, lat_e7=lat_e7, lon_e7=lon_e7)
    assert world.autopilot.missions.replace(MissionType.FENCE, [item]) == 0


@pytest.mark.parametrize(("action", "mode"), [(0, "AUTO"), (1, "RTL"), (2, "HOLD")])
def test_fence_breach(action, mode):
    world = driving(FENCE_ENABLE=1.0, FENCE_ACTION=float(action))
    circle_fence(world, 8.0)
    assert world.run_until(lambda: "Fence breached" in world.texts, 20.0)
    assert math.hypot(world.north, world.east) == pytest.approx(8.0, abs=0.4)
    assert mode_of(world) == mode
    telemetry = world.autopilot.telemetry()
    assert telemetry.fence_breached
    assert telemetry.fence_breach_count == 1


def test_fence_to_stay_out_of():
    world = driving(FENCE_ENABLE=1.0)
    circle_fence(world, 3.0, command=5004, place=(12, 0))
    assert world.run_until(lambda: mode_of(world) == "RTL", 20.0)
    assert world.north == pytest.approx(9.0, abs=0.4)


def test_far_outside_it_only_holds():
    world = driving(FENCE_ENABLE=1.0)
    circle_fence(world, 5.0, place=(-150, 0))
    world.run(1.0)
    assert mode_of(world) == "HOLD"


def test_fence_off_does_nothing():
    world = driving()
    circle_fence(world, 2.0)
    world.run(2.0)
    assert mode_of(world) == "AUTO"


# --- crash ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("check", "armed"), [(1, True), (2, False)])
def test_crash(check, armed):
    world = driving(FS_CRASH_CHECK=float(check))
    world.stuck = True
    assert world.run_until(lambda: mode_of(world) == "HOLD", 10.0)
    assert world.autopilot.status().armed is armed
    assert any("Crash" in text for text in world.texts)


def test_crash_check_is_off_by_default():
    world = driving()
    world.stuck = True
    world.run(8.0)
    assert mode_of(world) == "AUTO"


# --- main loop --------------------------------------------------------------------------------


def test_a_silent_main_loop_disarms():
    world = driving()
    world.time_us += 400_000
    world.run(0.1)
    assert not world.autopilot.status().armed
    assert any("stalled" in text for text in world.texts)
