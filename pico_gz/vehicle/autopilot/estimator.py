"""The rover's state estimate from the sensors of its platform."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pico_gz.core.frames import LocalFrame, wrap_pi
from pico_gz.core.messages import CompassData, GpsData, GpsFixType
from pico_gz.core.portable_math import PI, atan2, sincos
from pico_gz.core.snapshot import Snapshot
from pico_gz.vehicle.autopilot.heading import HeadingFilter, declination_rad
from pico_gz.vehicle.autopilot.position import PositionFilter, WheelOdometry
from pico_gz.vehicle.autopilot.tilt import ImuWatch, TiltFilter

if TYPE_CHECKING:
    from pico_gz.vehicle.platform.platform import SitlPlatform


_FIXES_NEEDED: Final = 5
_MIN_SATELLITES: Final = 5
_MAX_HDOP: Final = 3.0
# Fixes further apart than this [degrees, about 10 m] are still settling.
_SETTLED_DEG: Final = 1e-4


def usable(fix: GpsData) -> bool:
    """Whether a fix is good enough to navigate with."""
    return (
        fix.fix_type >= GpsFixType.FIX_3D
        and fix.satellites >= _MIN_SATELLITES
        and fix.hdop <= _MAX_HDOP
    )


class OriginFinder(Snapshot):
    """Averages consecutive good fixes; one bad or far one starts again."""

    _state_fields = ("alt_m", "count", "lat_deg", "lon_deg")
    __slots__ = _state_fields

    def __init__(self) -> None:
        self.count = 0
        self.lat_deg = self.lon_deg = self.alt_m = 0.0

    def restart(self) -> None:
        """Forget what was gathered."""
        self.count = 0

    def add(self, fix: GpsData) -> bool:
        """Take a usable fix; true once the mean in ``lat_deg, lon_deg, alt_m`` can be used."""
        far = (
            abs(fix.lat_deg - self.lat_deg) > _SETTLED_DEG
            or abs(fix.lon_deg - self.lon_deg) > _SETTLED_DEG
        )
        if self.count == 0 or far:
            self.count = 1
            self.lat_deg, self.lon_deg, self.alt_m = fix.lat_deg, fix.lon_deg, fix.alt_m
        else:
            self.count += 1
            share = 1.0 / self.count
            self.lat_deg += (fix.lat_deg - self.lat_deg) * share
            self.lon_deg += (fix.lon_deg - self.lon_deg) * share
            self.alt_m += (fix.alt_m - self.alt_m) * share
        return self.count >= _FIXES_NEEDED


# Near the ground pressure falls by 12 Pa per metre.
_M_PER_PA: Final = 1.0 / 12.0
_GPS_GAIN: Final = 0.01
_PRESSURE_GAIN: Final = 0.2


class AltitudeFilter(Snapshot):
    """Altitude above the ellipsoid [m]."""

    _state_fields = ("alt_m", "pressure_pa", "temperature_c")
    __slots__ = _state_fields

    def __init__(self) -> None:
        self.alt_m = 0.0
        self.pressure_pa = 0.0
        self.temperature_c = 25.0

    def set_reference(self, alt_m: float) -> None:
        """Take this altitude as the present one."""
        self.alt_m = alt_m

    def add_pressure(self, pressure_pa: float, temperature_c: float) -> None:
        """Follow the change of a smoothed pressure."""
        self.temperature_c = temperature_c
        if self.pressure_pa == 0.0:
            self.pressure_pa = pressure_pa
            return
        change = _PRESSURE_GAIN * (pressure_pa - self.pressure_pa)
        self.pressure_pa += change
        self.alt_m -= change * _M_PER_PA

    def add_gps(self, alt_m: float) -> None:
        """Let the GPS pull slowly: its altitude is noisy but does not drift away."""
        self.alt_m += _GPS_GAIN * (alt_m - self.alt_m)


# Dead reckoning is trusted for so long after the last fix.
DEAD_RECKONING_US: Final = 12_000_000
_FRESH_US: Final = 1_000_000
_IMU_FRESH_US: Final = 200_000
_COMPASS_PERIOD_US: Final = 40_000
_ALIGN_SAMPLES: Final = 40
_PARKED_AFTER_US: Final = 600_000
_PARKED_MPS: Final = 0.3
_PARKED_RADPS: Final = 0.12
_COURSE_MIN_MPS: Final = 0.35
_COURSE_MAX_RADPS: Final = 0.35
_HEADING_KNOWN_VAR: Final = 0.25
# GPS fixes that may contradict the motors until the heading is taken to be the wrong way
# round: with a compass that contradicts it too, and without a compass.
_MAX_AGAINST, _MAX_AGAINST_ALONE = 5, 15
_DRIVEN_MPS: Final = 0.2
_CONFIRMED_RAD: Final = 0.35
# A receiver that moves and yet reports the same place so often is stuck.
_MAX_REPEATS: Final = 3
_REPEAT_MIN_MPS: Final = 1e-3
_WHEEL_GAIN_PER_S: Final = 1.5
_ENCODER_GAIN: Final = 0.15
_MILLIGAUSS: Final = 1e-3
# Smaller offsets only mark a compass as calibrated, as ground stations want it [mGauss].
_LEAST_OFFSET: Final = 0.01


class Estimator(Snapshot):
    """Attitude, heading, position, velocity and gyro bias, and how far they can be trusted.

    Attributes:
        frame: local frame of north and east, ``None`` until the first good GPS fixes.
        tilt, heading, position, altitude, wheels: the parts that do the work.
        sin_yaw, cos_yaw: of the heading.
        turn_rate_radps: right positive, without bias.
        gps: the newest GPS sample, good or not; ``gps_us`` the time of the last usable one.
        gps_repeats: how often the receiver has repeated the very same fix while moving.
        against: fixes in a row that move against the motors and the believed heading.
        imu_watch: whether gyro and accelerometer can be real.
        parked: standing still, as far as the sensors show.
    """

    # The origin before the frame, which follows from it.
    _state_fields = (
        "against", "altitude", "baro_us", "compass_us", "cos_yaw", "declination_rad", "gps",
        "gps_repeats", "gps_seen_us", "gps_us", "heading", "imu_us", "imu_watch", "mag_gauss",
        "moving_us", "origin", "parked", "position", "sin_yaw", "standstill_rad", "standstill_s",
        "tilt", "turn_rate_radps", "wheels", "has_frame",
    )  # fmt: skip
    __slots__ = (
        *_state_fields[:-1], "_compass_offset_gauss", "_gps_delay_us", "_params", "_uses_compass",
        "_uses_encoders", "_wheel_radius_m", "frame",
    )  # fmt: skip
    _state_types: ClassVar[Mapping[str, Any]] = {"gps": GpsData | None}

    def __init__(self, params: Mapping[str, float]) -> None:
        self.take_params(params)
        self.tilt = TiltFilter()
        self.imu_watch = ImuWatch()
        self.heading = HeadingFilter()
        self.position = PositionFilter()
        self.altitude = AltitudeFilter()
        self.wheels = WheelOdometry(_full_speed_mps(params))
        self.origin = OriginFinder()
        self.frame: LocalFrame | None = None
        self.declination_rad = 0.0
        self.sin_yaw, self.cos_yaw = 0.0, 1.0
        self.turn_rate_radps = 0.0
        self.gps: GpsData | None = None
        self.gps_us = self.gps_seen_us = self.compass_us = self.imu_us = self.baro_us = -1
        self.gps_repeats = self.against = 0
        self.mag_gauss = (0.0, 0.0, 0.0)
        self.moving_us = 0
        self.parked = True
        self.standstill_rad = self.standstill_s = 0.0

    def take_params(self, params: Mapping[str, float]) -> None:
        """Use these parameters from now on."""
        self._params = params
        self._uses_compass = bool(params["COMPASS_USE"])
        x, y, z = (params[f"COMPASS_OFS_{axis}"] for axis in "XYZ")
        self._compass_offset_gauss = _gauss(x), _gauss(y), _gauss(z)
        self._gps_delay_us = int(params["GPS_DELAY_MS"]) * 1000
        self._uses_encoders = bool(params["WENC_TYPE"])
        self._wheel_radius_m = params["WENC_RADIUS"]

    # --- one main loop --------------------------------------------------------------------

    def update(self, platform: SitlPlatform, now_us: int, throttle: float, steering: float) -> None:
        """Take all new samples; ``throttle`` and ``steering`` are the last outputs, -1..1."""
        tilt, position = self.tilt, self.position
        tilt.add(platform.read_body_imu(), position.speed_mps, self.parked)
        self.imu_us = tilt.last_us
        dt = tilt.elapsed_s
        if dt > 0.0:
            self._advance(now_us, dt, throttle, steering)
        compass = platform.read_body_compass()
        if compass is not None:
            self._add_compass(compass, now_us)
        gps = platform.read_gps()
        if gps is not None:
            self._add_gps(gps, now_us)
        encoders = platform.read_encoders()
        if encoders is not None and self._uses_encoders:
            wheels = self.wheels
            new = wheels.add_encoders(encoders, now_us, self._wheel_radius_m)
            if new and not wheels.slipping:
                position.pull_speed(wheels.encoder_mps, _ENCODER_GAIN)
        baro = platform.read_pascals()
        if baro is not None:
            self.baro_us = now_us
            self.altitude.add_pressure(baro.pressure_pa, baro.temperature_c)

    def _advance(self, now_us: int, dt: float, throttle: float, steering: float) -> None:
        tilt, heading, position, wheels = self.tilt, self.heading, self.position, self.wheels
        heading.turn(tilt.turn_rad, dt)
        self.turn_rate_radps = rate = tilt.turn_rad / dt - heading.bias_radps
        self.sin_yaw, self.cos_yaw = sincos(heading.yaw_rad)
        wheels.command(throttle, dt)
        self._note_parking(now_us, throttle, steering, rate)
        if self.parked:
            position.stand(dt, tilt.forward_dv_mps)
            self._learn_standstill(tilt.turn_rad, dt)
        elif now_us - self.gps_us > _FRESH_US:
            position.pull_speed(wheels.speed_mps(now_us), _WHEEL_GAIN_PER_S * dt)
        position.advance(
            now_us, dt, tilt.forward_dv_mps, heading.yaw_rad, rate, self.sin_yaw, self.cos_yaw
        )

    def _note_parking(self, now_us: int, throttle: float, steering: float, rate: float) -> None:
        if (
            abs(throttle) > 0.01
            or abs(steering) > 0.01
            or (abs(self.position.speed_mps) > _PARKED_MPS and self.position.accepted_us >= 0)
            or abs(rate) > _PARKED_RADPS
        ):
            self.moving_us = now_us
        self.parked = now_us - self.moving_us >= _PARKED_AFTER_US or self.moving_us == 0

    def _learn_standstill(self, turn_rad: float, dt: float) -> None:
        self.standstill_rad += turn_rad
        self.standstill_s += dt
        if self.standstill_s >= 0.1:
            self.heading.fuse_standstill(self.standstill_rad / self.standstill_s)
            self.standstill_rad = self.standstill_s = 0.0

    def _add_compass(self, compass: CompassData, now_us: int) -> None:
        if now_us - self.compass_us < _COMPASS_PERIOD_US and self.compass_us >= 0:
            return
        self.compass_us = now_us
        self.mag_gauss = (x, y, z) = compass.mag_gauss
        if not self._uses_compass or self.tilt.samples < _ALIGN_SAMPLES:
            return
        offset_x, offset_y, offset_z = self._compass_offset_gauss
        if self.parked:
            # A heading that stands cannot have gone wrong: then it is the compass.
            self.heading.refusals = 0
        ahead, right = self.tilt.level_components(x + offset_x, y + offset_y, z + offset_z)
        self.heading.fuse_compass(atan2(-right, ahead) + self.declination_rad)

    def _add_gps(self, fix: GpsData, now_us: int) -> None:
        if fix == self.gps and fix.speed_ms > _REPEAT_MIN_MPS:
            self.gps_repeats += 1
        else:
            self.gps_repeats = 0
        self.gps, self.gps_seen_us = fix, now_us
        if not usable(fix) or self.gps_repeats >= _MAX_REPEATS:
            self.origin.restart()
            return
        frame = self.frame
        if frame is None:
            self.gps_us = now_us
            if self.origin.add(fix):
                self._set_frame()
                self.position.place(0.0, 0.0, now_us)
            return
        if not self.position.history:
            self.gps_us = now_us
            return
        north_m, east_m, _down = frame.ned_from_geodetic(fix.lat_deg, fix.lon_deg, fix.alt_m)
        then = self.position.recall(now_us - self._gps_delay_us)
        self.position.fuse_fix(now_us, then, north_m, east_m, self.parked)
        if not self.position.credible:
            return
        self.gps_us = now_us
        self.altitude.add_gps(fix.alt_m)
        velocity_n, velocity_e, _ = fix.velocity_ned_mps
        along = self.position.fuse_velocity(then, velocity_n, velocity_e)
        if not self.parked:
            self.wheels.learn(along)
            self._add_course(velocity_n, velocity_e, then[4], then[5])

    def _add_course(self, north_mps: float, east_mps: float, yaw: float, rate: float) -> None:
        """Driving fast and straight enough, the course over ground is the heading."""
        speed_sq = north_mps * north_mps + east_mps * east_mps
        if speed_sq < _COURSE_MIN_MPS * _COURSE_MIN_MPS or abs(rate) > _COURSE_MAX_RADPS:
            return
        sin_then, cos_then = sincos(yaw)
        # Backwards, the course points where the stern does. A known heading shows which it is,
        # else what was commanded; braking is commanded backwards while still rolling forwards.
        driven_back = self.wheels.model_mps < 0.0
        backwards = driven_back
        if self.heading.aligned and self.heading.p_yy < _HEADING_KNOWN_VAR:
            backwards = north_mps * cos_then + east_mps * sin_then < 0.0
        sign = -1.0 if backwards else 1.0
        course = atan2(sign * east_mps, sign * north_mps)
        sigma = 0.1 / math.sqrt(speed_sq) + 0.05
        error = wrap_pi(course - yaw)
        if backwards is not driven_back and abs(self.wheels.model_mps) > _DRIVEN_MPS:
            if self._is_wrong_way_round():
                self.heading.reset_to(wrap_pi(self.heading.yaw_rad + error + PI), sigma)
                self.position.speed_mps = -sign * math.sqrt(speed_sq)
                return
        else:
            self.against = 0
            if abs(error) < _CONFIRMED_RAD:
                self.heading.refusals = 0
        self.heading.fuse_course(error, sigma, course)

    def _is_wrong_way_round(self) -> bool:
        """Whether motion against the motors has lasted, and no compass says it is a push."""
        compass_us = self.compass_us
        most = _MAX_AGAINST_ALONE
        if self._uses_compass and 0 <= self.gps_us - compass_us < _FRESH_US:
            if self.heading.compass_ratio < 1.0:
                self.against = 0
                return False
            most = _MAX_AGAINST
        self.against += 1
        if self.against < most:
            return False
        self.against = 0
        return True

    def _set_frame(self) -> None:
        origin = self.origin
        self.frame = LocalFrame(origin.lat_deg, origin.lon_deg, origin.alt_m)
        self.altitude.set_reference(origin.alt_m)
        if self._params["COMPASS_AUTODEC"]:
            declination = declination_rad(origin.lat_deg, origin.lon_deg)
        else:
            declination = self._params["COMPASS_DEC"]
        self.heading.shift(declination - self.declination_rad)
        self.declination_rad = declination

    def watch_imu(self, steering: float) -> None:
        """Look at the newest IMU sample; a few times a second is enough."""
        tilt = self.tilt
        tilt.note_vibration()
        self.imu_watch.note(tilt.accel_mss, tilt.gyro_rads, self.parked, steering)
        if not self.imu_watch.gyro_credible:
            self.heading.distrust()

    # --- trust ----------------------------------------------------------------------------

    def imu_healthy(self, now_us: int) -> bool:
        """Whether accelerometer and gyro deliver, and what they deliver can be real."""
        watch = self.imu_watch
        return self.imu_fresh(now_us) and watch.gyro_credible and watch.accel_credible

    def imu_fresh(self, now_us: int) -> bool:
        """Whether accelerometer and gyro deliver."""
        return self.imu_us >= 0 and now_us - self.imu_us <= _IMU_FRESH_US

    def gps_healthy(self, now_us: int) -> bool:
        """Whether usable fixes come in and are believed."""
        return self.gps_us >= 0 and now_us - self.gps_us <= _FRESH_US

    def gps_silent(self, now_us: int) -> bool:
        """Whether the receiver itself says nothing, not even that it has no fix."""
        return self.gps_seen_us < 0 or now_us - self.gps_seen_us > _FRESH_US

    def compass_healthy(self, now_us: int) -> bool:
        """Whether the compass delivers and agrees."""
        return (
            self.compass_us >= 0
            and now_us - self.compass_us <= _FRESH_US
            and self.heading.compass_ratio < 1.0
        )

    def compass_contradicts(self, now_us: int) -> bool:
        """Whether the compass is used, delivers, and says another heading."""
        fresh = self.compass_us >= 0 and now_us - self.compass_us <= _FRESH_US
        return fresh and self._uses_compass and self.heading.compass_ratio > 1.0

    def baro_healthy(self, now_us: int) -> bool:
        """Whether the barometer delivers."""
        return self.baro_us >= 0 and now_us - self.baro_us <= _FRESH_US

    def attitude_valid(self, now_us: int) -> bool:
        """Whether there is an attitude with a heading."""
        return self.heading.aligned and self.imu_healthy(now_us)

    def position_valid(self, now_us: int) -> bool:
        """Whether the position may be navigated with."""
        accepted_us = self.position.accepted_us
        # Asked in every main loop, so without calls.
        return (
            accepted_us >= 0
            and now_us - accepted_us <= DEAD_RECKONING_US
            and self.heading.aligned
            and now_us - self.imu_us <= _IMU_FRESH_US
        )

    @property
    def has_frame(self) -> bool:
        """Whether there is a frame; set by snapshots, which makes it again."""
        return self.frame is not None

    @has_frame.setter
    def has_frame(self, known: bool) -> None:
        origin = self.origin
        self.frame = LocalFrame(origin.lat_deg, origin.lon_deg, origin.alt_m) if known else None


def _gauss(offset: float) -> float:
    return offset * _MILLIGAUSS if abs(offset) >= _LEAST_OFFSET else 0.0


def _full_speed_mps(params: Mapping[str, float]) -> float:
    """The speed at full throttle, from cruise speed and throttle."""
    throttle = params["CRUISE_THROTTLE"]
    return params["CRUISE_SPEED"] * 100.0 / throttle if throttle > 0.0 else params["CRUISE_SPEED"]
