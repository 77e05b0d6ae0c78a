"""ArduPilot's binary wire ``webots-python``: 64 bytes there, 128 back.

Little-endian, without magic, size or frame count. The autopilot sends 16 floats, one per output:
(pulse width - 1000 us) / 1000. It gets 16 doubles: time [s], rate [rad/s] and specific force
[m/s^2] in body FRD, roll, pitch, yaw [rad], velocity [m/s] and position from home [m] in NED.
Without an answer it repeats its packet after 0.1 s; nothing tells a repeat from a new one.
"""

from __future__ import annotations

import math
import struct

from pico_gz.core.frames import euler_from_quat
from pico_gz.core.messages import Quaternion, Vector3
from pico_gz.errors import DecodeError, EncodeError

SERVO_BYTES = 64
STATE_BYTES = 128
MAX_PWM_US = 65535
_SERVO = struct.Struct("<16f")
_STATE = struct.Struct("<16d")


def decode_webots_servo(data: bytes) -> tuple[int, ...]:
    """The 16 pulse widths of a packet [us]; 0 = no output.

    Raises:
        DecodeError: it is no such packet.
    """
    if len(data) != SERVO_BYTES:
        raise DecodeError(
            f"{len(data)} bytes instead of {SERVO_BYTES}.",
            hint="Start the autopilot with --model webots-python, or use the wire json.",
        )
    values = _SERVO.unpack(data)
    if not all(-1.0 <= value <= MAX_PWM_US / 1000.0 - 1.0 for value in values):  # NaN neither
        raise DecodeError("An output of a webots-python packet is no pulse width.")
    return tuple(round(1000.0 + 1000.0 * value) for value in values)


def encode_webots_servo(pwm_us: tuple[int, ...]) -> bytes:
    """The packet that an autopilot sends for 16 pulse widths [us]."""
    return _SERVO.pack(*((pwm - 1000) / 1000.0 for pwm in pwm_us))


def encode_webots_state(
    timestamp_s: float,
    gyro_frd_radps: Vector3,
    accel_frd_mps2: Vector3,
    quat_wxyz: Quaternion,
    velocity_ned_mps: Vector3,
    position_ned_m: Vector3,
) -> bytes:
    """The record of a state.

    Raises:
        EncodeError: a number is not finite.
    """
    values = (
        timestamp_s,
        *gyro_frd_radps,
        *accel_frd_mps2,
        *euler_from_quat(quat_wxyz),
        *velocity_ned_mps,
        *position_ned_m,
    )
    if not math.isfinite(sum(values)):
        raise EncodeError("A state record has a number that is not finite.")
    return _STATE.pack(*values)
