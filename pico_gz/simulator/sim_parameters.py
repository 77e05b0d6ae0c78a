"""ArduPilot's SIM_* fault parameters for a rover's sensors.

Names and meanings follow ArduPilot 4.6; the prefix ``SIM_`` may be left out. Those that only
change finished samples are applied here; the others are settings of a sensor model and are
passed on by ``SensorSuite``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import isfinite
from typing import Any

import msgspec

from pico_gz.core.messages import BarometerData, CompassData, GpsData, ImuData, Vector3
from pico_gz.core.units import US_PER_MS, US_PER_S
from pico_gz.errors import ConfigError, did_you_mean
from pico_gz.simulator.ambient_sensors import EXPONENT, LAPSE_PER_M, SEA_LEVEL_PA
from pico_gz.simulator.random import normal, stream_key, uniform

# Parameters of finished samples, 0 = no effect. Units: degrees, metres, milligauss, ms, SI.
_SINGLE = (
    "GPS_DISABLE", "GPS_DRIFTALT", "GPS_NOISE", "GPS_BYTELOSS",
    "MAG1_FAIL", "MAG1_SCALING", "MAG_RND", "MAG_DELAY",
    "ACCEL1_FAIL", "ACC1_RND", "GYR_FAIL_MSK", "GYR1_RND",
    "BARO_DISABLE", "BARO_FREEZE", "BARO_GLITCH", "BARO_DRIFT", "BARO_DELAY",
)  # fmt: skip
_PER_AXIS = (
    "GPS_GLITCH", "GPS_VERR", "MAG1_OFS", "MAG1_DIA", "MAG1_ODI", "MAG_MOT",
    "ACC1_BIAS", "ACC1_SCAL", "GYR1_BIAS", "GYR1_SCALE",
)  # fmt: skip
SAMPLE_PARAMETERS = (*_SINGLE, *(f"{name}_{axis}" for name in _PER_AXIS for axis in "XYZ"))
# Parameters of the models.
MODEL_PARAMETERS = (
    "GPS_JAM", "GPS_NUMSATS", "GPS_LAG_MS", "GPS_HZ", "GPS_LOCKTIME",
    "BATT_VOLTAGE", "BATT_CAP_AH",
)  # fmt: skip
_MILLIGAUSS = 1.0e-3
_PERCENT = 1.0e-2
_FIX_BYTES = 100  # of a UBX NAV-PVT message
_DELAYED = {"compass": CompassData, "barometer": BarometerData}
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
    """One vehicle's parameters that act on finished samples; noise depends on the time alone."""

    def __init__(self, seed: int, vehicle_id: int) -> None:
        self._key_of = partial(stream_key, seed, vehicle_id)
        self._values: dict[str, float] = {}
        self._frozen: BarometerData | None = None
        self._held_gyro: Vector3 | None = None
        self._late: dict[str, list[list[Any]]] = {}  # field -> [time_us, sample], oldest first
        self._current_a = 0.0
        self._drift_since_us = 0

    def __bool__(self) -> bool:
        return bool(self._values)

    def set(self, name: str, value: float, now_us: int) -> None:
        """Set a parameter; 0 switches it off."""
        if not isfinite(value):
            raise ConfigError(f"Parameter {name} = {value} is not a number.")
        if name == "BARO_FREEZE":
            self._frozen = None
        if name == "GYR_FAIL_MSK":
            self._held_gyro = None
        if name in ("BARO_DRIFT", "GPS_DRIFTALT"):
            self._drift_since_us = now_us
        if value == 0.0:
            self._values.pop(name, None)
        else:
            self._values[name] = value

    def apply(self, now_us: int, samples: dict[str, Any]) -> None:
        """Change one step's samples, keyed by field of ``SensorData``, in place."""
        if (battery := samples.get("battery")) is not None:
            self._current_a = battery.current_a
        for field, change in (
            ("imu", self._imu),
            ("compass", self._compass),
            ("barometer", self._barometer),
            ("gps", self._gps),
        ):
            sample = samples.get(field)
            if sample is not None:
                samples[field] = change(sample, now_us)
        self._delay("compass", "MAG_DELAY", now_us, samples)
        self._delay("barometer", "BARO_DELAY", now_us, samples)

    def _delay(self, field: str, name: str, now_us: int, samples: dict[str, Any]) -> None:
        """Give a sample when it is so old, and none until then."""
        if name not in self._values:
            self._late.pop(field, None)
            return
        waiting = self._late.setdefault(field, [])
        if samples.get(field) is not None:
            waiting.append([now_us, samples[field]])
        due_us = now_us - self._values[name] * US_PER_MS
        samples[field] = None
        while waiting and waiting[0][0] <= due_us:
            samples[field] = waiting.pop(0)[1]

    def save(self) -> dict[str, Any]:
        """Return the state as plain values."""
        return {
            "values": dict(self._values),
            "frozen": msgspec.to_builtins(self._frozen),
            "held_gyro": msgspec.to_builtins(self._held_gyro),
            "late": msgspec.to_builtins(self._late),
            "current_a": self._current_a,
            "drift_since_us": self._drift_since_us,
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Set the state from what ``save`` gave."""
        self._values = dict(state["values"])
        self._frozen = msgspec.convert(state["frozen"], BarometerData | None)
        self._held_gyro = msgspec.convert(state["held_gyro"], Vector3 | None)
        self._late = {
            field: [[time_us, msgspec.convert(sample, _DELAYED[field])] for time_us, sample in late]
            for field, late in state["late"].items()
        }
        self._current_a = state["current_a"]
        self._drift_since_us = state["drift_since_us"]

    def _noise(self, name: str, now_us: int) -> Vector3:
        amount = self._values.get(name, 0.0)
        if not amount:
            return 0.0, 0.0, 0.0
        key = self._key_of(name)
        x, y, z = (amount * normal(key, 3 * now_us + axis) for axis in range(3))
        return x, y, z

    def _three(self, name: str) -> Vector3:
        get = self._values.get
        return get(f"{name}_X", 0.0), get(f"{name}_Y", 0.0), get(f"{name}_Z", 0.0)

    def _imu(self, sample: ImuData, now_us: int) -> ImuData:
        get = self._values.get
        accel = _scaled(sample.accel_mss, self._three("ACC1_SCAL"), 1.0)
        accel = _sum(accel, self._three("ACC1_BIAS"), self._noise("ACC1_RND", now_us))
        stuck = get("ACCEL1_FAIL")
        if stuck is not None:
            accel = (stuck, stuck, stuck)
        gyro = _scaled(sample.gyro_rads, self._three("GYR1_SCALE"), _PERCENT)
        gyro = _sum(gyro, self._three("GYR1_BIAS"), self._noise("GYR1_RND", now_us))
        if int(get("GYR_FAIL_MSK", 0.0)) & 1:
            self._held_gyro = gyro = self._held_gyro or gyro
        return ImuData(accel, gyro, sample.temperature_c)

    def _compass(self, sample: CompassData, now_us: int) -> CompassData | None:
        if "MAG1_FAIL" in self._values:
            return None
        field = self._soft_iron(sample.mag_gauss)
        factor = self._values.get("MAG1_SCALING", 1.0) - 1.0
        field = _scaled(field, (factor, factor, factor), 1.0)
        a, (x, y, z) = self._current_a, self._three("MAG_MOT")
        added = _sum(self._three("MAG1_OFS"), (a * x, a * y, a * z), self._noise("MAG_RND", now_us))
        x, y, z = added
        milligauss = (_MILLIGAUSS * x, _MILLIGAUSS * y, _MILLIGAUSS * z)
        return CompassData(_sum(field, milligauss))

    def _soft_iron(self, field: Vector3) -> Vector3:
        """Diagonal and off-diagonal of a symmetric matrix; a diagonal of 0 is none."""
        dx, dy, dz = self._three("MAG1_DIA")
        if not (dx or dy or dz):
            return field
        xy, xz, yz = self._three("MAG1_ODI")
        x, y, z = field
        return (
            dx * x + xy * y + xz * z,
            xy * x + dy * y + yz * z,
            xz * x + yz * y + dz * z,
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
        if "GPS_DISABLE" in self._values or self._is_garbled(now_us):
            return None
        lat, lon, alt = self._three("GPS_GLITCH")
        alt += self._values.get("GPS_DRIFTALT", 0.0) * self._drifting_s(now_us)
        alt += self._noise("GPS_NOISE", now_us)[0]
        vn, ve, vd = fix.velocity_ned_mps
        en, ee, ed = self._three("GPS_VERR")
        return msgspec.structs.replace(
            fix,
            lat_deg=max(-90.0, min(90.0, fix.lat_deg + lat)),
            lon_deg=max(-180.0, min(180.0, fix.lon_deg + lon)),
            alt_m=fix.alt_m + alt,
            velocity_ned_mps=(vn + en, ve + ee, vd + ed),
        )

    def _is_garbled(self, now_us: int) -> bool:
        """Whether a byte of this fix was lost on its way, which spoils all of it."""
        lost = min(1.0, self._values.get("GPS_BYTELOSS", 0.0) * _PERCENT)
        arrives = (1.0 - lost) ** _FIX_BYTES
        return lost > 0.0 and uniform(self._key_of("GPS_BYTELOSS"), now_us) >= arrives

    def _drifting_s(self, now_us: int) -> float:
        return (now_us - self._drift_since_us) / US_PER_S


def _scaled(vector: Vector3, by: Vector3, unit: float) -> Vector3:
    """Each axis times one plus so much."""
    (x, y, z), (a, b, c) = vector, by
    return x * (1.0 + unit * a), y * (1.0 + unit * b), z * (1.0 + unit * c)


def _sum(a: Vector3, b: Vector3, c: Vector3 = (0.0, 0.0, 0.0)) -> Vector3:
    return a[0] + b[0] + c[0], a[1] + b[1] + c[1], a[2] + b[2] + c[2]
