"""Heading, gyro bias and compass error; magnetic declination.

Rows run from the south pole to the north pole, columns from 180 west to 170 east.
"""

from __future__ import annotations

from math import floor, sqrt
from typing import Final

from pico_gz.core.frames import wrap_pi
from pico_gz.core.portable_math import PI, RAD_PER_DEG
from pico_gz.core.snapshot import Snapshot

# fmt: off
DECLINATION_DEG: tuple[tuple[int, ...], ...] = (
    (
        148, 138, 128, 118, 108, 98, 88, 78, 68, 58, 48, 38, 28, 18, 8, -2, -12, -22, -32, -42,
        -52, -62, -71, -81, -92, -102, -112, -122, -132, -142, -152, -162, -172, 178, 168, 158,
    ),
    (
        129, 116, 105, 95, 86, 77, 69, 61, 53, 45, 37, 30, 22, 15, 7, 0, -8, -16, -24, -32, -41,
        -50, -59, -68, -78, -87, -98, -108, -120, -132, -145, -159, -174, 171, 156, 142,
    ),
    (
        86, 78, 71, 66, 61, 56, 51, 46, 40, 35, 28, 22, 16, 10, 4, -2, -7, -14, -21, -28, -36,
        -45, -53, -61, -69, -78, -86, -94, -104, -115, -130, -152, 174, 137, 112, 97,
    ),
    (
        49, 47, 46, 44, 42, 41, 39, 36, 33, 28, 22, 16, 10, 4, -1, -5, -10, -14, -20, -27, -35,
        -43, -51, -58, -64, -69, -73, -76, -77, -74, -62, -18, 30, 45, 49, 50,
    ),
    (
        32, 32, 32, 31, 31, 30, 30, 29, 27, 23, 17, 10, 2, -4, -9, -12, -14, -17, -21, -27, -35,
        -42, -49, -54, -57, -58, -57, -52, -43, -30, -13, 3, 15, 23, 28, 31,
    ),
    (
        23, 23, 23, 23, 23, 23, 23, 22, 21, 18, 12, 4, -5, -12, -17, -19, -20, -20, -22, -26, -32,
        -38, -43, -46, -46, -44, -38, -30, -20, -11, -3, 4, 10, 15, 19, 22,
    ),
    (
        17, 18, 18, 18, 17, 17, 17, 16, 16, 13, 6, -2, -11, -18, -22, -24, -24, -23, -21, -20,
        -23, -27, -31, -33, -32, -28, -22, -15, -8, -3, 1, 4, 7, 11, 14, 16,
    ),
    (
        14, 14, 14, 14, 14, 13, 12, 12, 11, 8, 2, -7, -15, -21, -24, -24, -23, -19, -15, -11, -10,
        -12, -16, -18, -18, -15, -12, -7, -3, 0, 1, 3, 5, 8, 11, 13,
    ),
    (
        11, 11, 11, 11, 11, 10, 10, 9, 8, 5, -2, -10, -17, -21, -22, -21, -17, -13, -8, -4, -2,
        -2, -5, -8, -9, -8, -6, -3, 0, 1, 1, 2, 4, 6, 9, 11,
    ),
    (
        10, 10, 9, 9, 9, 9, 8, 8, 6, 2, -4, -11, -17, -20, -19, -16, -12, -7, -4, -1, 1, 2, 0, -2,
        -4, -4, -3, -2, 0, 0, 0, 0, 2, 5, 7, 9,
    ),
    (
        9, 9, 9, 9, 9, 9, 8, 7, 5, 1, -5, -12, -16, -18, -16, -13, -8, -4, -1, 1, 2, 3, 2, 0, -1,
        -1, -1, -1, 0, -1, -2, -2, 0, 3, 6, 8,
    ),
    (
        8, 9, 9, 10, 10, 10, 9, 7, 4, -1, -7, -12, -15, -16, -14, -10, -6, -2, 0, 2, 3, 4, 3, 2,
        1, 0, 0, -1, -1, -2, -4, -4, -3, 0, 3, 6,
    ),
    (
        6, 8, 10, 11, 12, 12, 11, 9, 4, -2, -8, -13, -15, -14, -12, -9, -5, -1, 1, 3, 4, 5, 5, 4,
        3, 2, 1, 0, -2, -4, -6, -7, -6, -4, 0, 3,
    ),
    (
        4, 7, 10, 12, 14, 14, 13, 10, 5, -2, -9, -14, -16, -15, -12, -9, -5, -1, 1, 3, 5, 6, 6, 6,
        6, 5, 4, 1, -2, -5, -9, -10, -9, -7, -3, 0,
    ),
    (
        2, 6, 10, 13, 16, 16, 15, 11, 5, -3, -11, -16, -18, -17, -14, -10, -6, -2, 1, 4, 6, 8, 10,
        11, 11, 10, 7, 3, -2, -7, -11, -13, -12, -10, -6, -2,
    ),
    (
        1, 6, 10, 14, 17, 18, 17, 13, 5, -6, -16, -21, -22, -21, -18, -14, -9, -4, 0, 5, 9, 12,
        15, 17, 18, 17, 13, 6, -2, -9, -14, -16, -15, -12, -8, -4,
    ),
    (
        -1, 4, 9, 14, 17, 19, 18, 12, 0, -14, -25, -30, -30, -27, -23, -18, -12, -6, 0, 6, 12, 17,
        22, 26, 29, 29, 25, 16, 3, -9, -16, -19, -18, -15, -11, -6,
    ),
    (
        -7, -2, 3, 7, 9, 8, 2, -10, -25, -36, -41, -41, -38, -33, -27, -20, -13, -6, 2, 9, 17, 24,
        31, 38, 44, 48, 50, 48, 36, 11, -11, -21, -23, -21, -17, -12,
    ),
    (
        -163, -153, -143, -133, -123, -113, -103, -93, -83, -73, -64, -54, -44, -34, -24, -14, -4,
        6, 16, 26, 35, 45, 55, 65, 75, 85, 96, 106, 116, 126, 136, 146, 156, 166, 176, -173,
    ),
)


_GRID_DEG: Final = 10.0
_LAST_ROW = len(DECLINATION_DEG) - 1
_COLUMNS = len(DECLINATION_DEG[0])


def declination_rad(lat_deg: float, lon_deg: float) -> float:
    """Return the magnetic declination at a place, east positive; within 2 deg below 60 deg."""
    row = (lat_deg + 90.0) / _GRID_DEG
    column = (lon_deg + 180.0) / _GRID_DEG
    row_index = min(floor(row), _LAST_ROW - 1)
    south = _along_row(row_index, column)
    north = _along_row(row_index + 1, column)
    return RAD_PER_DEG * _between(south, north, row - row_index)


def _along_row(row: int, column: float) -> float:
    left = floor(column)
    values = DECLINATION_DEG[row]
    return _between(values[left % _COLUMNS], values[(left + 1) % _COLUMNS], column - left)


def _between(first_deg: float, second_deg: float, share: float) -> float:
    # Near the poles neighbours may lie on both sides of 180 degrees.
    step = second_deg - first_deg
    step -= 360.0 * floor(step / 360.0 + 0.5)
    return first_deg + share * step


# Random walks [units^2/s]: gyro noise and scale error, bias drift, slow compass error. Like all
# variances here they are literals: ``**`` would ask the C library.
_YAW_WALK: Final = 3e-5
_BIAS_WALK: Final = 3e-9
_OFFSET_WALK: Final = 3e-7
_BIAS_START_VAR: Final = 0.0009
_OFFSET_START_VAR: Final = 0.0036
_COMPASS_VAR: Final = 0.0036
_ZERO_RATE_VAR: Final = 1.6e-5
_COMPASS_GATE_RAD: Final = 0.7
_LONGEST_BIAS_RADPS: Final = 0.3
# Compass samples refused in a row, 25 a second, until the heading is what must be wrong.
_MAX_REFUSALS: Final = 250
_DISTRUSTED_VAR: Final = 1.0


class HeadingFilter(Snapshot):
    """Kalman filter with three states: heading, gyro bias and compass error.

    The compass error is what is left of the declination and of the iron on board; driving
    straight with GPS shows it. Without a compass the first GPS course sets the heading.

    Attributes:
        yaw_rad: heading, clockwise from true north, -pi..pi.
        bias_radps: of the yaw gyro.
        offset_rad: heading minus (compass heading + declination).
        aligned: there has been an absolute heading.
        compass_ratio: size of the last compass surprise, 1 = as large as is believed.
        refusals: compass samples not believed since the heading was last confirmed.
        resets: how often the heading turned out to be wrong and was reset.
    """

    _state_fields = (
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
    __slots__ = _state_fields

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
            if self.refusals > _MAX_REFUSALS:
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
        """The gyro failed: follow any other source of heading."""
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
