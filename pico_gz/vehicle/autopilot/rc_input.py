"""The pilot's sticks and switches as one input."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from pico_gz.core.snapshot import Snapshot

if TYPE_CHECKING:
    from pico_gz.core.ground_control import GcsVehicle
    from pico_gz.vehicle.autopilot.context import RoverContext
    from pico_gz.vehicle.platform.platform import SitlPlatform


_CHANNELS: Final = 16
_VALID_US = range(800, 2201)
_LOST_US: Final = 500_000
_MODE_LIMITS_US = (1230, 1360, 1490, 1620, 1749)


class RcInput(Snapshot):
    """Sixteen channels, each from its override while that is fresh, else from the receiver.

    Attributes:
        channels_us: what counts now; 0 = no such channel.
        seen: there has been any radio input, so its loss means something.
        valid: input is fresh.
    """

    __slots__ = (
        "_params", "channels_us", "frame_us", "last_mode_slot", "override_us", "override_values",
        "receiver_seen", "seen", "valid",
    )  # fmt: skip
    _state_fields = (
        "channels_us", "frame_us", "last_mode_slot", "override_us", "override_values",
        "receiver_seen", "seen", "valid",
    )  # fmt: skip

    def __init__(self, params: Mapping[str, float]) -> None:
        self._params = params
        self.channels_us: tuple[int, ...] = (0,) * _CHANNELS
        self.override_values = [0] * _CHANNELS
        self.override_us = [0] * _CHANNELS
        self.frame_us = -1
        self.last_mode_slot = -1
        self.receiver_seen = False
        self.seen = False
        self.valid = False

    def update(self, platform: SitlPlatform, now_us: int) -> None:
        """Read the channels that apply now."""
        frame = platform.rc_read()
        if frame is None and not self.seen:
            return
        channels = list(frame.channels_us) if frame is not None else [0] * _CHANNELS
        if frame is not None:
            self.frame_us = frame.timestamp_us
            self.receiver_seen = self.seen = True
        fresh = frame is not None and now_us - frame.timestamp_us <= _LOST_US
        hold_us = self._params["RC_OVERRIDE_TIME"] * 1e6
        for index, value in enumerate(self.override_values):
            if not value:
                continue
            if 0.0 <= hold_us < now_us - self.override_us[index]:
                self.override_values[index] = 0
            else:
                channels[index] = value
                fresh = True
        self.valid = fresh
        self.channels_us = tuple(channels)

    def override(self, channels_us: Mapping[int, int], now_us: int) -> None:
        """Take overrides by 1-based channel."""
        for channel, value in channels_us.items():
            if 1 <= channel <= _CHANNELS:
                self.override_values[channel - 1] = int(value)
                self.override_us[channel - 1] = now_us
                self.seen = True

    def release(self, channels: Iterable[int] | None = None) -> None:
        """Give channels back to the receiver; all of them without an argument."""
        chosen = range(1, _CHANNELS + 1) if channels is None else channels
        for channel in chosen:
            if 1 <= channel <= _CHANNELS:
                self.override_values[channel - 1] = 0
        if not any(self.override_values) and not self.receiver_seen:
            # Given back on purpose, so there is nothing to be lost.
            self.seen = self.valid = False
            self.channels_us = (0,) * _CHANNELS

    def lost(self) -> bool:
        """Whether there was input and it is gone, or the throttle shows the receiver's alarm."""
        if not self.seen:
            return False
        if not self.valid:
            return True
        throttle_us = self.channels_us[int(self._params["RCMAP_THROTTLE"]) - 1]
        return 0 < throttle_us < self._params["FS_THR_VALUE"]

    def steering(self) -> float:
        """The steering stick, -1..1, right positive; 0 without input."""
        return self._stick("RCMAP_ROLL", 1)

    def throttle(self) -> float:
        """The throttle stick, -1..1; 0 without input."""
        return self._stick("RCMAP_THROTTLE", 3)

    def mode_slot(self) -> int:
        """Position 1..6 of the mode switch when it has just moved, else 0."""
        channel = int(self._params["MODE_CH"])
        if not self.valid or channel == 0:
            return 0
        pulse_us = self.channels_us[channel - 1]
        if pulse_us not in _VALID_US:
            return 0
        slot = 1 + sum(pulse_us > limit for limit in _MODE_LIMITS_US)
        before, self.last_mode_slot = self.last_mode_slot, slot
        return slot if before not in (-1, slot) else 0

    def _stick(self, map_name: str, settings: int) -> float:
        if not self.valid:
            return 0.0
        params = self._params
        pulse_us = self.channels_us[int(params[map_name]) - 1]
        if pulse_us not in _VALID_US:
            return 0.0
        offset = pulse_us - params[f"RC{settings}_TRIM"]
        zone = params[f"RC{settings}_DZ"]
        if abs(offset) <= zone:
            return 0.0
        if offset > 0.0:
            span = params[f"RC{settings}_MAX"] - params[f"RC{settings}_TRIM"] - zone
            value = (offset - zone) / span if span > 0.0 else 0.0
        else:
            span = params[f"RC{settings}_TRIM"] - params[f"RC{settings}_MIN"] - zone
            value = (offset + zone) / span if span > 0.0 else 0.0
        value = min(1.0, max(-1.0, value))
        return -value if params[f"RC{settings}_REVERSED"] else value


_HELD_US: Final = 2_000_000
_FULL: Final = 0.9
_ARM_ONLY, _ARM_AND_DISARM = 1, 2


class PilotSwitches(Snapshot):
    """Watches the mode channel and the steering stick."""

    _state_fields = ("held_since_us", "side")
    __slots__ = _state_fields

    def __init__(self) -> None:
        self.side = 0
        self.held_since_us = -1

    def check(self, rover: RoverContext, commands: GcsVehicle) -> None:
        """Look at the sticks, some ten times a second."""
        rc = rover.rc
        if not rc.valid:
            self.side, self.held_since_us = 0, -1
            return
        slot = rc.mode_slot()
        if slot:
            commands.set_mode(int(rover.values[f"MODE{slot}"]), "mode switch")
        self._check_arming(rover, commands)

    def _check_arming(self, rover: RoverContext, commands: GcsVehicle) -> None:
        """Steering held to the right at neutral throttle arms, to the left disarms.

        The time counts only while the stick can change something: a stick that was held right
        while the rover was armed must not arm it again right after a ground station disarms it.
        """
        allowed = int(rover.values["ARMING_RUDDER"])
        steering = rover.rc.steering() if rover.rc.throttle() == 0.0 else 0.0
        side = 0
        if steering > _FULL and not rover.armed:
            side = 1
        elif steering < -_FULL and rover.armed:
            side = -1
        if side == 0 or side != self.side or self.held_since_us < rover.disarmed_us:
            self.side, self.held_since_us = side, rover.now_us
            return
        if rover.now_us - self.held_since_us < _HELD_US:
            return
        self.held_since_us = rover.now_us
        if side > 0 and allowed >= _ARM_ONLY:
            commands.arm()
        elif side < 0 and allowed >= _ARM_AND_DISARM:
            commands.disarm()
