"""Guided targets and manual input from a ground station."""

from __future__ import annotations

import math

from pico_gz.core.units import PWM_VALID_MAX_US, PWM_VALID_MIN_US
from pico_gz.mavlink.codec import Message, mav
from pico_gz.mavlink.endpoint import Handler, Service
from pico_gz.mavlink.links import Channel
from pico_gz.mavlink.missions import GLOBAL_FRAMES, is_place

_IGNORE_POSITION = 0b11
_IGNORE_VELOCITY = 0b11 << 3
_IGNORE_YAW = 1 << 10
_IGNORE_YAW_RATE = 1 << 11
_ATTITUDE_IGNORE_YAW_RATE = 1 << 2
_ATTITUDE_IGNORE_THRUST = 1 << 6
_ATTITUDE_IGNORE_ATTITUDE = 1 << 7
_BODY_FRAMES = frozenset({mav.MAV_FRAME_BODY_NED, mav.MAV_FRAME_BODY_OFFSET_NED})
_OFFSET_FRAMES = _BODY_FRAMES | {mav.MAV_FRAME_LOCAL_OFFSET_NED}
_LOCAL_FRAMES = _OFFSET_FRAMES | {mav.MAV_FRAME_LOCAL_NED}
_AXIS_FULL = 1000.0
_AXIS_UNUSED = 0x7FFF
_OLD_CHANNELS = 8
_CHANNELS = 18
_RELEASE_NEW = 0xFFFE
_DEFAULT_GCS = 255


def _rotated(x: float, y: float, yaw_rad: float) -> tuple[float, float]:
    """Turn forward/right into north/east."""
    cos, sin = math.cos(yaw_rad), math.sin(yaw_rad)
    return x * cos - y * sin, x * sin + y * cos


class SetpointService(Service):
    """Targets for GUIDED mode, and sticks.

    The autopilot ignores targets in other modes; sticks count only from the ground station that
    ``SYSID_MYGCS`` names.
    """

    def handlers(self) -> dict[int, Handler]:
        return {
            mav.MAVLINK_MSG_ID_SET_POSITION_TARGET_LOCAL_NED: self._on_local,
            mav.MAVLINK_MSG_ID_SET_POSITION_TARGET_GLOBAL_INT: self._on_global,
            mav.MAVLINK_MSG_ID_SET_ATTITUDE_TARGET: self._on_attitude,
            mav.MAVLINK_MSG_ID_MANUAL_CONTROL: self._on_manual_control,
            mav.MAVLINK_MSG_ID_RC_CHANNELS_OVERRIDE: self._on_override,
        }

    def _on_local(self, m: Message, _channel: Channel) -> None:
        if m.coordinate_frame not in _LOCAL_FRAMES:
            return
        if m.type_mask & _IGNORE_POSITION:
            self._by_velocity(m, in_body=m.coordinate_frame in _BODY_FRAMES)
            return
        if not (math.isfinite(m.x) and math.isfinite(m.y)):
            return
        north_m, east_m = m.x, m.y
        estimate = self._endpoint.telemetry()
        if m.coordinate_frame in _BODY_FRAMES:
            north_m, east_m = _rotated(north_m, east_m, estimate.yaw_rad)
        if m.coordinate_frame in _OFFSET_FRAMES:
            north_m += estimate.north_m
            east_m += estimate.east_m
        self._vehicle.guided.to_local(north_m, east_m, yaw_rad=_yaw(m))
        self._endpoint.vehicle_changed()

    def _on_global(self, m: Message, _channel: Channel) -> None:
        if m.coordinate_frame not in GLOBAL_FRAMES:
            return
        if m.type_mask & _IGNORE_POSITION:
            self._by_velocity(m, in_body=False)
        elif is_place(m.lat_int, m.lon_int):
            self._vehicle.guided.to_global(m.lat_int, m.lon_int)
            self._endpoint.vehicle_changed()

    def _by_velocity(self, m: Message, *, in_body: bool) -> None:
        """Drive by what is left without a position: velocity, heading, turn rate."""
        own_yaw_rad = self._endpoint.telemetry().yaw_rad if in_body else 0.0
        yaw_rad, yaw_rate = _yaw(m), _yaw_rate(m)
        if yaw_rad is not None:
            yaw_rad += own_yaw_rad
        has_velocity = not m.type_mask & _IGNORE_VELOCITY
        if has_velocity and not (math.isfinite(m.vx) and math.isfinite(m.vy)):
            return
        if has_velocity and yaw_rad is None and yaw_rate is None:
            self._vehicle.guided.velocity(_rotated(m.vx, m.vy, own_yaw_rad))
        elif has_velocity:
            # With a heading of its own the velocity is a speed; the sign of x gives the direction.
            speed_mps = math.hypot(m.vx, m.vy)
            self._turn(-speed_mps if m.vx < 0.0 else speed_mps, yaw_rad, yaw_rate)
        elif yaw_rad is not None or yaw_rate is not None:
            self._turn(0.0, yaw_rad, yaw_rate)
        self._endpoint.vehicle_changed()

    def _turn(self, speed_mps: float, yaw_rad: float | None, yaw_rate: float | None) -> None:
        if yaw_rad is not None:
            self._vehicle.guided.velocity(None, speed_mps=speed_mps, yaw_rad=yaw_rad)
        else:
            self._vehicle.guided.velocity(None, speed_mps=speed_mps, yaw_rate_radps=yaw_rate)

    def _on_attitude(self, m: Message, _channel: Channel) -> None:
        if m.type_mask & _ATTITUDE_IGNORE_THRUST or not math.isfinite(m.thrust):
            return
        yaw_rad = None
        if not m.type_mask & _ATTITUDE_IGNORE_ATTITUDE:
            yaw_rad = _yaw_of_quaternion(m.q)
        yaw_rate = None
        if not m.type_mask & _ATTITUDE_IGNORE_YAW_RATE and math.isfinite(m.body_yaw_rate):
            yaw_rate = m.body_yaw_rate
        if yaw_rad is not None or yaw_rate is not None:
            thrust = min(1.0, max(-1.0, m.thrust))
            self._vehicle.guided.heading(yaw_rad, yaw_rate, thrust)
            self._endpoint.vehicle_changed()

    # --- sticks -----------------------------------------------------------------------------

    def _is_my_gcs(self, message: Message) -> bool:
        info = self._vehicle.params.by_name("SYSID_MYGCS")
        expected = _DEFAULT_GCS if info is None else info.value
        return bool(message.get_srcSystem() == expected)

    def _on_manual_control(self, m: Message, _channel: Channel) -> None:
        if self._is_my_gcs(m):
            axes = (_axis(m.x), _axis(m.y), _axis(m.z), _axis(m.r))
            self._vehicle.manual_control(*axes, m.buttons)

    def _on_override(self, m: Message, _channel: Channel) -> None:
        if not self._is_my_gcs(m):
            return
        pulses: dict[int, int] = {}
        released: list[int] = []
        for number in range(1, _CHANNELS + 1):
            raw = getattr(m, f"chan{number}_raw")
            # Channels above 8 came later: there 0 means "not sent", so release has its own number.
            if raw == (0 if number <= _OLD_CHANNELS else _RELEASE_NEW):
                released.append(number)
            elif PWM_VALID_MIN_US <= raw <= PWM_VALID_MAX_US:
                pulses[number] = raw
        if released:
            self._vehicle.release_rc_override(released)
        if pulses:
            self._vehicle.rc_override(pulses)


def _yaw(m: Message) -> float | None:
    usable = not m.type_mask & _IGNORE_YAW and math.isfinite(m.yaw)
    return float(m.yaw) if usable else None


def _yaw_rate(m: Message) -> float | None:
    usable = not m.type_mask & _IGNORE_YAW_RATE and math.isfinite(m.yaw_rate)
    return float(m.yaw_rate) if usable else None


def _yaw_of_quaternion(quat_wxyz: list[float]) -> float | None:
    """Return the heading of an attitude, None for numbers that are none."""
    w, x, y, z = quat_wxyz
    norm = math.hypot(w, x, y, z)
    if not 0.5 < norm < 2.0:
        return None
    return math.atan2(2.0 * (w * z + x * y), norm * norm - 2.0 * (y * y + z * z))


def _axis(raw: int) -> float:
    """Return an axis in -1..1; one that does not exist rests in the middle."""
    return 0.0 if raw == _AXIS_UNUSED else min(1.0, max(-1.0, raw / _AXIS_FULL))
