"""The parameters that ground stations read when they connect to a rover, by program and version.

Read in their sources. QGroundControl: the components of an ArduPilot vehicle and their summaries
(``AutoPilotPlugins/APM``), which decide whether the vehicle is set up. Mission Planner: the
connect dialog (``MainV2``), the flight data and planner views, and ``CurrentState``. Names that
only other vehicles have (``FLTMODE1``, ``WPNAV_SPEED``) are left out.
"""

_XYZ = ("X", "Y", "Z")

READ_AT_CONNECT = {
    "QGroundControl 5.1.3": (
        "RCMAP_ROLL", "RCMAP_PITCH", "RCMAP_THROTTLE", "RCMAP_YAW",
        *(f"RC{n}_{part}" for n in (1, 2, 3, 4) for part in ("MIN", "MAX", "TRIM")),
        *(f"COMPASS_{what}{n}" for what in ("DEV_ID", "USE", "ORIENT") for n in ("", 2, 3)),
        "COMPASS_EXTERNAL", "COMPASS_EXTERN2", "COMPASS_EXTERN3", "COMPASS_DEC",
        *(f"COMPASS_PRIO{n}_ID" for n in (1, 2, 3)),
        *(f"COMPASS_OFS{n}_{axis}" for n in ("", 2, 3) for axis in _XYZ),
        *(f"INS_ACCOFFS_{axis}" for axis in _XYZ),
        "INS_ACC_ID", "INS_ACC2_ID", "INS_ACC3_ID", "INS_GYR3_ID", "INS_ENABLE_MASK",
        "BARO1_DEVID", "BARO2_DEVID", "BARO3_DEVID",
        "MODE_CH", *(f"MODE{n}" for n in range(1, 7)),
        "FRAME_CLASS", "FRAME_TYPE", "ARMING_CHECK",
        "BATT_MONITOR", "BATT_CAPACITY", "BATT_FS_LOW_ACT", "BATT_FS_CRT_ACT", "BATT2_MONITOR",
        "FENCE_ENABLE", "FENCE_TYPE", "FENCE_ACTION", "FS_ACTION", "FS_THR_ENABLE",
        "FS_CRASH_CHECK", "SERVO1_MIN",
    ),
    "Mission Planner 1.3.83": (
        "MIS_TOTAL", "RALLY_TOTAL", "RALLY_LIMIT_KM", "FENCE_TOTAL", "FENCE_ENABLE",
        "FENCE_ACTION", "WP_RADIUS",
        "INS_ACC3_ID", "INS_GYR3_ID", "INS_ENABLE_MASK", "COMPASS_PRIO1_ID", "FRAME_CLASS",
        "BATT_MONITOR", "BATT_CAPACITY", "BATT_LOW_VOLT", "BATT_LOW_MAH", "BATT_CRT_VOLT",
        "BATT_CRT_MAH",
        *(f"SERVO{n}_{part}" for n in (1, 3) for part in ("MIN", "TRIM", "MAX", "REVERSED")),
        "MODE_CH", *(f"MODE{n}" for n in range(1, 7)),
        "RCMAP_ROLL", "RCMAP_PITCH", "RCMAP_THROTTLE", "RCMAP_YAW",
    ),
}  # fmt: skip
