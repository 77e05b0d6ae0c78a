"""Every parameter: name, storage type, range and default.

Some are kept only because ground stations and parameter files carry them: ``PSC_*`` (positions
are held by the path law here), ``WP_JERK``, ``FENCE_MARGIN`` and ``FRAME_CLASS`` (a vehicle's
drive comes from its preset), and of the radio all but the channels of ``RCMAP_ROLL`` and
``RCMAP_THROTTLE``. ``SIM_*`` are passed on to the simulator.
"""

from __future__ import annotations

from typing import NamedTuple

from pico_gz.core.ground_control import ParamType
from pico_gz.vehicle.autopilot.fitted_parameters import CALIBRATED, FITTED, FITTED_NAMES

_I8, _I16, _I32, _F = ParamType.INT8, ParamType.INT16, ParamType.INT32, ParamType.REAL32
_BIG = 2147483647.0


class ParamSpec(NamedTuple):
    """What a parameter may be."""

    name: str
    type: ParamType
    low: float
    high: float
    default: float


Row = tuple[str, ParamType, float, float, float]

# Auto, RTL, SmartRTL, Acro, Hold and Manual, as in the rover.parm of external vehicles.
_MODES = (10, 11, 12, 1, 4, 0)

_IDENTITY: tuple[Row, ...] = (
    ("FORMAT_VERSION", _I16, 0, 32767, 16),
    ("SYSID_THISMAV", _I16, 1, 255, 1),
    ("SYSID_MYGCS", _I16, 1, 255, 255),
    ("SYSID_ENFORCE", _I8, 0, 1, 0),
    ("FRAME_CLASS", _I8, 0, 3, 1),
    ("INITIAL_MODE", _I8, 0, 26, 0),
    ("MODE_CH", _I8, 0, 16, 8),
    *((f"MODE{n}", _I8, 0, 26, mode) for n, mode in enumerate(_MODES, start=1)),
    ("ARMING_CHECK", _I32, 0, _BIG, 1),
    ("ARMING_REQUIRE", _I8, 0, 2, 1),
    ("ARMING_RUDDER", _I8, 0, 2, 2),
)

_SPEED: tuple[Row, ...] = (
    ("CRUISE_SPEED", _F, 0, 100, 2),
    ("CRUISE_THROTTLE", _I8, 0, 100, 50),
    ("SPEED_MAX", _F, 0, 30, 0),
    ("ATC_SPEED_P", _F, 0, 2, 0.2),
    ("ATC_SPEED_I", _F, 0, 2, 0.2),
    ("ATC_SPEED_D", _F, 0, 0.4, 0),
    ("ATC_SPEED_IMAX", _F, 0, 1, 1),
    ("ATC_SPEED_FLTE", _F, 0, 100, 10),
    ("ATC_ACCEL_MAX", _F, 0, 10, 1),
    ("ATC_DECEL_MAX", _F, 0, 10, 0),
    ("ATC_BRAKE", _I8, 0, 1, 1),
    ("ATC_STOP_SPEED", _F, 0, 0.5, 0.1),
)

_STEERING: tuple[Row, ...] = (
    ("ATC_STR_RAT_P", _F, 0, 2, 0.2),
    ("ATC_STR_RAT_I", _F, 0, 2, 0.2),
    ("ATC_STR_RAT_D", _F, 0, 0.4, 0),
    ("ATC_STR_RAT_FF", _F, 0, 3, 0.2),
    ("ATC_STR_RAT_IMAX", _F, 0, 1, 1),
    ("ATC_STR_RAT_FLTE", _F, 0, 100, 10),
    ("ATC_STR_RAT_MAX", _F, 0, 1000, 120),
    ("ATC_STR_ACC_MAX", _F, 0, 1000, 120),
    ("ATC_STR_ANG_P", _F, 1, 10, 2),
    ("ATC_TURN_MAX_G", _F, 0.1, 10, 0.6),
    ("TURN_RADIUS", _F, 0, 10, 0.9),
    ("ACRO_TURN_RATE", _F, 0, 360, 180),
)

_WAYPOINTS: tuple[Row, ...] = (
    ("WP_SPEED", _F, 0, 100, 2),
    ("WP_RADIUS", _F, 0, 100, 2),
    ("WP_ACCEL", _F, 0, 100, 0),
    ("WP_JERK", _F, 0, 100, 0),
    ("WP_PIVOT_ANGLE", _I16, 0, 360, 60),
    ("WP_PIVOT_RATE", _I16, 0, 360, 60),
    ("WP_PIVOT_DELAY", _F, 0, 60, 0),
    ("RTL_SPEED", _F, 0, 100, 0),
    ("MIS_DONE_BEHAVE", _I8, 0, 3, 0),
    ("MIS_RESTART", _I8, 0, 1, 0),
    ("MIS_TOTAL", _I16, 0, 32766, 0),
    ("LOIT_TYPE", _I8, 0, 2, 0),
    ("LOIT_RADIUS", _F, 0, 20, 2),
    ("LOIT_SPEED_GAIN", _F, 0, 5, 0.5),
    ("CIRC_RADIUS", _F, 0, 100, 20),
    ("CIRC_SPEED", _F, 0, 10, 0),
    ("CIRC_DIR", _I8, 0, 1, 0),
    ("SRTL_ACCURACY", _F, 0, 10, 2),
    ("SRTL_POINTS", _I16, 0, 500, 300),
    ("RALLY_INCL_HOME", _I8, 0, 1, 1),
    ("RALLY_LIMIT_KM", _F, 0, 100, 0.5),
    ("RALLY_TOTAL", _I16, 0, 32766, 0),
)

_POSITION: tuple[Row, ...] = (
    ("PSC_POS_P", _F, 0, 10, 0.2),
    ("PSC_VEL_P", _F, 0, 10, 1),
    ("PSC_VEL_I", _F, 0, 10, 0),
    ("PSC_VEL_D", _F, 0, 10, 0),
    ("PSC_VEL_FF", _F, 0, 10, 0),
    ("PSC_VEL_IMAX", _F, 0, 10, 1),
    ("PSC_VEL_FLTE", _F, 0, 100, 5),
    ("PSC_VEL_FLTD", _F, 0, 100, 5),
)

_OUTPUTS: tuple[Row, ...] = (
    ("MOT_SLEWRATE", _I16, 0, 1000, 100),
    ("MOT_THR_MIN", _I8, 0, 20, 0),
    ("MOT_THR_MAX", _I8, 5, 100, 100),
    ("MOT_SAFE_DISARM", _I8, 0, 1, 0),
    ("MOT_THST_EXPO", _F, -1, 1, 0),
    ("MOT_STR_THR_MIX", _F, 0.2, 1, 0.5),
    *(
        row
        for n in range(1, 9)
        for row in (
            (f"SERVO{n}_FUNCTION", _I16, -1, 189, 0),
            (f"SERVO{n}_MIN", _I16, 800, 2200, 1000),
            (f"SERVO{n}_TRIM", _I16, 800, 2200, 1500),
            (f"SERVO{n}_MAX", _I16, 800, 2200, 2000),
            (f"SERVO{n}_REVERSED", _I8, 0, 1, 0),
        )
    ),
    ("RCMAP_ROLL", _I8, 1, 16, 1),
    ("RCMAP_PITCH", _I8, 1, 16, 2),
    ("RCMAP_THROTTLE", _I8, 1, 16, 3),
    ("RCMAP_YAW", _I8, 1, 16, 4),
    *(
        row
        for n in range(1, 17)
        for row in (
            (f"RC{n}_MIN", _I16, 800, 2200, 1000),
            (f"RC{n}_TRIM", _I16, 800, 2200, 1500),
            (f"RC{n}_MAX", _I16, 800, 2200, 2000),
            (f"RC{n}_DZ", _I16, 0, 200, 30),
            (f"RC{n}_REVERSED", _I8, 0, 1, 0),
            (f"RC{n}_OPTION", _I16, 0, 400, 0),
        )
    ),
    ("RC_OVERRIDE_TIME", _F, -1, 120, 3),
)

_FAILSAFE: tuple[Row, ...] = (
    ("FS_ACTION", _I8, 0, 5, 2),
    ("FS_TIMEOUT", _F, 0.1, 100, 1.5),
    ("FS_THR_ENABLE", _I8, 0, 2, 1),
    ("FS_THR_VALUE", _I16, 910, 1100, 910),
    ("FS_GCS_ENABLE", _I8, 0, 2, 0),
    ("FS_GCS_TIMEOUT", _F, 2, 120, 5),
    ("FS_EKF_ACTION", _I8, 0, 2, 1),
    ("FS_EKF_THRESH", _F, 0.6, 1, 0.8),
    ("FS_CRASH_CHECK", _I8, 0, 2, 0),
    ("CRASH_ANGLE", _I8, 0, 60, 0),
    ("FS_OPTIONS", _I32, 0, 1, 0),
)

_FENCE: tuple[Row, ...] = (
    ("FENCE_ENABLE", _I8, 0, 1, 0),
    ("FENCE_TYPE", _I8, 0, 7, 6),
    ("FENCE_ACTION", _I8, 0, 4, 1),
    ("FENCE_RADIUS", _F, 5, 10000, 300),
    ("FENCE_MARGIN", _F, 1, 10, 2),
    ("FENCE_TOTAL", _I16, 0, 32766, 0),
)

_BATTERY: tuple[Row, ...] = (
    ("BATT_MONITOR", _I8, 0, 30, 4),
    ("BATT_VOLT_MULT", _F, 0, 100, 3.95),
    ("BATT_LOW_VOLT", _F, 0, 120, 0),
    ("BATT_LOW_TIMER", _I8, 0, 120, 10),
    ("BATT_LOW_MAH", _F, 0, 1000000, 0),
    ("BATT_CRT_VOLT", _F, 0, 120, 0),
    ("BATT_CRT_MAH", _F, 0, 1000000, 0),
    ("BATT_ARM_VOLT", _F, 0, 120, 0),
    ("BATT_FS_LOW_ACT", _I8, 0, 5, 0),
    ("BATT_FS_CRT_ACT", _I8, 0, 5, 0),
    ("BATT_CAPACITY", _I32, 0, 1000000, 3300),
)

_SENSORS: tuple[Row, ...] = (
    ("GPS_DELAY_MS", _I16, 0, 250, 100),
    ("COMPASS_USE", _I8, 0, 1, 1),
    ("COMPASS_AUTODEC", _I8, 0, 1, 1),
    ("COMPASS_DEC", _F, -3.142, 3.142, 0),
    ("COMPASS_OFS_X", _F, -1800, 1800, CALIBRATED),
    ("COMPASS_OFS_Y", _F, -1800, 1800, CALIBRATED),
    ("COMPASS_OFS_Z", _F, -1800, 1800, CALIBRATED),
    ("WENC_TYPE", _I8, 0, 1, 1),
    ("WENC_RADIUS", _F, 0, 5, 0.05),
)

_STREAMS: tuple[Row, ...] = (
    *(
        (f"SR0_{group}", _I16, 0, 50, 1)
        for group in (
            "RAW_SENS", "EXT_STAT", "RC_CHAN", "RAW_CTRL", "POSITION", "EXTRA1", "EXTRA2", "EXTRA3",
        )
    ),
    ("SR0_PARAMS", _I16, 0, 50, 10),
    ("SR0_ADSB", _I16, 0, 50, 0),
)  # fmt: skip

# Switches of the simulated sensors. The autopilot stores and reports them and does nothing
# else with them: the run listens to the changes.
_SIMULATION: tuple[Row, ...] = (
    ("SIM_GPS_DISABLE", _I8, 0, 1, 0),
    *((f"SIM_GPS_GLITCH_{axis}", _F, -1000, 1000, 0) for axis in "XYZ"),
    ("SIM_GPS_JAM", _I8, 0, 1, 0),
    ("SIM_GPS_BYTELOSS", _F, 0, 100, 0),
    ("SIM_GPS_NUMSATS", _I8, 0, 40, 10),
    ("SIM_GPS_LAG_MS", _I16, 0, 2000, 100),
    ("SIM_GPS_HZ", _I8, 1, 50, 5),
    ("SIM_GPS_NOISE", _F, 0, 100, 0),
    *((f"SIM_GPS_VERR_{axis}", _F, -100, 100, 0) for axis in "XYZ"),
    ("SIM_GPS_LOCKTIME", _I16, 0, 600, 0),
    ("SIM_GPS_DRIFTALT", _F, -1000, 1000, 0),
    ("SIM_MAG1_FAIL", _I8, 0, 1, 0),
    ("SIM_MAG1_SCALING", _F, 0, 10, 1),
    *(
        (f"SIM_MAG1_{part}_{axis}", _F, -1000, 1000, 0)
        for part in ("OFS", "DIA", "ODI")
        for axis in "XYZ"
    ),
    ("SIM_MAG_RND", _F, 0, 1000, 0),
    ("SIM_MAG_DELAY", _I16, 0, 1000, 0),
    *((f"SIM_MAG_MOT_{axis}", _F, -1000, 1000, 0) for axis in "XYZ"),
    ("SIM_ACCEL1_FAIL", _F, -1000, 1000, 0),
    *((f"SIM_ACC1_BIAS_{axis}", _F, -100, 100, 0) for axis in "XYZ"),
    ("SIM_ACC1_RND", _F, 0, 100, 0),
    *((f"SIM_ACC1_SCAL_{axis}", _F, -10, 10, 0) for axis in "XYZ"),
    ("SIM_GYR_FAIL_MSK", _I8, 0, 7, 0),
    *((f"SIM_GYR1_BIAS_{axis}", _F, -10, 10, 0) for axis in "XYZ"),
    ("SIM_GYR1_RND", _F, 0, 100, 0),
    *((f"SIM_GYR1_SCALE_{axis}", _F, -100, 100, 0) for axis in "XYZ"),
    ("SIM_BARO_DISABLE", _I8, 0, 1, 0),
    ("SIM_BARO_FREEZE", _I8, 0, 1, 0),
    ("SIM_BARO_GLITCH", _F, -1000, 1000, 0),
    ("SIM_BARO_DRIFT", _F, -100, 100, 0),
    ("SIM_BARO_DELAY", _I16, 0, 1000, 0),
    ("SIM_RC_FAIL", _I8, 0, 2, 0),
    ("SIM_BATT_VOLTAGE", _F, 0, 120, 0),
    ("SIM_BATT_CAP_AH", _F, 0, 1000, 0),
)

GROUPS: dict[str, tuple[Row, ...]] = {
    "Identity and modes": _IDENTITY,
    "Speed": _SPEED,
    "Steering": _STEERING,
    "Waypoints": _WAYPOINTS,
    "Position": _POSITION,
    "Servo outputs and radio": _OUTPUTS,
    "Failsafes": _FAILSAFE,
    "Fence": _FENCE,
    "Battery": _BATTERY,
    "Sensors": _SENSORS,
    "What is fitted": FITTED,
    "Message rates": _STREAMS,
    "Simulation": _SIMULATION,
}

# What the autopilot reports and cannot be set: a system id is the vehicle's id in the fleet.
READ_ONLY = (
    frozenset({"FENCE_TOTAL", "FORMAT_VERSION", "MIS_TOTAL", "RALLY_TOTAL", "SYSID_THISMAV"})
    | FITTED_NAMES
)

# In alphabetical order, which is also the order of the indexes that a ground station sees.
PARAMETERS: dict[str, ParamSpec] = {
    row[0]: ParamSpec(row[0], row[1], float(row[2]), float(row[3]), float(row[4]))
    for row in sorted(row for group in GROUPS.values() for row in group)
}
