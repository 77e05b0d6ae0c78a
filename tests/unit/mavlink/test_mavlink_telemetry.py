import math
import random
from itertools import islice

import msgspec
import pytest
from pymavlink.dialects.v20 import all as mav

from pico_gz.core.ground_control import Mode, Telemetry
from pico_gz.mavlink import codec, telemetry
from pico_gz.mavlink.telemetry import TELEMETRY_IDS, SimState, TelemetrySource, build

FULL = Telemetry(
    time_us=12_345_678,
    mode=Mode.AUTO,
    armed=True,
    active=True,
    roll_rad=0.1,
    pitch_rad=-0.05,
    yaw_rad=-math.pi / 2,
    rates_radps=(0.01, 0.02, 0.3),
    accel_mps2=(0.0, 0.980665, -9.80665),
    gyro_radps=(0.01, 0.02, 0.3),
    mag_gauss=(0.3, -0.1, 0.35),
    position_valid=True,
    lat_e7=356_812_360,
    lon_e7=1_397_671_250,
    alt_m=41.5,
    relative_alt_m=1.5,
    north_m=10.0,
    east_m=-5.0,
    down_m=-1.5,
    velocity_ned_mps=(1.0, -0.5, 0.1),
    ground_speed_mps=1.118,
    throttle_percent=-42.4,
    gps_fix=3,
    gps_lat_e7=356_812_361,
    gps_lon_e7=1_397_671_251,
    gps_alt_m=41.0,
    gps_speed_mps=1.1,
    gps_course_deg=333.43,
    gps_hdop=0.85,
    gps_satellites=14,
    pressure_pa=100_800.0,
    temperature_c=21.5,
    battery_v=7.41,
    battery_a=1.25,
    battery_remaining_percent=77,
    battery_consumed_mah=123.4,
    rc_us=(1500, 1600, 1700),
    rc_valid=True,
    servo_us=(1400, 0, 1600),
    mission_current=3,
    mission_count=6,
    mission_state=3,
    target_bearing_deg=10.0,
    nav_bearing_deg=12.0,
    waypoint_distance_m=7.6,
    cross_track_m=-0.4,
    speed_error_mps=0.1,
    target_lat_e7=356_812_400,
    target_lon_e7=1_397_671_300,
    target_valid=True,
    home_lat_e7=356_812_000,
    home_lon_e7=1_397_671_000,
    home_alt_m=40.0,
    home_valid=True,
    origin_lat_e7=356_811_000,
    origin_lon_e7=1_397_670_000,
    origin_alt_m=41.0,
    origin_valid=True,
    fence_breached=True,
    fence_breach_count=2,
    fence_breach_type=1,
    ekf_flags=0x33F,
    ekf_variances=(0.1, 0.2, 0.3, 0.4),
    sensors_present=0x1F,
    sensors_enabled=0x0F,
    sensors_healthy=0x07,
    load_permille=250,
    vibration_mps2=(1.0, 2.0, 3.0),
)
SIM_STATE = SimState(0.1, 0.2, 0.3, (1.0, 2.0, 3.0), (4.0, 5.0, 6.0), 7, 8)
AROUND = TelemetrySource(
    epoch_us=1_767_225_600_000_000,
    sim_state=lambda: SIM_STATE,
    wind_ned_mps=lambda: (3.0, -4.0, 0.5),
)

# What a receiver must read, in the units of the message definitions.
EXPECTED = {
    "SYS_STATUS": {
        "onboard_control_sensors_present": 0x1F,
        "onboard_control_sensors_enabled": 0x0F,
        "onboard_control_sensors_health": 0x07,
        "load": 250,
        "voltage_battery": 7410,
        "current_battery": 125,
        "battery_remaining": 77,
    },
    "SYSTEM_TIME": {"time_unix_usec": 1_767_225_612_345_678, "time_boot_ms": 12_345},
    "GPS_RAW_INT": {
        "time_usec": 12_345_678,
        "fix_type": 3,
        "lat": 356_812_361,
        "lon": 1_397_671_251,
        "alt": 41_000,
        "eph": 85,
        "vel": 110,
        "cog": 33_343,
        "satellites_visible": 14,
    },
    "RAW_IMU": {
        "xacc": 0,
        "yacc": 100,
        "zacc": -1000,
        "xgyro": 10,
        "zgyro": 300,
        "xmag": 300,
        "ymag": -100,
    },
    "SCALED_IMU2": {"time_boot_ms": 12_345, "yacc": 100, "zgyro": 300, "xmag": 300},
    "POWER_STATUS": {"Vcc": 5000, "Vservo": 0, "flags": 0},
    "AHRS": {"omegaIx": 0.0, "omegaIz": 0.0, "error_yaw": 0.4},
    "AHRS2": {"roll": 0.1, "yaw": -math.pi / 2, "altitude": 41.5, "lat": 356_812_360},
    # From the east, and from the south: the bearing it comes from.
    "WIND": {"direction": 126.869898, "speed": 5.0, "speed_z": 0.5},
    "SCALED_PRESSURE": {"press_abs": 1008.0, "temperature": 2150},
    "ATTITUDE": {"time_boot_ms": 12_345, "roll": 0.1, "yaw": -math.pi / 2, "yawspeed": 0.3},
    "LOCAL_POSITION_NED": {"x": 10.0, "y": -5.0, "z": -1.5, "vx": 1.0, "vy": -0.5, "vz": 0.1},
    "GLOBAL_POSITION_INT": {
        "lat": 356_812_360,
        "lon": 1_397_671_250,
        "alt": 41_500,
        "relative_alt": 1_500,
        "vx": 100,
        "vy": -50,
        "vz": 10,
        "hdg": 27_000,
    },
    "SERVO_OUTPUT_RAW": {"servo1_raw": 1400, "servo2_raw": 0, "servo3_raw": 1600, "servo9_raw": 0},
    "MISSION_CURRENT": {"seq": 3, "total": 6, "mission_state": 3},
    "NAV_CONTROLLER_OUTPUT": {
        "nav_bearing": 12,
        "target_bearing": 10,
        "wp_dist": 8,
        "xtrack_error": -0.4,
    },
    "RC_CHANNELS": {"chancount": 3, "chan2_raw": 1600, "chan4_raw": 65535, "rssi": 254},
    "VFR_HUD": {"groundspeed": 1.118, "heading": 270, "throttle": 42, "alt": 41.5, "climb": -0.1},
    "POSITION_TARGET_GLOBAL_INT": {"lat_int": 356_812_400, "lon_int": 1_397_671_300},
    "BATTERY_STATUS": {"current_battery": 125, "current_consumed": 123, "battery_remaining": 77},
    "MEMINFO": {"freemem32": 65_536},
    "FENCE_STATUS": {"breach_status": 1, "breach_count": 2, "breach_type": 1},
    "SIMSTATE": {"roll": 0.1, "zgyro": 6.0, "lat": 7, "lng": 8},
    "EKF_STATUS_REPORT": {"flags": 0x33F, "velocity_variance": 0.1, "compass_variance": 0.4},
    "VIBRATION": {"vibration_x": 1.0, "vibration_z": 3.0},
    "HOME_POSITION": {"latitude": 356_812_000, "altitude": 40_000},
    "GPS_GLOBAL_ORIGIN": {"latitude": 356_811_000, "altitude": 41_000},
    "CURRENT_MODE": {"custom_mode": 10, "intended_custom_mode": 10},
}


def read(out):
    """What a receiver makes of a packed message."""
    return codec.decode(codec.frame(out, 0, 1))


@pytest.mark.parametrize("msg_id", sorted(TELEMETRY_IDS))
def test_what_a_receiver_reads(msg_id):
    message = read(build(msg_id, FULL, AROUND))
    for name, value in EXPECTED[message.get_type()].items():
        assert getattr(message, name) == pytest.approx(value, rel=1e-6), name


def test_the_list_of_expectations_is_complete():
    assert {mav.mavlink_map[msg_id].msgname for msg_id in TELEMETRY_IDS} == set(EXPECTED)


def test_battery_voltage_stands_in_the_first_cell():
    message = read(build(mav.MAVLINK_MSG_ID_BATTERY_STATUS, FULL, AROUND))
    assert message.voltages == [7410] + [65535] * 9


def random_telemetry(rng):
    def like(value):
        if isinstance(value, bool):
            return rng.random() < 0.8
        if isinstance(value, Mode):
            return rng.choice(list(Mode))
        if isinstance(value, int):
            return rng.randrange(-1000, 2_000_000_000)
        if isinstance(value, float):
            return rng.gauss(0.0, 10.0 ** rng.randrange(5))
        return tuple(like(part) for part in value)

    names = Telemetry.__struct_fields__
    changes = {name: like(getattr(FULL, name)) for name in names}
    return msgspec.structs.replace(FULL, **(changes | {"time_us": rng.randrange(2**45)}))


@pytest.mark.parametrize("msg_id", sorted(TELEMETRY_IDS))
def test_random_values_travel_as_pymavlink_packs_them(msg_id):
    rng = random.Random(msg_id)
    kind = mav.mavlink_map[msg_id]
    link = mav.MAVLink(None, srcSystem=1, srcComponent=1)
    fields_of, _ = telemetry._table[msg_id]
    lengths = [kind.array_lengths[kind.ordered_fieldnames.index(n)] for n in kind.fieldnames]
    packed = 0
    for _ in range(100):
        belief = random_telemetry(rng)
        out = build(msg_id, belief, AROUND)
        if out is None:
            continue
        fields = iter(fields_of(belief, AROUND))
        nested = [list(islice(fields, n)) if n else next(fields, None) for n in lengths]
        message = kind(*(value for value in nested if value not in (None, [])))
        assert codec.frame(out, 0, 1) == message.pack(link)
        link.seq = 0
        packed += 1
    assert packed > 50


HOSTILE = [math.nan, math.inf, -math.inf, 1e30, -1e30]


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("msg_id", sorted(TELEMETRY_IDS))
def test_no_belief_breaks_a_message(msg_id, value):
    floats = {
        name: value
        for name in Telemetry.__struct_fields__
        if isinstance(getattr(FULL, name), float)
    }
    three = dict.fromkeys(
        ("rates_radps", "accel_mps2", "gyro_radps", "mag_gauss", "velocity_ned_mps"),
        (value,) * 3,
    )
    broken = Telemetry(
        time_us=2**40,
        mode=Mode.HOLD,
        armed=False,
        active=False,
        home_valid=True,
        origin_valid=True,
        **floats,
        **three,
    )
    out = build(msg_id, broken, AROUND)
    if out is not None:
        assert read(out) is not None


def test_messages_that_have_nothing_to_tell():
    empty = Telemetry(time_us=0, mode=Mode.HOLD, armed=False, active=False)
    silent = {
        mav.mavlink_map[msg_id].msgname
        for msg_id in TELEMETRY_IDS
        if build(msg_id, empty, TelemetrySource()) is None
    }
    assert silent == {
        "POSITION_TARGET_GLOBAL_INT",
        "SIMSTATE",
        "WIND",
        "HOME_POSITION",
        "GPS_GLOBAL_ORIGIN",
    }


@pytest.mark.parametrize(
    ("mode", "armed", "base_mode", "status"),
    [
        (Mode.MANUAL, False, 1 | 64, 3),
        (Mode.MANUAL, True, 1 | 64 | 128, 4),
        (Mode.HOLD, False, 1, 3),
        (Mode.AUTO, True, 1 | 8 | 128, 4),
        (Mode.GUIDED, False, 1 | 8, 3),
        (Mode.INITIALISING, False, 1, 2),
    ],
)
def test_heartbeats(mode, armed, base_mode, status):
    belief = Telemetry(time_us=0, mode=mode, armed=armed, active=armed)
    beat = telemetry.heartbeat(telemetry.Identity(), belief)
    assert (beat.type, beat.autopilot, beat.custom_mode) == (10, 3, int(mode))
    assert (beat.base_mode, beat.system_status) == (base_mode, status)


def test_a_failsafe_is_critical_in_every_mode():
    for mode in (Mode.HOLD, Mode.RTL):
        belief = Telemetry(time_us=0, mode=mode, armed=True, active=True, critical=True)
        assert telemetry.heartbeat(telemetry.Identity(), belief).system_status == 5


def test_other_identities():
    belief = Telemetry(time_us=0, mode=Mode.HOLD, armed=False, active=False)
    beat = telemetry.heartbeat(telemetry.Identity(autopilot=0, vehicle_type=11), belief)
    assert (beat.type, beat.autopilot) == (11, 0)


def test_version_and_capabilities():
    version = telemetry.autopilot_version(9)
    assert version.flight_sw_version == 4 << 24 | 6 << 16 | 0 << 8 | 255
    assert bytes(version.flight_custom_version).isascii()
    assert version.uid == 9
    assert version.capabilities & 139_662 == 139_662
    assert version.capabilities & 64  # SET_ATTITUDE_TARGET
    assert version.capabilities & 16_384  # fence
    assert version.capabilities & 32_768  # rally
    assert version.capabilities & 32  # FTP


def test_modes_are_numbered_without_holes():
    modes = telemetry.available_modes()
    assert [m.mode_index for m in modes] == list(range(1, 12))
    assert {m.custom_mode for m in modes} == {int(mode) for mode in Mode}
    assert all(m.number_modes == 11 for m in modes)


def test_the_banner_says_rover():
    assert any("rover" in line.lower() for line in telemetry.banner())
