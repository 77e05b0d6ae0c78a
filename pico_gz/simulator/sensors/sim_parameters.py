"""The ``SIM_*`` fault parameters of ArduPilot that make sense for a rover's sensors.

Names and meanings follow ArduPilot 4.6; the prefix ``SIM_`` may be left out. Those that only
change finished samples are applied here; the others are settings of a sensor model and are
passed on by ``SensorSuite``.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

import msgspec

from pico_gz.errors import ConfigError, did_you_mean
from pico_gz.messages import BarometerData, CompassData, GpsData, ImuData
from pico_gz.simulator.sensors.barometer import EXPONENT, LAPSE_PER_M, SEA_LEVEL_PA
from pico_gz.units import US_PER_S

# Parameters of finished samples, all 0 = no effect. Units: degrees, metres, m/s, gauss, SI.
SAMPLE_PARAMETERS = (
    "GPS_DISABLE",
    "GPS_GLITCH_X", "GPS_GLITCH_Y", "GPS_GLITCH_Z",
    "GPS_VERR_X", "GPS_VERR_Y", "GPS_VERR_Z", "GPS_DRIFTALT",
    "MAG1_FAIL", "MAG1_OFS_X", "MAG1_OFS_Y", "MAG1_OFS_Z", "MAG1_SCALING",
    "ACCEL1_FAIL", "ACC1_BIAS_X", "ACC1_BIAS_Y", "ACC1_BIAS_Z",
    "GYR1_BIAS_X", "GYR1_BIAS_Y", "GYR1_BIAS_Z",
    "BARO_DISABLE", "BARO_FREEZE", "BARO_GLITCH", "BARO_DRIFT",
)  # fmt: skip
# Parameters of the models.
MODEL_PARAMETERS = (
    "GPS_JAM", "GPS_NUMSATS", "GPS_LAG_MS", "GPS_HZ", "GPS_LOCKTIME",
    "BATT_VOLTAGE", "BATT_CAP_AH",
)  # fmt: skip
_MILLIGAUSS = 1.0e-3
_SEA_LEVEL_PA_PER_M = SEA_LEVEL_PA * LAPSE_PER_M * EXPONENT


def find_parameter(name: str) -> str:
    """Return the plain name of a parameter.

    Raises:
        ConfigError: it is unknown; the nearest names are offered.
    """
    plain = name.upper().removeprefix("SIM_")
    known = (*SAMPLE_PARAMETERS, *MODEL_PARAMETERS)
    if plain not in known:
        raise ConfigError(f"Unknown sensor parameter {name!r}.", hint=did_you_mean(plain, known))
    return plain


class SampleParameters:
    """One vehicle's parameters that act on finished samples."""

    def __init__(self) -> None:
        self._values: dict[str, float] = {}
        self._frozen: BarometerData | None = None
        self._drift_since_us = 0

    def __bool__(self) -> bool:
        return bool(self._values)

    def set(self, name: str, value: float, now_us: int) -> None:
        """Set a parameter; 0 switches it off."""
        if not isfinite(value):
            raise ConfigError(f"Parameter {name} = {value} is not a number.")
        if name == "BARO_FREEZE":
            self._frozen = None
        if name in ("BARO_DRIFT", "GPS_DRIFTALT"):
            self._drift_since_us = now_us
        if value == 0.0:
            self._values.pop(name, None)
        else:
            self._values[name] = value

    def apply(self, now_us: int, samples: dict[str, Any]) -> None:
        """Change one step's samples, keyed by field of ``SensorData``, in place."""
        for field, change in (
            ("imu", self._imu),
            ("compass", self._compass),
            ("barometer", self._barometer),
            ("gps", self._gps),
        ):
            sample = samples.get(field)
            if sample is not None:
                samples[field] = change(sample, now_us)

    def save(self) -> dict[str, Any]:
        """Return the state as plain values."""
        return {
            "values": dict(self._values),
            "frozen": msgspec.to_builtins(self._frozen),
            "drift_since_us": self._drift_since_us,
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Set the state from what ``save`` gave."""
        self._values = dict(state["values"])
        self._frozen = msgspec.convert(state["frozen"], BarometerData | None)
        self._drift_since_us = state["drift_since_us"]

    def _three(self, name: str) -> tuple[float, float, float]:
        get = self._values.get
        return get(f"{name}_X", 0.0), get(f"{name}_Y", 0.0), get(f"{name}_Z", 0.0)

    def _imu(self, sample: ImuData, _now_us: int) -> ImuData:
        (ax, ay, az), (gx, gy, gz) = sample.accel_mss, sample.gyro_rads
        bx, by, bz = self._three("ACC1_BIAS")
        wx, wy, wz = self._three("GYR1_BIAS")
        accel = (ax + bx, ay + by, az + bz)
        stuck = self._values.get("ACCEL1_FAIL")
        if stuck is not None:
            accel = (stuck, stuck, stuck)
        return ImuData(accel, (gx + wx, gy + wy, gz + wz), sample.temperature_c)

    def _compass(self, sample: CompassData, _now_us: int) -> CompassData | None:
        if "MAG1_FAIL" in self._values:
            return None
        x, y, z = sample.mag_gauss
        ox, oy, oz = self._three("MAG1_OFS")
        k = self._values.get("MAG1_SCALING", 1.0)
        return CompassData(
            (k * x + _MILLIGAUSS * ox, k * y + _MILLIGAUSS * oy, k * z + _MILLIGAUSS * oz)
        )

    def _barometer(self, sample: BarometerData, now_us: int) -> BarometerData | None:
        if "BARO_DISABLE" in self._values:
            return None
        if "BARO_FREEZE" in self._values:
            self._frozen = sample = self._frozen or sample
        higher_m = self._values.get("BARO_GLITCH", 0.0)
        higher_m += self._values.get("BARO_DRIFT", 0.0) * self._drifting_s(now_us)
        pressure = sample.pressure_pa - higher_m * _SEA_LEVEL_PA_PER_M
        return BarometerData(max(1.0, pressure), sample.temperature_c)

    def _gps(self, fix: GpsData, now_us: int) -> GpsData | None:
        if "GPS_DISABLE" in self._values:
            return None
        lat, lon, alt = self._three("GPS_GLITCH")
        alt += self._values.get("GPS_DRIFTALT", 0.0) * self._drifting_s(now_us)
        vn, ve, vd = fix.velocity_ned_mps
        en, ee, ed = self._three("GPS_VERR")
        return msgspec.structs.replace(
            fix,
            lat_deg=max(-90.0, min(90.0, fix.lat_deg + lat)),
            lon_deg=max(-180.0, min(180.0, fix.lon_deg + lon)),
            alt_m=fix.alt_m + alt,
            velocity_ned_mps=(vn + en, ve + ee, vd + ed),
        )

    def _drifting_s(self, now_us: int) -> float:
        return (now_us - self._drift_since_us) / US_PER_S
