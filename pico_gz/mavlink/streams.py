"""Which messages a receiver gets, at which rate.

Rates come from the ``SR0_*`` parameters and can be changed by the receiver, for itself alone,
with REQUEST_DATA_STREAM and SET_MESSAGE_INTERVAL. Streams follow simulation time at any speed of
the run, as ArduPilot's do. Only a receiver that has never sent anything, so perhaps nobody, is
held to four times the nominal rate in wall time.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from itertools import count
from typing import Final

from pico_gz.mavlink.codec import mav

Action = Callable[[], None]
_Entry = tuple[int, int, Action]


class Schedule:
    """Actions that run at a simulation time or at a wall time; costs nothing while none is due.

    Attributes:
        sim_us: simulation time of the current turn.
        wall_us: wall time of the current turn.
        turn: number of the current turn.
    """

    def __init__(self) -> None:
        self.sim_us = 0
        self.wall_us = 0
        self.turn = 0
        self._sim: list[_Entry] = []
        self._wall: list[_Entry] = []
        self._order = count()

    def at_sim(self, due_us: int, action: Action) -> None:
        """Run ``action`` once simulation time reaches ``due_us``."""
        heapq.heappush(self._sim, (due_us, next(self._order), action))

    def at_wall(self, due_us: int, action: Action) -> None:
        """Run ``action`` once wall time reaches ``due_us``."""
        heapq.heappush(self._wall, (due_us, next(self._order), action))

    def set_time(self, sim_us: int, wall_us: int) -> None:
        """Start a turn; when simulation time went back, what is due keeps its distance."""
        if sim_us < self.sim_us:
            shift_us = sim_us - self.sim_us
            self._sim = [(due + shift_us, order, action) for due, order, action in self._sim]
            heapq.heapify(self._sim)
        self.sim_us = sim_us
        self.wall_us = wall_us
        self.turn += 1

    def run_due(self) -> bool:
        """Run what is due now and return whether anything was.

        What an action schedules for now or the past runs in the next turn, so that an
        action that reschedules itself cannot spin.
        """
        if not (self._sim and self._sim[0][0] <= self.sim_us) and not (
            self._wall and self._wall[0][0] <= self.wall_us
        ):
            return False
        last_order = next(self._order)
        for heap, now_us in ((self._wall, self.wall_us), (self._sim, self.sim_us)):
            later: list[_Entry] = []
            while heap and heap[0][0] <= now_us:
                entry = heapq.heappop(heap)
                if entry[1] > last_order:
                    later.append(entry)
                else:
                    entry[2]()
            for entry in later:
                heapq.heappush(heap, entry)
        return True

    def __len__(self) -> int:
        return len(self._sim) + len(self._wall)


MIN_INTERVAL_US: Final = 20_000
MAX_SPEED_UP: Final = 4
OFF: Final = -1


def _ids(*names: str) -> tuple[int, ...]:
    return tuple(getattr(mav, f"MAVLINK_MSG_ID_{name}") for name in names)


# MAV_DATA_STREAM number -> (parameter, messages), as ArduRover groups them.
GROUPS: Mapping[int, tuple[str, tuple[int, ...]]] = {
    mav.MAV_DATA_STREAM_RAW_SENSORS: (
        "SR0_RAW_SENS",
        _ids("RAW_IMU", "SCALED_IMU2", "SCALED_PRESSURE"),
    ),
    mav.MAV_DATA_STREAM_EXTENDED_STATUS: (
        "SR0_EXT_STAT",
        _ids(
            *("SYS_STATUS", "GPS_RAW_INT", "MISSION_CURRENT", "NAV_CONTROLLER_OUTPUT"),
            *("POSITION_TARGET_GLOBAL_INT", "MEMINFO", "FENCE_STATUS", "POWER_STATUS"),
        ),
    ),
    mav.MAV_DATA_STREAM_RC_CHANNELS: ("SR0_RC_CHAN", _ids("RC_CHANNELS", "SERVO_OUTPUT_RAW")),
    mav.MAV_DATA_STREAM_RAW_CONTROLLER: ("SR0_RAW_CTRL", ()),
    mav.MAV_DATA_STREAM_POSITION: (
        "SR0_POSITION",
        _ids("GLOBAL_POSITION_INT", "LOCAL_POSITION_NED"),
    ),
    mav.MAV_DATA_STREAM_EXTRA1: ("SR0_EXTRA1", _ids("ATTITUDE", "SIMSTATE", "AHRS2")),
    mav.MAV_DATA_STREAM_EXTRA2: ("SR0_EXTRA2", _ids("VFR_HUD")),
    mav.MAV_DATA_STREAM_EXTRA3: (
        "SR0_EXTRA3",
        _ids("SYSTEM_TIME", "BATTERY_STATUS", "EKF_STATUS_REPORT", "VIBRATION", "AHRS", "WIND"),
    ),
}
DEFAULT_RATE_HZ: Final = 1.0
# Never streamed by default, but a receiver may ask for them.
ON_REQUEST = _ids("HOME_POSITION", "GPS_GLOBAL_ORIGIN", "CURRENT_MODE")
STREAMABLE = frozenset(ON_REQUEST) | {m for _, group in GROUPS.values() for m in group}

RateOf = Callable[[str], float]
SendMany = Callable[[list[int]], None]


def interval_from_rate(rate_hz: float) -> int:
    """Return the interval [us] of a rate, at least ``MIN_INTERVAL_US``; 0 Hz is ``OFF``."""
    if not rate_hz > 0.0:
        return OFF
    return max(MIN_INTERVAL_US, int(1e6 / rate_hz))


class _Slot:
    """The messages of one interval: they are due together and travel together."""

    __slots__ = ("interval_us", "last_wall_us", "message_ids", "next_sim_us", "retired")

    def __init__(self, interval_us: int, next_sim_us: int) -> None:
        self.interval_us = interval_us
        self.next_sim_us = next_sim_us
        self.last_wall_us: int | None = None
        self.message_ids: list[int] = []
        self.retired = False


class StreamTable:
    """The streams of one vehicle to one receiver."""

    def __init__(
        self,
        schedule: Schedule,
        send: SendMany,
        rate_of: RateOf,
        *,
        phase: float = 0.0,
        limit_wall: Callable[[], bool] = lambda: True,
    ) -> None:
        """Start with the default rates.

        Args:
            schedule: where to wait.
            send: sends these messages now.
            rate_of: reads a ``SR0_*`` parameter [Hz].
            phase: 0..1, where in its interval this vehicle sends, so that a fleet does not
                send all at once.
            limit_wall: whether to hold a fast run to four times the nominal rate now.
        """
        self._schedule = schedule
        self._send = send
        self._rate_of = rate_of
        self._phase = phase
        self._limit_wall = limit_wall
        self._slots: dict[int, _Slot] = {}
        self._intervals: dict[int, int] = {}
        self._closed = False
        for stream_id in GROUPS:
            self.reset_group(stream_id)

    def interval(self, msg_id: int) -> int:
        """Return the interval of a message [us], ``OFF`` when it is not streamed."""
        return self._intervals.get(msg_id, OFF)

    def default_interval(self, msg_id: int) -> int:
        """Return the interval that the parameters give a message."""
        for parameter, message_ids in GROUPS.values():
            if msg_id in message_ids:
                return interval_from_rate(self._rate_of(parameter))
        return OFF

    def set_interval(self, msg_id: int, interval_us: int) -> None:
        """Stream a message every ``interval_us``; ``OFF`` or any negative number stops it."""
        interval_us = max(MIN_INTERVAL_US, interval_us) if interval_us >= 0 else OFF
        old_us = self._intervals.get(msg_id, OFF)
        if old_us == interval_us or self._closed:
            return
        if old_us != OFF:
            self._leave(msg_id, old_us)
        self._intervals[msg_id] = interval_us
        if interval_us != OFF:
            self._join(msg_id, interval_us)

    def set_group(self, stream_id: int, rate_hz: float) -> bool:
        """Set a whole group, or all with stream 0; False when there is no such group."""
        if stream_id == mav.MAV_DATA_STREAM_ALL:
            for known in GROUPS:
                self.set_group(known, rate_hz)
            return True
        if stream_id not in GROUPS:
            return False
        interval_us = interval_from_rate(rate_hz)
        for msg_id in GROUPS[stream_id][1]:
            self.set_interval(msg_id, interval_us)
        return True

    def reset_group(self, stream_id: int) -> None:
        """Give a group the rate of its parameter."""
        self.set_group(stream_id, self._rate_of(GROUPS[stream_id][0]))

    def close(self) -> None:
        """Stop all streams."""
        self._closed = True
        for slot in self._slots.values():
            slot.retired = True
        self._slots.clear()

    def _join(self, msg_id: int, interval_us: int) -> None:
        slot = self._slots.get(interval_us)
        if slot is None:
            first_us = self._schedule.sim_us + int(self._phase * interval_us)
            slot = self._slots[interval_us] = _Slot(interval_us, first_us)
            self._schedule.at_sim(first_us, self._firing(slot))
        slot.message_ids.append(msg_id)
        slot.message_ids.sort()

    def _leave(self, msg_id: int, interval_us: int) -> None:
        slot = self._slots[interval_us]
        slot.message_ids.remove(msg_id)
        if not slot.message_ids:
            slot.retired = True
            del self._slots[interval_us]

    def _firing(self, slot: _Slot) -> Callable[[], None]:
        """Return the action that sends a slot and schedules its next turn."""
        schedule = self._schedule

        def fire() -> None:
            if slot.retired:
                return
            if slot.last_wall_us is not None and self._limit_wall():
                allowed_us = slot.last_wall_us + slot.interval_us // MAX_SPEED_UP
                if schedule.wall_us < allowed_us:
                    schedule.at_wall(allowed_us, fire)
                    return
            slot.last_wall_us = schedule.wall_us
            late_us = schedule.sim_us - slot.next_sim_us
            # Keep the rhythm; what was missed is skipped. A clock that was set back restarts it.
            steps = late_us // slot.interval_us + 1 if late_us >= 0 else 0
            slot.next_sim_us += steps * slot.interval_us
            if slot.next_sim_us > schedule.sim_us + slot.interval_us or steps == 0:
                slot.next_sim_us = schedule.sim_us + slot.interval_us
            schedule.at_sim(slot.next_sim_us, fire)
            self._send(slot.message_ids)

        return fire
