"""Guided targets, sticks, and ground stations that are alive."""

import math

import msgspec
import pytest
from ground_station import Ground
from pymavlink.dialects.v20 import all as mav

NAN = math.nan
POSITION_ONLY = 0b1101_1111_1100
VELOCITY_ONLY = 0b1101_1110_0111
VELOCITY_YAW = 0b1001_1110_0111
VELOCITY_RATE = 0b0101_1110_0111
YAW_ONLY = 0b1001_1111_1111
RATE_ONLY = 0b0101_1111_1111


def local(mask, *, frame=1, x=0.0, y=0.0, vx=0.0, vy=0.0, yaw=0.0, rate=0.0):
    return mav.MAVLink_set_position_target_local_ned_message(
        0, 1, 1, frame, mask, x, y, 0, vx, vy, 0, 0, 0, 0, yaw, rate
    )


def world(mask, *, frame=6, lat=0, lon=0, vx=0.0, vy=0.0):
    return mav.MAVLink_set_position_target_global_int_message(
        0, 1, 1, frame, mask, lat, lon, 0, vx, vy, 0, 0, 0, 0, 0, 0
    )


@pytest.fixture
def ground():
    return Ground()


def last_call(ground, message):
    ground.vehicle.calls.clear()
    ground.station().send(message)
    return ground.vehicle.calls[-1] if ground.vehicle.calls else None


def near(*values):
    return tuple(pytest.approx(v, abs=1e-6) if isinstance(v, float) else v for v in values)


def facing_east(ground):
    """The fake stands at north 1, east 2."""
    ground.vehicle.base = msgspec.structs.replace(ground.vehicle.base, yaw_rad=math.pi / 2)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (local(POSITION_ONLY, x=10, y=20), ("guide_to_local", 10.0, 20.0, None)),
        (local(POSITION_ONLY, frame=7, x=10, y=20), ("guide_to_local", 11.0, 22.0, None)),
        # Facing east: forward is east, right is south.
        (local(POSITION_ONLY, frame=9, x=10, y=20), ("guide_to_local", -19.0, 12.0, None)),
        (local(POSITION_ONLY, frame=8, x=10, y=0), ("guide_to_local", 1.0, 12.0, None)),
        (world(POSITION_ONLY, lat=5, lon=6), ("guide_to_global", 5, 6, None, False)),
    ],
)
def test_places(ground, message, expected):
    facing_east(ground)
    assert last_call(ground, message) == near(*expected)


@pytest.mark.parametrize(
    "message",
    [
        world(POSITION_ONLY, frame=99, lat=5, lon=6),
        world(POSITION_ONLY, frame=1, lat=5, lon=6),
        world(POSITION_ONLY, lat=0, lon=0),
        world(POSITION_ONLY, lat=900_000_001, lon=6),
        local(POSITION_ONLY, frame=99, x=10, y=20),
    ],
)
def test_what_is_no_place_is_ignored(ground, message):
    assert last_call(ground, message) is None


def test_a_place_may_come_with_a_heading(ground):
    message = local(0b1001_1111_1100 & ~0x400, x=1, y=2, yaw=1.5)
    assert last_call(ground, message) == near("guide_to_local", 1.0, 2.0, 1.5)


@pytest.mark.parametrize(
    ("message", "velocity", "speed", "rate", "yaw"),
    [
        (local(VELOCITY_ONLY, vx=1, vy=0.5), (1.0, 0.5), None, None, None),
        (local(VELOCITY_ONLY, frame=8, vx=1, vy=0), (0.0, 1.0), None, None, None),
        (local(VELOCITY_YAW, vx=3, vy=4, yaw=0.3), None, 5.0, None, 0.3),
        (local(VELOCITY_YAW, vx=-3, vy=4, yaw=0.3), None, -5.0, None, 0.3),
        (local(VELOCITY_YAW, frame=8, vx=1, yaw=0.1), None, 1.0, None, 0.1 + math.pi / 2),
        (local(VELOCITY_RATE, vx=1, rate=0.2), None, 1.0, 0.2, None),
        (local(YAW_ONLY, yaw=0.7), None, 0.0, None, 0.7),
        (local(RATE_ONLY, rate=-0.2), None, 0.0, -0.2, None),
        (world(VELOCITY_ONLY, vx=1, vy=2), (1.0, 2.0), None, None, None),
    ],
)
def test_velocities_headings_and_rates(ground, message, velocity, speed, rate, yaw):
    facing_east(ground)
    call = last_call(ground, message)
    assert call[0] == "guide_velocity"
    assert call[1] == (None if velocity is None else near(*velocity))
    assert call[2:] == near(speed, rate, yaw)


@pytest.mark.parametrize(
    "message",
    [
        local(POSITION_ONLY, x=NAN, y=1),
        local(POSITION_ONLY, x=1, y=math.inf),
        local(POSITION_ONLY, frame=3, x=1, y=1),
        local(VELOCITY_ONLY, vx=NAN),
        local(0xFFFF, x=1),
        world(POSITION_ONLY, lat=900_000_001),
        world(POSITION_ONLY, lon=-1_800_000_001),
    ],
)
def test_targets_that_cannot_be_change_nothing(ground, message):
    assert last_call(ground, message) is None


def attitude(mask, *, q=(1.0, 0.0, 0.0, 0.0), rate=0.0, thrust=0.5):
    return mav.MAVLink_set_attitude_target_message(0, 1, 1, mask, list(q), 0, 0, rate, thrust)


HALF = math.sqrt(0.5)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (attitude(0b111, q=(HALF, 0, 0, HALF)), (math.pi / 2, None, 0.5)),
        (attitude(0b1000_0011, rate=0.3), (None, 0.3, 0.5)),
        (attitude(0b111, thrust=-3.0), (0.0, None, -1.0)),
        (attitude(0b111, thrust=NAN), None),
        (attitude(0b0100_0111), None),
        (attitude(0b111, q=(0, 0, 0, 0)), None),
        (attitude(0b111, q=(NAN, 0, 0, 0)), None),
        (attitude(0b1000_0111), None),
    ],
)
def test_attitude_targets(ground, message, expected):
    call = last_call(ground, message)
    assert call == (None if expected is None else ("guide_heading", *near(*expected)))


def test_manual_control(ground):
    message = mav.MAVLink_manual_control_message(1, 100, -500, 1000, 32767, 3)
    assert last_call(ground, message) == ("manual_control", 0.1, -0.5, 1.0, 0.0, 3)
    wild = mav.MAVLink_manual_control_message(1, -32768, 5000, 0, 0, 0)
    assert last_call(ground, wild) == ("manual_control", -1.0, 1.0, 0.0, 0.0, 0)


def override(*first, **more):
    channels = (*first, *(65535,) * (8 - len(first)))
    return mav.MAVLink_rc_channels_override_message(1, 1, *channels, **more)


def test_rc_override(ground):
    assert last_call(ground, override(1600, 65535, 1400)) == ("rc_override", {1: 1600, 3: 1400})
    assert last_call(ground, override(0, 0)) == ("release_rc_override", [1, 2])
    assert last_call(ground, override(chan9_raw=1700, chan10_raw=0)) == ("rc_override", {9: 1700})
    assert last_call(ground, override(chan9_raw=65534)) == ("release_rc_override", [9])
    assert last_call(ground, override(1, 65534, 3000)) is None


def test_sticks_of_another_ground_station_are_ignored(ground):
    stranger = ground.station(99)
    stranger.send(override(2000, 2000, 2000))
    stranger.send(mav.MAVLink_manual_control_message(1, 1000, 1000, 1000, 1000, 0))
    assert ground.vehicle.calls == []
    ground.vehicle.params.set("SYSID_MYGCS", 99)
    stranger.send(override(2000))
    assert ground.vehicle.calls == [("rc_override", {1: 2000})]


def test_heartbeats_reach_the_autopilot_once_each_at_any_speed(ground):
    """It counts their silence in simulation time, as ArduPilot does."""
    station = ground.station()
    for _ in range(3):
        station.send(mav.MAVLink_heartbeat_message(6, 8, 0, 0, 4, 3))
        ground.run(50.0, speed=50.0, step_us=20_000)
    assert ground.vehicle.calls == [("gcs_heartbeat", 255)] * 3
