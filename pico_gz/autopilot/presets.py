"""Parameters that suit each rover description, on top of the defaults.

Servo functions are not among them: they follow the wiring of the platform.
"""

from __future__ import annotations

from pico_gz.errors import ConfigError, did_you_mean

# A small rover: 1 m/s at full throttle, so 0.7 m/s takes 70 %.
_PICO_TRAIL = {
    "CRUISE_SPEED": 0.7,
    "CRUISE_THROTTLE": 70.0,
    "WP_SPEED": 0.7,
    "ATC_SPEED_P": 0.4,
    "ATC_SPEED_I": 0.4,
    "ATC_ACCEL_MAX": 0.8,
    "MOT_SLEWRATE": 300.0,
    "MOT_THR_MIN": 5.0,
    "BATT_MONITOR": 4.0,
    "BATT_CAPACITY": 2000.0,
}

_PRESETS: dict[str, dict[str, float]] = {
    # Track 0.15 m, chi 1.6: full differential steering turns at 2/0.24 = 8.3 rad/s.
    "pico_trail_freenove": {
        **_PICO_TRAIL,
        "ATC_STR_RAT_FF": 0.12,
        "ATC_STR_RAT_P": 0.05,
        "ATC_STR_RAT_I": 0.1,
        "ATC_STR_RAT_MAX": 100.0,
        "ATC_STR_ACC_MAX": 360.0,
        "TURN_RADIUS": 0.2,
        "WENC_RADIUS": 0.033,
    },
    "pico_trail_ackermann": {
        **_PICO_TRAIL,
        "ATC_STR_RAT_FF": 0.2,
        "ATC_STR_RAT_P": 0.1,
        "ATC_STR_RAT_I": 0.1,
        "ATC_STR_RAT_MAX": 120.0,
        "ATC_STR_ACC_MAX": 360.0,
        "TURN_RADIUS": 0.3,
        "WENC_RADIUS": 0.033,
    },
    "ardupilot_skid": {
        "CRUISE_SPEED": 3.0,
        "CRUISE_THROTTLE": 75.0,
        "WP_SPEED": 3.0,
        "WENC_RADIUS": 0.06,
        "ATC_STR_RAT_FF": 0.2,
        "ATC_ACCEL_MAX": 2.0,
    },
    "ardupilot_car": {
        "CRUISE_SPEED": 5.0,
        "CRUISE_THROTTLE": 30.0,
        "WP_SPEED": 5.0,
        "WENC_RADIUS": 0.1,
        "ATC_STR_RAT_FF": 0.2,
        "ATC_ACCEL_MAX": 2.0,
        "ATC_SPEED_I": 0.1,
        "TURN_RADIUS": 0.9,
    },
}
# No dead zone, and wheels that do not scrub: 2/0.15 = 13.3 rad/s.
_PRESETS["ideal"] = {
    **_PRESETS["pico_trail_freenove"],
    "MOT_THR_MIN": 0.0,
    "ATC_STR_RAT_FF": 0.075,
    "ATC_STR_RAT_P": 0.03,
}


def preset_params(preset_name: str) -> dict[str, float]:
    """Return the parameters of a rover description.

    Raises:
        ConfigError: there is no such description; the hint names the nearest.
    """
    found = _PRESETS.get(preset_name)
    if found is None:
        raise ConfigError(
            f"There are no parameters for a rover {preset_name!r}.",
            hint=did_you_mean(preset_name, _PRESETS),
        )
    return dict(found)
