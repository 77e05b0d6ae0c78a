"""MAV_CMD_INJECT_FAILURE in the words of the failure switches."""

from __future__ import annotations

from pico_gz.mavlink.codec import mav

# FAILURE_UNIT -> unit words by instance; instance 0 means all of them.
_UNITS: dict[int, tuple[str, ...]] = {
    mav.FAILURE_UNIT_SENSOR_GYRO: ("gyro",),
    mav.FAILURE_UNIT_SENSOR_ACCEL: ("accel",),
    mav.FAILURE_UNIT_SENSOR_MAG: ("mag",),
    mav.FAILURE_UNIT_SENSOR_BARO: ("baro",),
    mav.FAILURE_UNIT_SENSOR_GPS: ("gps",),
    mav.FAILURE_UNIT_SENSOR_DISTANCE_SENSOR: ("range",),
    mav.FAILURE_UNIT_SYSTEM_BATTERY: ("battery",),
    mav.FAILURE_UNIT_SYSTEM_MOTOR: ("motor_left", "motor_right"),
    mav.FAILURE_UNIT_SYSTEM_SERVO: ("steering",),
    mav.FAILURE_UNIT_SYSTEM_RC_SIGNAL: ("rc",),
    mav.FAILURE_UNIT_SYSTEM_MAVLINK_SIGNAL: ("mavlink",),
}
_KINDS: dict[int, str] = {
    mav.FAILURE_TYPE_OK: "ok",
    mav.FAILURE_TYPE_OFF: "off",
    mav.FAILURE_TYPE_STUCK: "stuck",
    mav.FAILURE_TYPE_GARBAGE: "garbage",
    mav.FAILURE_TYPE_WRONG: "wrong",
    mav.FAILURE_TYPE_SLOW: "slow",
    mav.FAILURE_TYPE_DELAYED: "delayed",
    mav.FAILURE_TYPE_INTERMITTENT: "intermittent",
}


def failure_words(unit: int, kind: int, instance: int) -> tuple[tuple[str, ...], str] | None:
    """Return the unit words and the failure word, or None when there is no such thing here.

    Args:
        unit: ``FAILURE_UNIT``.
        kind: ``FAILURE_TYPE``.
        instance: 0 for all, else counted from 1 (motors: 1 left, 2 right).
    """
    units = _UNITS.get(unit)
    word = _KINDS.get(kind)
    if units is None or word is None or not 0 <= instance <= len(units):
        return None
    return (units if instance == 0 else (units[instance - 1],)), word
