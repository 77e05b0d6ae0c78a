"""check_autopilot passes what works and names what does not."""

import random
import time
from typing import ClassVar

import pytest

from pico_gz import AutopilotStatus, GroundLink, Snapshot
from pico_gz.core.ground_control import Result
from pico_gz.testing import AutopilotCheckError, check_autopilot
from pico_gz.vehicle.autopilot.rover_autopilot import RoverAutopilot


class Steady(Snapshot):
    """Drives with a power that rises with every tick."""

    period_us = 20_000
    _state_fields = ("ticks",)

    def __init__(self):
        self.ticks = 0

    def start(self, platform):
        self.platform = platform
        self.side = platform.create_pwm(platform.channels.left, owner="Steady")

    def tick(self, now_us):
        self.ticks += 1
        self.side.set_pulse_us(1500 + self.ticks % 97)

    def status(self):
        return AutopilotStatus(mode="STEADY", armed=True)


class Linked(GroundLink):
    def start(self, platform):
        super().start(platform)
        self.side = platform.create_pwm(platform.channels.left, owner="Linked")

    def tick(self, now_us):
        self.side.set_pulse_us(1600)


ALWAYS = ["making", "driving", "two at once", "repeatable", "status", "lost sensors"]


@pytest.mark.parametrize(
    ("factory", "more"),
    [
        (Steady, ["snapshot"]),
        (Linked, ["snapshot", "ground link"]),
        (RoverAutopilot, ["snapshot", "ground link"]),
    ],
)
def test_good_ones_pass(factory, more):
    assert check_autopilot(factory) == [*ALWAYS, *more]


class Raises(Steady):
    def tick(self, now_us):
        raise ValueError("boom")


class Random(Steady):
    def tick(self, now_us):
        self.side.set_pulse_us(1500 + random.randrange(200))


class Shared(Steady):
    count: ClassVar = [0]

    def tick(self, now_us):
        self.count[0] += 1
        self.side.set_pulse_us(1500 + self.count[0] % 97)


class Forgets(Steady):
    _state_fields = ()


class NeedsGps(Steady):
    def tick(self, now_us):
        fix = self.platform.read_gps()
        self.last_us = now_us if fix is not None else getattr(self, "last_us", now_us)
        assert now_us - self.last_us < 900_000, "no fix"
        super().tick(now_us)


class WrongStatus(Steady):
    def status(self):
        return "fine"


class StuckMode(Linked):
    def set_mode(self, mode, reason="GCS"):
        return Result.ACCEPTED


@pytest.mark.parametrize(
    ("factory", "words"),
    [
        (Raises, "driving: .*boom"),
        (Random, "repeatable: two runs of one seed differ"),
        (Shared, "two at once: .*is something shared"),
        (Forgets, "snapshot: a new one does not continue"),
        (NeedsGps, "lost sensors: without gps: .*no fix"),
        (WrongStatus, "status: status.. gives no AutopilotStatus"),
        (StuckMode, "ground link: it takes mode 250"),
        (lambda: 3, "making: .*no autopilot"),
    ],
)
def test_broken_ones_are_named(factory, words):
    with pytest.raises(AutopilotCheckError, match=words) as caught:
        check_autopilot(factory)
    assert caught.value.findings


def test_one_object_for_all_is_found():
    only = Steady()
    with pytest.raises(AutopilotCheckError, match="the same object twice"):
        check_autopilot(lambda: only)


def test_one_that_hangs_ends():
    class Hangs(Steady):
        def tick(self, now_us):
            time.sleep(5.0)

    with pytest.raises(AutopilotCheckError, match=r"driving: .*has not returned within 0.3 s"):
        check_autopilot(Hangs, limit_s=0.3)
