"""Autopilots of one's own, as users write them."""

from typing import ClassVar

from pico_gz import AutopilotStatus, GroundLink, Snapshot
from pico_gz.core.ground_control import Mode


class StopAtWall(Snapshot):
    """Drives forward until something is near."""

    period_us = 20_000
    _state_fields = ("blocked",)

    def __init__(self, distance_m=1.0):
        self.distance_m = distance_m
        self.blocked = False

    def start(self, platform):
        self.platform = platform
        self.sides = [
            platform.create_pwm(channel, owner="StopAtWall")
            for channel in (platform.channels.left, platform.channels.right)
        ]

    def tick(self, now_us):
        ranges = self.platform.read_rangefinders()
        if ranges is not None and ranges[0] is not None:
            self.blocked = ranges[0].distance_m < self.distance_m
        self.drive(1500 if self.blocked else 1700)

    def drive(self, pulse_us):
        for side in self.sides:
            side.set_pulse_us(pulse_us)

    def status(self):
        return AutopilotStatus(mode="WALL", armed=True, done=self.blocked)


class Raises(StopAtWall):
    def tick(self, now_us):
        raise ValueError("boom")


class RaisesWhenMade:
    def __init__(self):
        raise KeyError("no map")


class RaisesAtStart(StopAtWall):
    def start(self, platform):
        raise RuntimeError("no board")


class RaisesInStatus(StopAtWall):
    def status(self):
        raise ValueError("no status")


class SaysNothing(StopAtWall):
    def status(self):
        return None


class NoAutopilot:
    period_us = 20_000


class NoPeriod(StopAtWall):
    period_us = 0.02


class Crawler(GroundLink):
    """Drives while armed and in MANUAL; a ground station sees it."""

    modes = (Mode.HOLD, Mode.MANUAL)
    parameters: ClassVar = {"CRAWL_POWER": 0.2, "A_LIMIT": 3.0}

    def start(self, platform):
        super().start(platform)
        self.sides = [
            platform.create_pwm(channel, owner="Crawler")
            for channel in (platform.channels.left, platform.channels.right)
        ]

    def refuses_to_arm(self):
        return "" if self.estimate.get("position_valid") else "no fix"

    def tick(self, now_us):
        fix = self.platform.read_gps()
        if fix is not None:
            self.report(lat_deg=fix.lat_deg, lon_deg=fix.lon_deg, alt_m=fix.alt_m)
        drives = self.armed and self.mode is Mode.MANUAL
        for side in self.sides:
            side.set_pulse_us(round(1500 + 500 * self.params["CRAWL_POWER"] * drives))
