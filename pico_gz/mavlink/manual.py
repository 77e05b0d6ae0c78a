"""Manual input from a ground station: joystick and RC override, and its heartbeat."""

from __future__ import annotations

from pico_gz.mavlink.channel import Channel
from pico_gz.mavlink.codec import Message, mav
from pico_gz.mavlink.context import Context, Handler
from pico_gz.units import PWM_VALID_MAX_US, PWM_VALID_MIN_US

_AXIS_FULL = 1000.0
_AXIS_UNUSED = 0x7FFF
_OLD_CHANNELS = 8
_CHANNELS = 18
_RELEASE_NEW = 0xFFFE
_DEFAULT_GCS = 255


def _axis(raw: int) -> float:
    """Return an axis in -1..1; one that does not exist rests in the middle."""
    return 0.0 if raw == _AXIS_UNUSED else min(1.0, max(-1.0, raw / _AXIS_FULL))


class ManualService:
    """Sticks of the ground station that ``SYSID_MYGCS`` names; others are ignored."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def handlers(self) -> dict[int, Handler]:
        """Return what this service takes."""
        return {
            mav.MAVLINK_MSG_ID_MANUAL_CONTROL: self._on_manual_control,
            mav.MAVLINK_MSG_ID_RC_CHANNELS_OVERRIDE: self._on_override,
        }

    def _is_my_gcs(self, message: Message) -> bool:
        info = self._context.vehicle.param_by_name("SYSID_MYGCS")
        expected = _DEFAULT_GCS if info is None else info.value
        return bool(message.get_srcSystem() == expected)

    def _on_manual_control(self, m: Message, _channel: Channel) -> None:
        if self._is_my_gcs(m):
            axes = (_axis(m.x), _axis(m.y), _axis(m.z), _axis(m.r))
            self._context.vehicle.manual_control(*axes, m.buttons)

    def _on_override(self, m: Message, _channel: Channel) -> None:
        if not self._is_my_gcs(m):
            return
        pulses: dict[int, int] = {}
        released: list[int] = []
        for number in range(1, _CHANNELS + 1):
            raw = getattr(m, f"chan{number}_raw")
            # Channels above 8 came later: there 0 means "not sent", so release has its own word.
            if raw == (0 if number <= _OLD_CHANNELS else _RELEASE_NEW):
                released.append(number)
            elif PWM_VALID_MIN_US <= raw <= PWM_VALID_MAX_US:
                pulses[number] = raw
        if released:
            self._context.vehicle.release_rc_override(released)
        if pulses:
            self._context.vehicle.rc_override(pulses)
