"""What is due when, on two clocks: simulation time and wall time."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

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
