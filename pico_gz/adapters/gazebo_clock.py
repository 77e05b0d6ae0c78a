"""A simulator's clock as seen through its records: what is new, doubled, late, a restart. Pure."""

from __future__ import annotations

from enum import Enum

from pico_gz.units import US_PER_S

# Lower times for this long, with no newer one between, are a restart and not a late datagram.
RESTART_AFTER_S = 0.2
GAP_US = US_PER_S


class Verdict(Enum):
    """What a datagram was."""

    NEW = "new"
    GAP = "gap"
    RESTART = "restart"
    EMPTY = "empty"
    DUPLICATE = "duplicate"
    OLD = "old"
    BROKEN = "broken"
    FOREIGN = "foreign"


# A tuple: membership is a test of identity here, and runs for every record.
ACCEPTED = (Verdict.NEW, Verdict.GAP, Verdict.RESTART)


class WireClock:
    """Turns the times of records into time that passes and never goes back.

    Attributes:
        time_us: time that has passed since the first record [us].
        wire_us: time of the newest record, as the simulator counts; -1 before the first.
        epoch: rises when the simulator starts over.
        odd_steps: accepted records in a row that rose by the same step, but not by the physics
            step; times that jump about are no other step.
        last_delta_us: what the newest record added, as the simulator counts [us].
    """

    __slots__ = (
        "_lower_since_s",
        "_physics_step_us",
        "_restart_below_us",
        "epoch",
        "last_delta_us",
        "odd_steps",
        "time_us",
        "wire_us",
    )

    def __init__(self, physics_step_us: int) -> None:
        self.time_us = 0
        self.wire_us = -1
        self.epoch = 0
        self.odd_steps = 0
        self.last_delta_us = 0
        self._physics_step_us = physics_step_us
        self._lower_since_s: float | None = None
        self._restart_below_us = -1

    def expect_restart(self, below_us: int) -> None:
        """Another vehicle of the same simulator has seen it start over: believe it at once."""
        if self.wire_us > below_us:
            self._restart_below_us = below_us

    def judge(self, wire_us: int, now_s: float) -> Verdict:
        """Take the time of a record that arrived at ``now_s``."""
        if wire_us > self.wire_us:
            return self._advance(wire_us)
        if wire_us == self.wire_us:
            self._lower_since_s = None
            return Verdict.DUPLICATE
        if self._lower_since_s is None:
            self._lower_since_s = now_s
        waited_long = now_s - self._lower_since_s >= RESTART_AFTER_S
        if not waited_long and wire_us > self._restart_below_us:
            return Verdict.OLD
        self.epoch += 1
        self.wire_us = wire_us
        self._lower_since_s = None
        self._restart_below_us = -1
        return Verdict.RESTART

    def _advance(self, wire_us: int) -> Verdict:
        self._lower_since_s = None
        verdict = Verdict.NEW
        if self.wire_us >= 0:
            delta_us = wire_us - self.wire_us
            if delta_us == self._physics_step_us:
                self.odd_steps = 0
            else:
                is_steady = abs(delta_us - self.last_delta_us) <= 1
                self.odd_steps = self.odd_steps + 1 if is_steady else 1
            self.last_delta_us = delta_us
            if delta_us > GAP_US:
                # The simulator was moved on by hand; for the vehicle one step has passed.
                verdict = Verdict.GAP
                delta_us = self._physics_step_us
            self.time_us += delta_us
        self.wire_us = wire_us
        return verdict
