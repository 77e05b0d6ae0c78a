"""How fast the wheels drive the rover: by encoders where fitted, else by what was commanded."""

from __future__ import annotations

from pico_gz.autopilot.angles import TWO_PI
from pico_gz.messages import EncoderData
from pico_gz.state import Stateful

# Encoders count whole ticks, so their speed is taken over a while.
_WINDOW_US = 100_000
_FRESH_US = 500_000
_MODEL_LAG_S = 0.15
_LEARN_RATE = 0.02
_LEARN_MIN_THROTTLE = 0.2
_LEARN_MIN_SPEED_MPS = 0.3
_STEADY_MPS = 0.1
_SLIP_MPS = 0.3
_SLIP_SHARE = 0.3
# Wheels that seem to turn faster than this many times their top speed are no measurement.
_MOST_TOP_SPEEDS = 4.0


class WheelOdometry(Stateful):
    """Speed along the heading as the wheels tell it.

    Attributes:
        full_speed_mps: speed at full throttle, learned while GPS is there.
        model_mps: speed that the commands should give.
        encoder_mps: speed by encoders, valid while fresh.
        encoder_us: when that was, -1 never.
        slipping: the encoders and the GPS disagree: wheels spin, or encoders fail.
    """

    __slots__ = _state_fields = (
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
        if abs(speed_mps) > _MOST_TOP_SPEEDS * self.full_speed_mps:
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
