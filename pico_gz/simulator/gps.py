"""The GPS receiver: position, velocity, fix quality, rate and delay."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from pico_gz.core import portable_math
from pico_gz.core.frames import LocalFrame, wrap_deg_360
from pico_gz.core.messages import GpsData, GpsFixType
from pico_gz.core.snapshot import Snapshot
from pico_gz.core.units import US_PER_MS, US_PER_S
from pico_gz.core.vehicle_config import NoiseProfile
from pico_gz.errors import ConfigError
from pico_gz.simulator.kinematics import Motion
from pico_gz.simulator.noise import Sensor, column, gauss_markov, rounding_stage
from pico_gz.simulator.ops import Column, Ops
from pico_gz.simulator.random import NormalBlock, normal, stream_key
from pico_gz.simulator.sensor_parts import GPS_PARTS, GpsPart
from pico_gz.simulator.sensor_setup import SensorSetup, period_us_of_rate

NO_FIX_HDOP = 99.99
NEVER_US = 1 << 62
_FULL_VIEW = 12
_SATELLITES_2D = 3
_SATELLITES_3D = 4


class GpsReceiver(Snapshot):
    """One vehicle's receiver; everything here may be changed while it runs.

    Attributes:
        latency_us: from the measurement to its delivery.
        lock_us: from power-on to the first fix.
        period_us: of the delivered fixes, if slower than the measurements; 0 = all of them.
        satellites: in use, instead of those in view; -1 = those in view.
        jammed: no signal gets through.
        next_us: when the next fix is to be delivered.
    """

    _state_fields = (
        "latency_us", "lock_us", "period_us", "satellites", "jammed",
        "_power_on_us", "_epoch_us", "_known",
    )  # fmt: skip

    def __init__(self, fix_type: GpsFixType, latency_us: int, lock_us: int) -> None:
        self._best_fix = fix_type
        self.latency_us = latency_us
        self.lock_us = lock_us
        self.period_us = 0
        self.satellites = -1
        self.jammed = False
        self.next_us = NEVER_US
        self._power_on_us = -1
        self._epoch_us = -1
        self._known = [0.0, 0.0, 0.0]
        self._waiting: deque[tuple[int, GpsData]] = deque()

    def take(self, epoch_us: int, row: Sequence[float]) -> None:
        """Make a fix of (lat, lon, alt, speed, course, vn, ve, vd, satellites)."""
        if self._power_on_us < 0:
            self._power_on_us = epoch_us
        if self.period_us and epoch_us // self.period_us == self._epoch_us // self.period_us:
            return
        self._epoch_us = epoch_us
        lat, lon, alt, speed, course, north, east, down, in_view = row
        satellites = int(in_view) if self.satellites < 0 else self.satellites
        fix = self._fix_type(epoch_us, satellites)
        if fix is GpsFixType.NO_FIX:
            self._wait(epoch_us, self._without_fix(course))
            return
        # Three satellites do not tell the height.
        self._known = [lat, lon, self._known[2] if fix is GpsFixType.FIX_2D else alt]
        self._wait(
            epoch_us,
            GpsData(
                lat_deg=lat,
                lon_deg=lon,
                alt_m=self._known[2],
                speed_ms=speed,
                course_deg=course,
                velocity_ned_mps=(north, east, down),
                fix_type=fix,
                satellites=satellites,
                hdop=(80 + 5 * max(0, _FULL_VIEW - satellites)) / 100,
            ),
        )

    def release(self, now_us: int) -> GpsData | None:
        """Return the newest fix that is due, if any; older ones are lost."""
        told = None
        waiting = self._waiting
        while waiting and waiting[0][0] <= now_us:
            told = waiting.popleft()[1]
        self.next_us = waiting[0][0] if waiting else NEVER_US
        return told

    def save_state(self) -> dict[str, Any]:
        """Return the state as plain values, with the fixes on their way."""
        waiting = [[release_us, msgspec.to_builtins(fix)] for release_us, fix in self._waiting]
        return {**super().save_state(), "waiting": waiting}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Set the state from what ``save_state`` gave."""
        super().load_state(state)
        self._waiting = deque(
            (release_us, msgspec.convert(fix, GpsData)) for release_us, fix in state["waiting"]
        )
        self.next_us = self._waiting[0][0] if self._waiting else NEVER_US

    def _wait(self, epoch_us: int, fix: GpsData) -> None:
        release_us = epoch_us + self.latency_us
        # A latency that was shortened must not let a newer fix overtake an older one.
        if self._waiting and self._waiting[-1][0] > release_us:
            self._waiting.clear()
        self._waiting.append((release_us, fix))
        self.next_us = self._waiting[0][0]

    def _fix_type(self, epoch_us: int, satellites: int) -> GpsFixType:
        searching = epoch_us - self._power_on_us < self.lock_us
        if self.jammed or searching or satellites < _SATELLITES_2D:
            return GpsFixType.NO_FIX
        return GpsFixType.FIX_2D if satellites < _SATELLITES_3D else self._best_fix

    def _without_fix(self, course_deg: float) -> GpsData:
        lat, lon, alt = self._known
        return GpsData(
            lat_deg=lat,
            lon_deg=lon,
            alt_m=alt,
            speed_ms=0.0,
            course_deg=course_deg,
            fix_type=GpsFixType.NO_FIX,
            satellites=0 if self.satellites < 0 else min(self.satellites, _SATELLITES_2D - 1),
            hdop=NO_FIX_HDOP,
        )


COURSE_HOLD_MPS = 0.1
# A satellite comes or goes when a normal draw passes this: about every 7 s at 5 Hz.
_SATELLITE_DRAW = 2.2
_AXES = range(3)


class Gps(Sensor):
    """Measures at its epochs, tells each fix its latency later.

    Errors are added in metres before the conversion to latitude and longitude. Course follows
    from the noisy velocity and is held below 0.1 m/s. What each receiver makes of a measurement
    is in ``GpsReceiver``.
    """

    _columns = ("_drift_m", "_vel_drift", "_course_deg", "_satellites")
    _streams = ("_draws",)

    def __init__(
        self, ops: Ops, vehicles: Sequence[SensorSetup], frame: LocalFrame, seed: int
    ) -> None:
        first = vehicles[0]
        lead_us = round(first.gps_latency_ms * US_PER_MS)
        super().__init__(ops, period_us_of_rate(first.gps_rate_hz), lead_us)
        self._frame = frame
        self._models = [_ErrorModel(v) for v in vehicles]
        self._set_sigmas(vehicles, seed)
        count = len(vehicles)
        self._course_deg: Column = column(ops, [0.0] * count)
        self._few: Column = column(ops, [m.satellites[0] for m in self._models])
        self._many: Column = column(ops, [m.satellites[1] for m in self._models])
        start = [float(sum(m.satellites) // 2) for m in self._models]
        self._satellites: Column = column(ops, start)
        ids = [v.vehicle_id for v in vehicles]
        self._draws = NormalBlock(seed, ids, "gps", 13, scalar=self._scalar)
        self._receivers = [
            GpsReceiver(GPS_PARTS[v.gps].fix_type, lead_us, round(v.gps_first_fix_s * US_PER_S))
            for v in vehicles
        ]
        self.release_us = NEVER_US

    def _set_sigmas(self, vehicles: Sequence[SensorSetup], seed: int) -> None:
        ops, models = self._ops, self._models
        keys = [stream_key(seed, v.vehicle_id, "gps.turn_on") for v in vehicles]
        pairs = list(zip(models, keys, strict=True))
        self._white = [column(ops, [m.white_m[axis] for m in models]) for axis in _AXES]
        self._vel_white = column(ops, [m.vel_white for m in models])
        self._round = rounding_stage(ops, [m.quantized for m in models])
        self._drift_m = [
            column(ops, [m.drift_m[axis] * normal(key, axis) for m, key in pairs]) for axis in _AXES
        ]
        self._vel_drift = [
            column(ops, [m.vel_drift * normal(key, 3 + axis) for m, key in pairs]) for axis in _AXES
        ]

    def _set_interval(self, interval_s: float) -> None:
        ops, models = self._ops, self._models
        slow = [gauss_markov(interval_s, m.drift_s) for m in models]
        quick = [gauss_markov(interval_s, m.vel_drift_s) for m in models]
        self._phi = column(ops, [phi for phi, _ in slow])
        self._vel_phi = column(ops, [phi for phi, _ in quick])
        gains = [gain for _, gain in slow]
        self._gains = [
            column(ops, [g * m.drift_m[axis] for g, m in zip(gains, models, strict=True)])
            for axis in _AXES
        ]
        vel_gains = [g * m.vel_drift for (_, g), m in zip(quick, models, strict=True)]
        self._vel_gain = column(ops, vel_gains)

    def measure(self, now_us: int, dt_us: int, motion: Motion) -> None:
        """Take one fix of every vehicle; it is told later."""
        if self.clock.tick(now_us, dt_us):
            self._set_interval(self.clock.interval_s)
        period_us = self.clock.period_us
        epoch_us = self.clock.next_us - period_us if period_us else now_us
        draws = self._draws.take()
        self._wander(draws)
        place = self._place(motion, draws)
        velocity = self._velocity(motion, draws)
        numbers = (*place, *velocity, self._satellites)
        rows = [numbers] if self._scalar else zip(*(c.tolist() for c in numbers), strict=True)
        for receiver, row in zip(self._receivers, rows, strict=True):
            receiver.take(epoch_us, row)
        self._find_release()

    def release(self, now_us: int) -> list[GpsData | None]:
        """Return the newest fix that is due, per vehicle."""
        told = [receiver.release(now_us) for receiver in self._receivers]
        self._find_release()
        return told

    def set_parameter(self, place: int, name: str, value: float) -> None:
        """Set ``GPS_JAM, GPS_NUMSATS, GPS_LAG_MS, GPS_HZ`` or ``GPS_LOCKTIME`` of one vehicle.

        Raises:
            ConfigError: the value is impossible for the fitted receiver.
        """
        receiver = self._receivers[place]
        if name == "GPS_JAM":
            receiver.jammed = value != 0.0
        elif name == "GPS_NUMSATS":
            receiver.satellites = max(-1, min(255, round(value)))
        elif name == "GPS_HZ":
            period_us = period_us_of_rate(value)
            if not 0 < self.clock.period_us <= period_us:
                raise ConfigError(
                    f"GPS_HZ {value} is not between 0 and the receiver's own rate.",
                    hint="Fit a faster one with gps_rate_hz.",
                )
            receiver.period_us = period_us
        elif value < 0.0:
            raise ConfigError(f"{name} {value} is negative.")
        elif name == "GPS_LAG_MS":
            receiver.latency_us = round(value * US_PER_MS)
        else:
            receiver.lock_us = round(value * US_PER_S)

    def save(self, place: int) -> dict[str, Any]:
        """Return the state of the vehicle at this place."""
        return {**super().save(place), "receiver": self._receivers[place].save_state()}

    def load(self, place: int, state: Mapping[str, Any]) -> None:
        """Set the state of the vehicle at this place."""
        super().load(place, state)
        self._receivers[place].load_state(state["receiver"])
        self._find_release()

    def _find_release(self) -> None:
        self.release_us = min(receiver.next_us for receiver in self._receivers)

    def _wander(self, draws: Any) -> None:
        """Let the slow errors and the number of satellites wander."""
        ops, phi, vel_phi, vel_gain = self._ops, self._phi, self._vel_phi, self._vel_gain
        rows = zip(self._drift_m, self._gains, draws[0:3], strict=True)
        self._drift_m = [phi * drift + gain * draw for drift, gain, draw in rows]
        pairs = zip(self._vel_drift, draws[3:6], strict=True)
        self._vel_drift = [vel_phi * drift + vel_gain * draw for drift, draw in pairs]
        step = ops.where(draws[12] > _SATELLITE_DRAW, 1.0, 0.0)
        step = step - ops.where(draws[12] < -_SATELLITE_DRAW, 1.0, 0.0)
        self._satellites = ops.clip(self._satellites + step, self._few, self._many)

    def _place(self, m: Motion, draws: Any) -> tuple[Column, Column, Column]:
        """Return latitude, longitude and altitude with their errors."""
        rows = zip(
            (m.north_m, m.east_m, m.down_m), self._drift_m, self._white, draws[6:9], strict=True
        )
        noisy = [true + drift + sigma * draw for true, drift, sigma, draw in rows]
        lat, lon, alt = self._frame.geodetic_from_ned(self._ops, *noisy)
        return self._round(lat, 1.0e7), self._round(lon, 1.0e7), self._round(alt, 1.0e3)

    def _velocity(self, m: Motion, draws: Any) -> tuple[Column, ...]:
        """Return speed, course and velocity with their errors; a slow rover keeps its course."""
        ops, white = self._ops, self._vel_white
        rows = zip(
            (m.vel_n_mps, m.vel_e_mps, m.vel_d_mps), self._vel_drift, draws[9:12], strict=True
        )
        north, east, down = (
            self._round(true + drift + white * draw, 1.0e3) for true, drift, draw in rows
        )
        speed = ops.sqrt(north * north + east * east)
        angle = portable_math.atan2(ops, east, north) * portable_math.DEG_PER_RAD
        course = wrap_deg_360(ops, self._round(angle, 1.0e5))
        self._course_deg = ops.where(speed < COURSE_HOLD_MPS, self._course_deg, course)
        return self._round(speed, 1.0e3), self._course_deg, north, east, down


class _ErrorModel:
    """One vehicle's sigmas, after its noise profile and explicit figures."""

    __slots__ = ("drift_m", "drift_s", "quantized", "satellites", "vel_drift", "vel_drift_s",
                 "vel_white", "white_m")  # fmt: skip

    def __init__(self, vehicle: SensorSetup) -> None:
        part, scale = GPS_PARTS[vehicle.gps], vehicle.noise.scale
        drift, white = _position_sigmas(part, vehicle)
        self.drift_m = (drift, drift, drift * part.vertical)
        self.white_m = (white, white, white * part.vertical)
        self.drift_s, self.vel_drift_s = part.drift_s, part.velocity_drift_s
        self.vel_drift = part.velocity_drift_mps * scale
        self.vel_white = part.velocity_white_mps * scale
        self.quantized = scale > 0.0
        few, many = part.satellites if scale else (_FULL_VIEW, _FULL_VIEW)
        self.satellites = (few, many)


def _position_sigmas(part: GpsPart, vehicle: SensorSetup) -> tuple[float, float]:
    """Return the horizontal (drift, white) of a vehicle's receiver [m]."""
    scale = vehicle.noise.scale
    if vehicle.gps_noise_m is not None:
        return 0.0, vehicle.gps_noise_m * scale
    if vehicle.noise is NoiseProfile.BAD and part.bad is not None:
        return part.bad
    return part.drift_m * scale, part.white_m * scale
