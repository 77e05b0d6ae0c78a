"""Horizontal position and speed, by wheels and GPS."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from math import sqrt
from typing import Any, ClassVar, Final

from pico_gz.core.messages import EncoderData
from pico_gz.core.portable_math import TWO_PI, sincos
from pico_gz.core.snapshot import Snapshot

# Encoders count whole ticks, so their speed is taken over a while.
_WINDOW_US: Final = 100_000
_FRESH_US: Final = 500_000
_MODEL_LAG_S: Final = 0.15
_LEARN_RATE: Final = 0.02
_LEARN_MIN_THROTTLE: Final = 0.2
_LEARN_MIN_SPEED_MPS: Final = 0.3
_STEADY_MPS: Final = 0.1
_SLIP_MPS: Final = 0.3
_SLIP_SHARE: Final = 0.3
# Wheels that seem to turn faster than this many times their top speed are no measurement.
_MAX_TOP_SPEEDS: Final = 4.0


class WheelOdometry(Snapshot):
    """Speed along the heading as the wheels measure it.

    Attributes:
        full_speed_mps: speed at full throttle, learned while GPS is there.
        model_mps: speed that the commands should give.
        encoder_mps: speed by encoders, valid while fresh.
        encoder_us: when that was, -1 never.
        slipping: the encoders and the GPS disagree: wheels spin, or encoders fail.
    """

    _state_fields = (
        "encoder_mps",
        "encoder_scale",
        "encoder_us",
        "full_speed_mps",
        "model_mps",
        "slipping",
        "target_mps",
        "ticks",
        "throttle",
        "window_us",
    )
    __slots__ = _state_fields

    def __init__(self, full_speed_mps: float = 1.0) -> None:
        self.full_speed_mps = full_speed_mps
        self.model_mps = 0.0
        self.target_mps = 0.0
        self.throttle = 0.0
        self.encoder_mps = 0.0
        self.encoder_scale = 1.0
        self.encoder_us = -1
        self.slipping = False
        self.ticks = 0
        self.window_us = -1

    def command(self, throttle: float, dt_s: float) -> None:
        """Follow the commanded throttle, -1..1."""
        self.throttle = throttle
        self.target_mps = throttle * self.full_speed_mps
        self.model_mps += (self.target_mps - self.model_mps) * dt_s / (_MODEL_LAG_S + dt_s)

    def add_encoders(self, data: EncoderData, now_us: int, wheel_radius_m: float) -> bool:
        """Take encoder counts; true when ``encoder_mps`` is new."""
        ticks = data.ticks[0] + data.ticks[1]
        if self.window_us < 0:
            self.ticks, self.window_us = ticks, now_us
            return False
        elapsed_us = now_us - self.window_us
        if elapsed_us < _WINDOW_US:
            return False
        turns = 0.5 * (ticks - self.ticks) / data.ticks_per_turn
        speed_mps = self.encoder_scale * turns * TWO_PI * wheel_radius_m / (elapsed_us * 1e-6)
        self.ticks, self.window_us = ticks, now_us
        if abs(speed_mps) > _MAX_TOP_SPEEDS * self.full_speed_mps:
            return False
        self.encoder_mps, self.encoder_us = speed_mps, now_us
        return True

    def speed_mps(self, now_us: int) -> float:
        """The better of both."""
        fresh = self.encoder_us >= 0 and now_us - self.encoder_us < _FRESH_US
        if fresh and not self.slipping:
            return self.encoder_mps
        return self.model_mps

    def learn(self, gps_speed_mps: float) -> None:
        """Compare with a GPS speed along the heading, while driving."""
        apart = abs(gps_speed_mps - self.encoder_mps)
        self.slipping = apart > _SLIP_MPS + _SLIP_SHARE * abs(gps_speed_mps)
        if abs(gps_speed_mps) < _LEARN_MIN_SPEED_MPS:
            return
        if abs(self.encoder_mps) > _LEARN_MIN_SPEED_MPS:
            ratio = gps_speed_mps / self.encoder_mps
            if 0.5 < ratio < 2.0:
                self.encoder_scale *= 1.0 + _LEARN_RATE * (ratio - 1.0)
        steady = abs(self.target_mps - self.model_mps) < _STEADY_MPS
        if steady and abs(self.throttle) > _LEARN_MIN_THROTTLE:
            full = gps_speed_mps / self.throttle
            if full > 0.0:
                self.full_speed_mps += _LEARN_RATE * (full - self.full_speed_mps)


# Main loops remembered, so that a late fix meets where the rover was at its time.
_HISTORY: Final = 40
# Gains per fix, for some five a second.
_POSITION_GAIN: Final = 0.12
_SPEED_GAIN: Final = 0.28
_ACCEL_BIAS_GAIN: Final = 0.08
_GATE_M: Final = 4.0
_GATE_GROWTH_MPS: Final = 0.6
_SPEED_GATE_MPS: Final = 1.0
_RATIO_GAIN: Final = 0.5
_RESET_AFTER_US: Final = 8_000_000
# Wheels and IMU cannot be further out than this while driving; a rover that stands may have been
# carried [m].
_RESET_DRIVING_M: Final = 20.0
_LONGEST_BIAS_MPS2: Final = 1.5

Remembered = tuple[int, float, float, float, float, float]


class PositionFilter(Snapshot):
    """North, east and forward speed.

    Position is the integral of speed along the heading (``dead``) plus a correction. Only the
    correction follows the GPS, so a fix may be compared with an old ``dead`` at any delay.

    Attributes:
        north_m: and ``east_m``: in the local frame.
        speed_mps: along the heading, negative backwards.
        accepted_us: time of the last fix that was believed, -1 for none.
        position_ratio: and ``velocity_ratio``: how surprising the GPS is, 1 = unbelievable.
        credible: the last fix was believed, or at least agrees with the one before it.
    """

    _state_fields = (
        "accel_bias_mps2",
        "accepted_us",
        "correction_e_m",
        "correction_n_m",
        "credible",
        "dead_e_m",
        "dead_n_m",
        "east_m",
        "history",
        "north_m",
        "position_ratio",
        "rejected_e_m",
        "rejected_n_m",
        "rejected_since_us",
        "speed_mps",
        "velocity_ratio",
    )
    __slots__ = _state_fields
    _state_types: ClassVar[Mapping[str, Any]] = {"history": list[Remembered]}

    def __init__(self) -> None:
        self.north_m = self.east_m = 0.0
        self.dead_n_m = self.dead_e_m = 0.0
        self.correction_n_m = self.correction_e_m = 0.0
        self.speed_mps = 0.0
        self.accel_bias_mps2 = 0.0
        self.accepted_us = -1
        self.rejected_since_us = -1
        self.rejected_n_m = self.rejected_e_m = 0.0
        self.credible = True
        self.position_ratio = self.velocity_ratio = 0.0
        # Per main loop: time, dead north, dead east, speed, heading, turn rate.
        self.history: deque[Remembered] = deque(maxlen=_HISTORY)

    def place(self, north_m: float, east_m: float, now_us: int) -> None:
        """Be here now, whatever was believed before."""
        self.correction_n_m = north_m - self.dead_n_m
        self.correction_e_m = east_m - self.dead_e_m
        self.north_m, self.east_m = north_m, east_m
        self.accepted_us = now_us
        self.rejected_since_us = -1
        self.position_ratio = 0.0

    def advance(
        self,
        now_us: int,
        dt_s: float,
        dv_mps: float,
        yaw_rad: float,
        turn_rate_radps: float,
        sin_yaw: float,
        cos_yaw: float,
    ) -> None:
        """Drive on for one main loop: ``dv_mps`` is what the accelerometer gathered."""
        before = self.speed_mps
        speed = before + dv_mps - self.accel_bias_mps2 * dt_s
        self.speed_mps = speed
        way = 0.5 * (before + speed) * dt_s
        # The heading in the middle of the loop is half a loop's turn back.
        half = 0.5 * turn_rate_radps * dt_s
        self.dead_n_m += way * (cos_yaw + sin_yaw * half)
        self.dead_e_m += way * (sin_yaw - cos_yaw * half)
        self.north_m = self.dead_n_m + self.correction_n_m
        self.east_m = self.dead_e_m + self.correction_e_m
        self.history.append((now_us, self.dead_n_m, self.dead_e_m, speed, yaw_rad, turn_rate_radps))

    def recall(self, time_us: int) -> Remembered:
        """The main loop nearest to a time in the past; the oldest when that is too long ago."""
        history = self.history
        for entry in reversed(history):
            if entry[0] <= time_us:
                return entry
        return history[0]

    def fuse_fix(
        self, now_us: int, then: Remembered, north_m: float, east_m: float, parked: bool = True
    ) -> bool:
        """Compare a fix with where the rover was ``then``; false when it is not believed."""
        error_n = north_m - (then[1] + self.correction_n_m)
        error_e = east_m - (then[2] + self.correction_e_m)
        gate_m = _GATE_M + _GATE_GROWTH_MPS * (now_us - self.accepted_us) * 1e-6
        error_m = sqrt(error_n * error_n + error_e * error_e)
        ratio = error_m / gate_m
        self.position_ratio += _RATIO_GAIN * (ratio - self.position_ratio)
        if ratio > 1.0:
            self._note_rejection(now_us, error_n, error_e)
            lasting = now_us - self.rejected_since_us > _RESET_AFTER_US
            if lasting and (parked or error_m <= _RESET_DRIVING_M):
                self.place(
                    north_m + self.dead_n_m - then[1], east_m + self.dead_e_m - then[2], now_us
                )
            return False
        self.rejected_since_us = -1
        self.credible = True
        self.accepted_us = now_us
        self.correction_n_m += _POSITION_GAIN * error_n
        self.correction_e_m += _POSITION_GAIN * error_e
        return True

    def _note_rejection(self, now_us: int, error_n: float, error_e: float) -> None:
        """Only fixes that agree with each other can show that the estimate is wrong."""
        off_n, off_e = error_n - self.rejected_n_m, error_e - self.rejected_e_m
        again = self.rejected_since_us >= 0
        self.credible = again and off_n * off_n + off_e * off_e <= _GATE_M * _GATE_M
        if not self.credible:
            self.rejected_since_us = now_us
        self.rejected_n_m, self.rejected_e_m = error_n, error_e

    def fuse_velocity(self, then: Remembered, north_mps: float, east_mps: float) -> float:
        """Compare a GPS velocity with the speed ``then``; return it along the heading."""
        yaw: tuple[float, float] = sincos(then[4])
        sin_then, cos_then = yaw
        along = north_mps * cos_then + east_mps * sin_then
        error = along - then[3]
        ratio = abs(error) / (_SPEED_GATE_MPS + 0.3 * abs(then[3]))
        self.velocity_ratio += _RATIO_GAIN * (ratio - self.velocity_ratio)
        if ratio > 2.0 and self.velocity_ratio < 2.0:
            return along
        self.speed_mps += _SPEED_GAIN * error
        self._shift_bias(-_ACCEL_BIAS_GAIN * error)
        return along

    def pull_speed(self, speed_mps: float, gain: float) -> None:
        """Move the speed towards another source's by ``gain``, 0..1."""
        self.speed_mps += gain * (speed_mps - self.speed_mps)

    def stand(self, dt_s: float, dv_mps: float) -> None:
        """The rover stands: speed goes to zero, what the accelerometer shows is bias."""
        if dt_s > 0.0:
            self._shift_bias(dt_s * 0.5 * (dv_mps / dt_s - self.accel_bias_mps2))
        self.pull_speed(0.0, 5.0 * dt_s if dt_s < 0.2 else 1.0)

    def _shift_bias(self, change_mps2: float) -> None:
        bias = self.accel_bias_mps2 + change_mps2
        if bias > _LONGEST_BIAS_MPS2:
            bias = _LONGEST_BIAS_MPS2
        elif bias < -_LONGEST_BIAS_MPS2:
            bias = -_LONGEST_BIAS_MPS2
        self.accel_bias_mps2 = bias
