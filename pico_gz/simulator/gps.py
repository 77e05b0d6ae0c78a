"""The GPS receiver: position, velocity, fix quality, rate and delay."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

from pico_gz.core.frames import LocalFrame, wrap_deg_360
from pico_gz.core.messages import GpsData, GpsFixType
from pico_gz.core.portable_math import DEG_PER_RAD, atan2
from pico_gz.core.units import US_PER_MS, US_PER_S
from pico_gz.core.vehicle_config import NoiseProfile
from pico_gz.errors import ConfigError
from pico_gz.simulator.kinematics import Motion
from pico_gz.simulator.noise import Sensor, gauss_markov, rounded
from pico_gz.simulator.random import NormalStream, normal, stream_key
from pico_gz.simulator.sensor_parts import GPS_PARTS, GpsPart
from pico_gz.simulator.sensor_setup import SensorSetup, period_us_of_rate

NO_FIX_HDOP = 99.99
NEVER_US = 1 << 62
COURSE_HOLD_MPS = 0.1
_FULL_VIEW = 12
_SATELLITES_2D = 3
_SATELLITES_3D = 4
# A satellite comes or goes when a normal draw passes this: about every 7 s at 5 Hz.
_SATELLITE_DRAW = 2.2
_FIX_TYPES = tuple(GpsFixType)

# A fix: lat, lon [deg], alt [m], speed [m/s], course [deg], velocity NED [m/s], hdop, fix type,
# satellites.
FIX_NUMBERS = 11
Fix = tuple[float, float, float, float, float, float, float, float, float, int, int]

_RECEIVER_FIELDS = (
    "latency_us", "lock_us", "fix_period_us", "satellites_set", "is_jammed", "power_on_us",
    "epoch_us", "known",
)  # fmt: skip


class Gps(Sensor):
    """Measures at its epochs, gives each fix its latency later.

    Errors are added in metres before the conversion to latitude and longitude. Course follows
    from the noisy velocity and is held below 0.1 m/s.

    Attributes:
        latency_us: from the measurement to its delivery.
        lock_us: from power-on to the first fix.
        fix_period_us: of the delivered fixes, if slower than the measurements; 0 = all of them.
        satellites_set: in use, instead of those in view; -1 = those in view.
        is_jammed: no signal gets through.
        release_us: when the next fix is to be delivered.
        waiting: fixes on their way, (when to deliver, fix), oldest first.
    """

    __slots__ = (
        "_gains", "_phi", "_vel_gain", "_vel_phi", "best_fix", "course_deg",
        "draws", "drift_m", "drift_sigma", "drift_tau_s", "epoch_us", "few", "fix_period_us",
        "frame", "is_jammed", "known", "latency_us", "lock_us", "many", "power_on_us",
        "release_us", "rounds", "satellites", "satellites_set", "vel_drift", "vel_drift_tau_s",
        "vel_sigma", "vel_white", "waiting", "white",
    )  # fmt: skip
    state_fields = ("drift_m", "vel_drift", "course_deg", "satellites")
    stream_fields = ("draws",)

    def __init__(self, setup: SensorSetup, frame: LocalFrame, seed: int) -> None:
        lead_us = round(setup.gps_latency_ms * US_PER_MS)
        super().__init__(period_us_of_rate(setup.gps_rate_hz), lead_us)
        self.frame = frame
        part, scale = GPS_PARTS[setup.gps], setup.noise.scale
        drift, white = _position_sigmas(part, setup)
        key = stream_key(seed, setup.vehicle_id, "gps.turn_on")
        self.drift_sigma = [drift, drift, drift * part.vertical]
        self.white = [white, white, white * part.vertical]
        self.drift_tau_s, self.vel_drift_tau_s = part.drift_s, part.velocity_drift_s
        self.vel_sigma = part.velocity_drift_mps * scale
        self.vel_white = part.velocity_white_mps * scale
        self.rounds = scale > 0.0
        self.few, self.many = part.satellites if scale else (_FULL_VIEW, _FULL_VIEW)
        self.drift_m = [sigma * normal(key, k) for k, sigma in enumerate(self.drift_sigma)]
        self.vel_drift = [self.vel_sigma * normal(key, 3 + axis) for axis in range(3)]
        self.course_deg = 0.0
        self.satellites = (self.few + self.many) // 2
        self.draws = NormalStream(seed, setup.vehicle_id, "gps", 13)
        self._gains = [0.0, 0.0, 0.0]
        self._phi = self._vel_phi = self._vel_gain = 0.0
        self.best_fix = int(part.fix_type)
        self.latency_us = lead_us
        self.lock_us = round(setup.gps_first_fix_s * US_PER_S)
        self.fix_period_us = 0
        self.satellites_set = -1
        self.is_jammed = False
        self.power_on_us = -1
        self.epoch_us = -1
        self.known = [0.0, 0.0, 0.0]
        self.waiting: deque[tuple[int, Fix]] = deque()
        self.release_us = NEVER_US

    def measure(self, now_us: int, dt_us: int, motion: Motion) -> None:
        """Take a fix; it is delivered later."""
        self._tick(now_us, dt_us)
        epoch_us = self.next_us - self.period_us if self.period_us else now_us
        draws = self.draws.take()
        self._wander(draws)
        lat, lon, alt = self._place(motion, draws)
        speed, north, east, down = self._velocity(motion, draws)
        if self.power_on_us < 0:
            self.power_on_us = epoch_us
        period = self.fix_period_us
        if period and epoch_us // period == self.epoch_us // period:
            return
        self.epoch_us = epoch_us
        in_use = self.satellites if self.satellites_set < 0 else self.satellites_set
        fix = self._fix_type(epoch_us, in_use)
        if fix == GpsFixType.NO_FIX:
            self._wait(epoch_us, self._without_fix())
            return
        # Three satellites do not tell the height.
        alt = self.known[2] if fix == GpsFixType.FIX_2D else alt
        self.known = [lat, lon, alt]
        hdop = (80 + 5 * max(0, _FULL_VIEW - in_use)) / 100
        course = self.course_deg
        self._wait(epoch_us, (lat, lon, alt, speed, course, north, east, down, hdop, fix, in_use))

    def release(self, now_us: int) -> GpsData | None:
        """Return the newest fix that is due, if any; older ones are lost."""
        newest = None
        waiting = self.waiting
        while waiting and waiting[0][0] <= now_us:
            newest = waiting.popleft()[1]
        self.release_us = waiting[0][0] if waiting else NEVER_US
        return None if newest is None else gps_data(newest)

    def set_parameter(self, name: str, value: float) -> None:
        """Set ``GPS_JAM, GPS_NUMSATS, GPS_LAG_MS, GPS_HZ`` or ``GPS_LOCKTIME``.

        Raises:
            ConfigError: the value is impossible for the fitted receiver.
        """
        if name == "GPS_JAM":
            self.is_jammed = value != 0.0
        elif name == "GPS_NUMSATS":
            self.satellites_set = max(-1, min(255, round(value)))
        elif name == "GPS_HZ":
            period_us = period_us_of_rate(value)
            if not 0 < self.period_us <= period_us:
                raise ConfigError(
                    f"GPS_HZ {value} is not between 0 and the receiver's own rate.",
                    hint="Fit a faster one with gps_rate_hz.",
                )
            self.fix_period_us = period_us
        elif value < 0.0:
            raise ConfigError(f"{name} {value} is negative.")
        elif name == "GPS_LAG_MS":
            self.latency_us = round(value * US_PER_MS)
        else:
            self.lock_us = round(value * US_PER_S)

    def save(self) -> dict[str, Any]:
        """Return the state as plain values, with the fixes on their way."""
        receiver = {name: getattr(self, name) for name in _RECEIVER_FIELDS}
        receiver["known"] = list(self.known)
        receiver["waiting"] = [[release_us, list(fix)] for release_us, fix in self.waiting]
        return {**super().save(), "receiver": receiver}

    def load(self, state: Mapping[str, Any]) -> None:
        """Set the state from what ``save`` gave."""
        super().load(state)
        receiver = state["receiver"]
        for name in _RECEIVER_FIELDS:
            setattr(self, name, receiver[name])
        self.known = list(receiver["known"])
        self.waiting = deque((us, tuple(fix)) for us, fix in receiver["waiting"])
        self.release_us = self.waiting[0][0] if self.waiting else NEVER_US

    @property
    def queue(self) -> list[float]:
        """The fixes on their way as numbers: how many, then (when to deliver, fix) of each."""
        rows = [(float(release_us), *map(float, fix)) for release_us, fix in self.waiting]
        return [float(len(rows)), *(number for row in rows for number in row)]

    @queue.setter
    def queue(self, numbers: Sequence[float]) -> None:
        size = 1 + FIX_NUMBERS
        rows = [numbers[1 + k * size : 1 + (k + 1) * size] for k in range(int(numbers[0]))]
        self.waiting = deque((int(r[0]), (*r[1:-2], int(r[-2]), int(r[-1]))) for r in rows)  # type: ignore[misc]

    def _set_interval(self, interval_s: float) -> None:
        self._phi, gain = gauss_markov(interval_s, self.drift_tau_s)
        self._gains = [gain * sigma for sigma in self.drift_sigma]
        self._vel_phi, gain = gauss_markov(interval_s, self.vel_drift_tau_s)
        self._vel_gain = gain * self.vel_sigma

    def _wander(self, draws: list[float]) -> None:
        """Let the slow errors and the number of satellites wander."""
        phi, vel_phi, vel_gain = self._phi, self._vel_phi, self._vel_gain
        rows = zip(self.drift_m, self._gains, draws[0:3], strict=True)
        self.drift_m = [phi * drift + gain * draw for drift, gain, draw in rows]
        pairs = zip(self.vel_drift, draws[3:6], strict=True)
        self.vel_drift = [vel_phi * drift + vel_gain * draw for drift, draw in pairs]
        step = (draws[12] > _SATELLITE_DRAW) - (draws[12] < -_SATELLITE_DRAW)
        self.satellites = max(self.few, min(self.many, self.satellites + step))

    def _place(self, m: Motion, draws: list[float]) -> tuple[float, float, float]:
        """Return latitude, longitude and altitude with their errors."""
        (a, b, c), (u, v, w) = self.drift_m, self.white
        lat, lon, alt = self.frame.geodetic_from_ned(
            m.north_m + a + u * draws[6], m.east_m + b + v * draws[7], m.down_m + c + w * draws[8]
        )
        if not self.rounds:
            return lat + 0.0, lon + 0.0, alt + 0.0
        return rounded(lat, 1.0e7), rounded(lon, 1.0e7), rounded(alt, 1.0e3)

    def _velocity(self, m: Motion, draws: list[float]) -> tuple[float, float, float, float]:
        """Return speed and velocity with their errors; a slow rover keeps its course."""
        white, (a, b, c) = self.vel_white, self.vel_drift
        north = m.vel_n_mps + a + white * draws[9] + 0.0
        east = m.vel_e_mps + b + white * draws[10] + 0.0
        down = m.vel_d_mps + c + white * draws[11] + 0.0
        if self.rounds:
            north, east, down = rounded(north, 1e3), rounded(east, 1e3), rounded(down, 1e3)
        speed = sqrt(north * north + east * east)
        if speed >= COURSE_HOLD_MPS:
            angle = atan2(east, north) * DEG_PER_RAD
            self.course_deg = wrap_deg_360(rounded(angle, 1e5) if self.rounds else angle + 0.0)
        return rounded(speed, 1e3) if self.rounds else speed, north, east, down

    def _wait(self, epoch_us: int, fix: Fix) -> None:
        release_us = epoch_us + self.latency_us
        # A latency that was shortened must not let a newer fix overtake an older one.
        if self.waiting and self.waiting[-1][0] > release_us:
            self.waiting.clear()
        self.waiting.append((release_us, fix))
        self.release_us = self.waiting[0][0]

    def _fix_type(self, epoch_us: int, satellites: int) -> int:
        searching = epoch_us - self.power_on_us < self.lock_us
        if self.is_jammed or searching or satellites < _SATELLITES_2D:
            return GpsFixType.NO_FIX.value
        return GpsFixType.FIX_2D.value if satellites < _SATELLITES_3D else self.best_fix

    def _without_fix(self) -> Fix:
        lat, lon, alt = self.known
        in_use = 0 if self.satellites_set < 0 else min(self.satellites_set, _SATELLITES_2D - 1)
        no_fix = GpsFixType.NO_FIX.value
        return lat, lon, alt, 0.0, self.course_deg, 0.0, 0.0, 0.0, NO_FIX_HDOP, no_fix, in_use


def gps_data(fix: Fix) -> GpsData:
    """The message about a fix."""
    lat, lon, alt, speed, course, north, east, down, hdop, fix_type, satellites = fix
    return GpsData(
        lat_deg=lat,
        lon_deg=lon,
        alt_m=alt,
        speed_ms=speed,
        course_deg=course,
        velocity_ned_mps=(north, east, down),
        fix_type=_FIX_TYPES[fix_type],
        satellites=satellites,
        hdop=hdop,
    )


def _position_sigmas(part: GpsPart, setup: SensorSetup) -> tuple[float, float]:
    """Return the horizontal (drift, white) of a vehicle's receiver [m]."""
    scale = setup.noise.scale
    if setup.gps_noise_m is not None:
        return 0.0, setup.gps_noise_m * scale
    if setup.noise is NoiseProfile.BAD and part.bad is not None:
        return part.bad
    return part.drift_m * scale, part.white_m * scale
