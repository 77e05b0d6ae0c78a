"""Tilt filter, and checks of gyro and accelerometer."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Final

from pico_gz.core.messages import ImuData, Vector3
from pico_gz.core.snapshot import Snapshot
from pico_gz.core.units import GRAVITY_MPS2

# Down follows the accelerometer with these time constants; slow while driving, because every
# acceleration and vibration looks like a tilt.
_TAU_PARKED_S: Final = 1.0
_TAU_DRIVING_S: Final = 8.0
# An acceleration of this size halves the trust in the accelerometer [m/s^2].
_TRUST_MPS2: Final = 0.3
_LOWPASS_S: Final = 0.2
# No rover speeds up for longer than this: what lasts is a wrong tilt, and is trusted [s].
_LASTING_S: Final = 5.0
# A standing tilt correction is a gyro bias: integral over proportional gain [1/s]. Not in a
# turn, where an IMU off the axis feels a standing force that is no tilt.
_BIAS_RATE: Final = 1.0 / 32.0
_STRAIGHT_RADPS: Final = 0.1
_BIAS_PARKED_S: Final = 5.0
_MAX_GAP_S: Final = 0.1


class TiltFilter(Snapshot):
    """Complementary filter for the direction of down in the body frame FRD.

    A unit vector instead of roll and pitch needs no trigonometry and knows no gimbal lock.
    After each main loop's samples, ``turn_rad`` and ``forward_dv_mps`` hold the heading change
    and the change of forward speed over them.

    Attributes:
        down: unit vector to the centre of the earth, body frame.
        turn_rad: heading change by the raw gyro [rad].
        forward_dv_mps: integrated forward acceleration without gravity [m/s].
        elapsed_s: the time both cover [s].
        accel_mss: and ``gyro_rads``: the newest sample.
        vibration_mps2: mean deviation of the accelerometer, per axis.
    """

    _state_fields = (
        "accel_mss",
        "bias_x_radps",
        "bias_y_radps",
        "down_x",
        "down_y",
        "down_z",
        "elapsed_s",
        "forward_dv_mps",
        "forward_lasting_mps2",
        "forward_lowpass_mps2",
        "gyro_rads",
        "last_us",
        "samples",
        "turn_rad",
        "vibration_mps2",
    )
    __slots__ = _state_fields

    def __init__(self) -> None:
        self.down_x = 0.0
        self.down_y = 0.0
        self.down_z = 1.0
        self.bias_x_radps = 0.0
        self.bias_y_radps = 0.0
        self.turn_rad = 0.0
        self.forward_dv_mps = 0.0
        self.forward_lowpass_mps2 = 0.0
        self.forward_lasting_mps2 = 0.0
        self.elapsed_s = 0.0
        self.last_us = -1
        self.samples = 0
        self.accel_mss = (0.0, 0.0, -GRAVITY_MPS2)
        self.gyro_rads = (0.0, 0.0, 0.0)
        self.vibration_mps2 = (0.0, 0.0, 0.0)

    def add(self, samples: Sequence[tuple[int, ImuData]], speed_mps: float, parked: bool) -> None:
        """Take the samples of one main loop, oldest first.

        Args:
            samples: times [us] and readings.
            speed_mps: forward speed, for the centripetal part of them.
            parked: the rover stands, so whatever the gyro shows is bias.
        """
        self.turn_rad = self.forward_dv_mps = self.elapsed_s = 0.0
        if not samples:
            return
        last_us, count = self.last_us, self.samples
        # One loop over local names: this runs for every sample of every vehicle.
        x, y, z = self.down_x, self.down_y, self.down_z
        bias_x, bias_y = self.bias_x_radps, self.bias_y_radps
        low, lasting = self.forward_lowpass_mps2, self.forward_lasting_mps2
        tau = _TAU_PARKED_S if parked else _TAU_DRIVING_S
        turn = speed_change = elapsed = 0.0
        for time_us, imu in samples:
            ax, ay, az = imu.accel_mss
            gx, gy, gz = imu.gyro_rads
            if last_us < 0:
                x, y, z = _level(ax, ay, az)
                last_us = time_us
                continue
            dt = (time_us - last_us) * 1e-6
            last_us = time_us
            if dt > _MAX_GAP_S:
                dt = _MAX_GAP_S
            count += 1
            if parked:
                # A plain mean at first, then a slow filter.
                gain = max(dt / _BIAS_PARKED_S, 1.0 / count)
                bias_x += gain * (gx - bias_x)
                bias_y += gain * (gy - bias_y)
            gx -= bias_x
            gy -= bias_y
            # Down stays where it is, so in the body it turns against the gyro.
            nx = x + (y * gz - z * gy) * dt
            ny = y + (z * gx - x * gz) * dt
            nz = z + (x * gy - y * gx) * dt
            forward = ax + GRAVITY_MPS2 * nx
            low += (forward - low) * dt / (_LOWPASS_S + dt)
            lasting += (low - lasting) * dt / (_LASTING_S + dt)
            ratio = (low - lasting) / _TRUST_MPS2
            gain = dt / (tau * (1.0 + ratio * ratio)) / GRAVITY_MPS2
            step_x = gain * forward
            step_y = gain * (ay - speed_mps * gz + GRAVITY_MPS2 * ny)
            nx -= step_x
            ny -= step_y
            nz -= gain * (az + GRAVITY_MPS2 * nz)
            if -_STRAIGHT_RADPS < gz < _STRAIGHT_RADPS:
                bias_x += _BIAS_RATE * step_y
                bias_y -= _BIAS_RATE * step_x
            scale = 1.0 / sqrt(nx * nx + ny * ny + nz * nz)
            x, y, z = nx * scale, ny * scale, nz * scale
            turn += (gy * y + gz * z) / (y * y + z * z) * dt
            speed_change += forward * dt
            elapsed += dt
        self.last_us, self.samples = last_us, count
        self.down_x, self.down_y, self.down_z = x, y, z
        self.bias_x_radps, self.bias_y_radps = bias_x, bias_y
        self.forward_lowpass_mps2, self.forward_lasting_mps2 = low, lasting
        self.turn_rad, self.forward_dv_mps, self.elapsed_s = turn, speed_change, elapsed
        newest = samples[-1][1]
        self.accel_mss, self.gyro_rads = newest.accel_mss, newest.gyro_rads

    def level_components(self, x: float, y: float, z: float) -> tuple[float, float]:
        """Turn a body vector into (along the heading, to its right) in the horizontal plane."""
        dy, dz = self.down_y, self.down_z
        cos_pitch = sqrt(dy * dy + dz * dz)
        sin_roll, cos_roll = dy / cos_pitch, dz / cos_pitch
        ahead = x * cos_pitch - (y * sin_roll + z * cos_roll) * self.down_x
        return ahead, y * cos_roll - z * sin_roll

    def note_vibration(self) -> None:
        """Update the vibration figures from the newest sample; a few times a second is enough."""
        x, y, z = self.accel_mss
        vx, vy, vz = self.vibration_mps2
        g = GRAVITY_MPS2
        ex = x + g * self.down_x - self.forward_lowpass_mps2
        ey, ez = y + g * self.down_y, z + g * self.down_z
        self.vibration_mps2 = (
            vx + 0.1 * (abs(ex) - vx),
            vy + 0.1 * (abs(ey) - vy),
            vz + 0.1 * (abs(ez) - vz),
        )


def _level(ax: float, ay: float, az: float) -> tuple[float, float, float]:
    """Take the first sample's specific force as the opposite of down."""
    length = sqrt(ax * ax + ay * ay + az * az)
    if length <= 1.0:
        return 0.0, 0.0, 1.0
    return -ax / length, -ay / length, -az / length


# Looks in a row, ten a second, before a sensor counts as failed.
_LOOKS: Final = 10
# Changes from look to look that show a living sensor, well under its noise.
_LIVELY_MPS2: Final = 0.01
_TURNING: Final = 0.15
# On the ground nothing floats, is pressed down by several g, or tumbles on and on.
_MIN_FORCE_MPS2: Final = 0.5 * GRAVITY_MPS2
_MAX_FORCE_MPS2: Final = 3.0 * GRAVITY_MPS2
_MAX_TUMBLE_RADPS: Final = 6.0


class ImuWatch(Snapshot):
    """Looks at one sample in ten or so, which costs next to nothing.

    A sensor without noise may well repeat itself, so repetition alone is no failure: the gyro
    must do so while the accelerometer shows that there is noise or motion to be seen. On a
    straight way that counts only for a gyro that has shown noise while the rover stood.

    Attributes:
        gyro_changes: looks in a row, up to a limit, that showed noise while standing.
    """

    _state_fields = (
        "accel_mss", "gyro_changes", "gyro_rads", "gyro_repeats", "strange_force", "strange_turn",
    )  # fmt: skip
    __slots__ = _state_fields

    def __init__(self) -> None:
        self.accel_mss: Vector3 = (0.0, 0.0, 0.0)
        self.gyro_rads: Vector3 = (0.0, 0.0, 0.0)
        self.gyro_changes = 0
        self.gyro_repeats = 0
        self.strange_force = 0
        self.strange_turn = 0

    @property
    def gyro_credible(self) -> bool:
        """Whether the gyro can be believed."""
        return self.gyro_repeats < _LOOKS and self.strange_turn < _LOOKS

    @property
    def accel_credible(self) -> bool:
        """Whether the accelerometer can be believed."""
        return self.strange_force < _LOOKS

    def note(self, accel_mss: Vector3, gyro_rads: Vector3, parked: bool, steering: float) -> None:
        """Take a sample; ``steering`` is the last output, -1..1."""
        ax, ay, az = accel_mss
        force_mps2 = sqrt(ax * ax + ay * ay + az * az)
        real = _MIN_FORCE_MPS2 < force_mps2 < _MAX_FORCE_MPS2
        self.strange_force = 0 if real else self.strange_force + 1
        tumbling = max(abs(gyro_rads[0]), abs(gyro_rads[1])) > _MAX_TUMBLE_RADPS
        self.strange_turn = self.strange_turn + 1 if tumbling else 0
        if gyro_rads != self.gyro_rads:
            self.gyro_repeats = 0
            if parked and self.gyro_changes < _LOOKS:
                self.gyro_changes += 1
        elif (
            parked or abs(steering) > _TURNING or self.gyro_changes >= _LOOKS
        ) and self._is_lively(accel_mss):
            self.gyro_repeats += 1
        self.accel_mss, self.gyro_rads = accel_mss, gyro_rads

    def _is_lively(self, accel_mss: Vector3) -> bool:
        return any(
            abs(now - before) > _LIVELY_MPS2
            for now, before in zip(accel_mss, self.accel_mss, strict=True)
        )
