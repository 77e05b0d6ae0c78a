"""Parameters that report what is fitted; ground stations read them.

QGroundControl and Mission Planner read these when they connect and call a vehicle incomplete
without them. They report the simulated board as it is: one IMU, one compass, one barometer, one
GPS, no rangefinder in the autopilot. Device numbers are those of ArduPilot's own simulation.
"""

from __future__ import annotations

from pico_gz.core.ground_control import ParamType

_I8, _I16, _I32, _F = ParamType.INT8, ParamType.INT16, ParamType.INT32, ParamType.REAL32

# QGroundControl takes a sensor whose offsets are 0 for one that was never calibrated. These have
# no error that stays, so their offset is the smallest that counts as a calibration.
CALIBRATED = 0.001

_COMPASS_ID, _ACCEL_ID, _GYRO_ID, _BARO_ID = 97539, 2753028, 2752772, 65540
_NUMBERS: tuple[tuple[str, ParamType, float], ...] = (
    ("AHRS_EKF_TYPE", _I8, 3),
    ("AVOID_ENABLE", _I8, 0),
    ("BARO1_DEVID", _I32, _BARO_ID),
    ("BARO2_DEVID", _I32, 0),
    ("BARO3_DEVID", _I32, 0),
    ("BARO_PRIMARY", _I8, 0),
    ("BATT2_MONITOR", _I8, 0),
    ("COMPASS_DEV_ID", _I32, _COMPASS_ID),
    ("COMPASS_DEV_ID2", _I32, 0),
    ("COMPASS_DEV_ID3", _I32, 0),
    ("COMPASS_ENABLE", _I8, 1),
    ("COMPASS_EXTERNAL", _I8, 0),
    ("COMPASS_EXTERN2", _I8, 0),
    ("COMPASS_EXTERN3", _I8, 0),
    ("COMPASS_LEARN", _I8, 0),
    ("COMPASS_ORIENT", _I8, 0),
    ("COMPASS_ORIENT2", _I8, 0),
    ("COMPASS_ORIENT3", _I8, 0),
    ("COMPASS_PRIO1_ID", _I32, _COMPASS_ID),
    ("COMPASS_PRIO2_ID", _I32, 0),
    ("COMPASS_PRIO3_ID", _I32, 0),
    ("COMPASS_USE2", _I8, 0),
    ("COMPASS_USE3", _I8, 0),
    *((f"COMPASS_OFS{n}_{axis}", _F, 0.0) for n in (2, 3) for axis in "XYZ"),
    # The estimator's sources: GPS, barometer and compass.
    ("EK3_ENABLE", _I8, 1),
    ("EK3_IMU_MASK", _I8, 1),
    ("EK3_SRC1_POSXY", _I8, 3),
    ("EK3_SRC1_POSZ", _I8, 1),
    ("EK3_SRC1_VELXY", _I8, 3),
    ("EK3_SRC1_VELZ", _I8, 0),
    ("EK3_SRC1_YAW", _I8, 1),
    ("FRAME_TYPE", _I8, 0),
    ("GPS1_TYPE", _I8, 1),
    ("GPS2_TYPE", _I8, 0),
    ("INS_ACC_ID", _I32, _ACCEL_ID),
    ("INS_ACC2_ID", _I32, 0),
    ("INS_ACC3_ID", _I32, 0),
    ("INS_GYR_ID", _I32, _GYRO_ID),
    ("INS_GYR2_ID", _I32, 0),
    ("INS_GYR3_ID", _I32, 0),
    *((f"INS_ACCOFFS_{axis}", _F, CALIBRATED) for axis in "XYZ"),
    *((f"INS_ACC{n}OFFS_{axis}", _F, 0.0) for n in (2, 3) for axis in "XYZ"),
    *((f"INS_ACCSCAL_{axis}", _F, 1.0) for axis in "XYZ"),
    *((f"INS_GYROFFS_{axis}", _F, 0.0) for axis in "XYZ"),
    ("INS_ENABLE_MASK", _I8, 1),
    ("INS_USE", _I8, 1),
    ("INS_USE2", _I8, 0),
    ("INS_USE3", _I8, 0),
    ("LOG_BACKEND_TYPE", _I8, 0),
    ("LOG_BITMASK", _I32, 65535),
    ("LOG_DISARMED", _I8, 1),
    ("LOG_REPLAY", _I8, 0),
    ("OA_TYPE", _I8, 0),
    ("PRX1_TYPE", _I8, 0),
    ("RNGFND1_TYPE", _I8, 0),
    ("SCHED_LOOP_RATE", _I16, 50),
)

FITTED: tuple[tuple[str, ParamType, float, float, float], ...] = tuple(
    (name, kind, float(value), float(value), float(value)) for name, kind, value in _NUMBERS
)
FITTED_NAMES = frozenset(row[0] for row in FITTED)
