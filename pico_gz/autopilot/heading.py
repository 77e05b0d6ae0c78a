"""Heading, gyro bias and compass error, as one small Kalman filter."""

from __future__ import annotations

from math import sqrt

from pico_gz.autopilot.angles import PI, wrap_pi
from pico_gz.state import Stateful

# Random walks [units^2/s]: gyro noise and scale error, bias drift, slow compass error. Like all
# variances here they are literals: ``**`` would ask the C library.
_YAW_WALK = 3e-5
_BIAS_WALK = 3e-9
_OFFSET_WALK = 3e-7
_BIAS_START_VAR = 0.0009
_OFFSET_START_VAR = 0.0036
_COMPASS_VAR = 0.0036
_ZERO_RATE_VAR = 1.6e-5
_COMPASS_GATE_RAD = 0.7
_LONGEST_BIAS_RADPS = 0.3
# Compass samples refused in a row, 25 a second, until the heading is what must be wrong.
_MOST_REFUSALS = 250
_DISTRUSTED_VAR = 1.0


class HeadingFilter(Stateful):
    """Kalman filter with three states: heading, gyro bias and compass error.

    The compass error is what is left of the declination and of the iron on board; driving
    straight with GPS tells it. Without a compass the first GPS course sets the heading.

    Attributes:
        yaw_rad: heading, clockwise from true north, -pi..pi.
        bias_radps: of the yaw gyro.
        offset_rad: heading minus (compass heading + declination).
        aligned: there has been an absolute heading.
        compass_ratio: size of the last compass surprise, 1 = as large as is believed.
        refusals: compass samples not believed since the heading was last confirmed.
        resets: how often the heading turned out to be wrong and was set anew.
    """

    __slots__ = _state_fields = (
        "aligned",
        "bias_radps",
        "compass_ratio",
        "offset_rad",
        "p_bb",
        "p_bo",
        "p_oo",
        "p_yb",
        "p_yo",
        "p_yy",
        "pending_s",
        "refusals",
        "resets",
        "yaw_rad",
    )

    def __init__(self) -> None:
        self.yaw_rad = 0.0
        self.bias_radps = 0.0
        self.offset_rad = 0.0
        self.aligned = False
        self.compass_ratio = 0.0
        self.pending_s = 0.0
        self.refusals = 0
        self.resets = 0
        self.p_yy = PI * PI
        self.p_yb = self.p_yo = self.p_bo = 0.0
        self.p_bb = _BIAS_START_VAR
        self.p_oo = _OFFSET_START_VAR

    def turn(self, turn_rad: float, dt_s: float) -> None:
        """Follow the gyro: ``turn_rad`` measured within ``dt_s``, bias still in it."""
        self.yaw_rad = wrap_pi(self.yaw_rad + turn_rad - self.bias_radps * dt_s)
        self.pending_s += dt_s

    def shift(self, angle_rad: float) -> None:
        """Turn the believed heading, because north turned out to be elsewhere."""
        self.yaw_rad = wrap_pi(self.yaw_rad + angle_rad)

    @property
    def sigma_rad(self) -> float:
        """How well the heading is known."""
        return sqrt(self.p_yy)

    def fuse_compass(self, heading_rad: float) -> None:
        """Take a compass heading with the declination already added."""
        self._grow()
        if not self.aligned:
            self._align_with_compass(heading_rad)
            return
        error = wrap_pi(heading_rad - self.yaw_rad + self.offset_rad)
        self.compass_ratio += 0.2 * (abs(error) / _COMPASS_GATE_RAD - self.compass_ratio)
        if abs(error) > _COMPASS_GATE_RAD and self.p_yy < 0.25:
            self.refusals += 1
            if self.refusals > _MOST_REFUSALS:
                self._align_with_compass(heading_rad)
                self._note_reset()
            return
        self.refusals = 0
        self._update(
            error,
            self.p_yy - self.p_yo,
            self.p_yb - self.p_bo,
            self.p_yo - self.p_oo,
            self.p_yy - 2.0 * self.p_yo + self.p_oo + _COMPASS_VAR,
        )

    def _align_with_compass(self, heading_rad: float) -> None:
        self.yaw_rad = wrap_pi(heading_rad + self.offset_rad)
        # The heading inherits the unknown compass error.
        self.p_yy = _COMPASS_VAR + self.p_oo
        self.p_yo = self.p_oo
        self.p_yb = self.p_bo = 0.0
        self.aligned = True

    def reset_to(self, yaw_rad: float, sigma_rad: float) -> None:
        """Look there, whatever was believed before."""
        self.yaw_rad = yaw_rad
        self.p_yy = sigma_rad * sigma_rad
        self.p_yb = self.p_yo = 0.0
        self._note_reset()

    def distrust(self) -> None:
        """The gyro failed: whatever else tells a heading is to be followed."""
        self.p_yy = max(self.p_yy, _DISTRUSTED_VAR)

    def _note_reset(self) -> None:
        # What led astray was most likely the gyro, so its bias is open again.
        self.p_bb = max(self.p_bb, _BIAS_START_VAR)
        self.compass_ratio = 0.0
        self.refusals = 0
        self.resets += 1

    def fuse_course(self, error_rad: float, sigma_rad: float, course_rad: float) -> None:
        """Take a GPS course: how far it lies right of the heading at that time."""
        self._grow()
        if not self.aligned:
            self.yaw_rad = course_rad
            self.p_yy = sigma_rad * sigma_rad
            self.p_yb = self.p_yo = 0.0
            self.aligned = True
            return
        self._update(error_rad, self.p_yy, self.p_yb, self.p_yo, self.p_yy + sigma_rad * sigma_rad)

    def fuse_standstill(self, rate_radps: float) -> None:
        """Take the gyro's rate while the rover stands: it is all bias."""
        self._grow()
        self._update(
            rate_radps - self.bias_radps,
            self.p_yb,
            self.p_bb,
            self.p_bo,
            self.p_bb + _ZERO_RATE_VAR,
        )

    def _grow(self) -> None:
        """Let the uncertainty grow over the time since the last measurement."""
        dt = self.pending_s
        self.pending_s = 0.0
        self.p_yy += dt * (dt * self.p_bb - 2.0 * self.p_yb + _YAW_WALK)
        self.p_yb -= dt * self.p_bb
        self.p_yo -= dt * self.p_bo
        self.p_bb += dt * _BIAS_WALK
        self.p_oo += dt * _OFFSET_WALK

    def _update(self, error: float, c_y: float, c_b: float, c_o: float, variance: float) -> None:
        """Correct by a scalar measurement; ``c_*`` are its covariances with the states."""
        k_y, k_b, k_o = c_y / variance, c_b / variance, c_o / variance
        self.yaw_rad = wrap_pi(self.yaw_rad + k_y * error)
        bias = self.bias_radps + k_b * error
        if bias > _LONGEST_BIAS_RADPS:
            bias = _LONGEST_BIAS_RADPS
        elif bias < -_LONGEST_BIAS_RADPS:
            bias = -_LONGEST_BIAS_RADPS
        self.bias_radps = bias
        self.offset_rad += k_o * error
        self.p_yy -= k_y * c_y
        self.p_yb -= k_y * c_b
        self.p_yo -= k_y * c_o
        self.p_bb -= k_b * c_b
        self.p_bo -= k_b * c_o
        self.p_oo -= k_o * c_o
