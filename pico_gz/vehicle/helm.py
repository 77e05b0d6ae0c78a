"""Throttle and steering of a rover, whichever way it is driven."""

from __future__ import annotations

from pico_gz.messages import DriveKind
from pico_gz.units import pwm_from_normalized
from pico_gz.vehicle.platform import SitlPlatform


class Helm:
    """Holds the servo outputs of a platform and mixes for them."""

    def __init__(self, platform: SitlPlatform, owner: str) -> None:
        skid = platform.drive is DriveKind.SKID
        channels = platform.channels
        first, second = (
            (channels.left, channels.right) if skid else (channels.throttle, channels.steering)
        )
        self._skid = skid
        self._first = platform.create_pwm(first, owner=owner)
        self._second = platform.create_pwm(second, owner=owner)

    def steer(self, throttle: float, steering: float) -> None:
        """Set throttle and steering, -1..1, right positive.

        A skid steered side that would exceed full speed slows both, so that the turn stays.
        """
        if not self._skid:
            self.command(throttle, steering)
            return
        left, right = throttle + steering, throttle - steering
        largest = max(1.0, abs(left), abs(right))
        self.command(left / largest, right / largest)

    def command(self, first: float, second: float) -> None:
        """Set (left, right) or (throttle, steering) directly, -1..1."""
        self._first.set_pulse_us(pwm_from_normalized(first))
        self._second.set_pulse_us(pwm_from_normalized(second))

    def stop(self) -> None:
        """Both neutral."""
        self.command(0.0, 0.0)
