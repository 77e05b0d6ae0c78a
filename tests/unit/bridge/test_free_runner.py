"""F37: a free-running adapter that is too slow misses deadlines, says so, and keeps the time."""

import threading

from pico_gz.bridge.free_running import FreeRunner
from pico_gz.bridge.registered_adapter import RegisteredAdapter
from pico_gz.testing import ScriptedAdapter

STEP_US = 15_625  # 1/64 s, a number without rounding
STEP_S = STEP_US / 1e6
START_S = 100.0


class Slow(ScriptedAdapter):
    """Every step takes so long on its own clock; the last one ends the run."""

    def __init__(self, takes_s: list[float]) -> None:
        super().__init__()
        self.now_s = START_S
        self.takes_s = takes_s
        self.end = lambda: None

    def _step(self, dt_us):
        self.now_s += self.takes_s.pop(0)
        if not self.takes_s:
            self.end()
        return super()._step(dt_us)


def run_free(
    takes_s: list[float], *, thread_starts_after_s: float = 0.0
) -> tuple[FreeRunner, RegisteredAdapter, list[str]]:
    adapter, told = Slow(takes_s), []
    adapter.now_s += thread_starts_after_s
    this_thread = threading.current_thread()

    def clock() -> float:
        return START_S if threading.current_thread() is this_thread else adapter.now_s

    slot = RegisteredAdapter("slow", adapter)
    slot.connect(0)
    runner = FreeRunner(
        slot,
        step_us=STEP_US,
        factor=1.0,
        report=lambda kind, text, **about: told.append(f"{kind}: {text}"),
        clock=clock,
    )
    adapter.end = runner._closed.set
    runner.resume()
    runner._own_thread.join(20.0)
    assert not runner._own_thread.is_alive()
    return runner, slot, told


def test_missed_deadlines_are_counted_told_and_left_behind():
    # 1 s for a step of 1/64 s: 63 deadlines are gone; so again 11 s later, and told again.
    runner, slot, told = run_free([1.0, 11.0, 0.0])
    assert runner.missed_deadlines == 63 + 703
    assert told == [
        "late: Adapter slow is too slow: 63 deadlines missed.",
        "late: Adapter slow is too slow: 766 deadlines missed.",
    ]
    # The fleet's time went on meanwhile, and so do the time stamps.
    assert slot.offset_us == 766 * STEP_US


def test_it_is_told_once_in_ten_seconds():
    runner, _, told = run_free([1.0, 1.0, 1.0, 0.0])
    assert runner.missed_deadlines == 3 * 63
    assert len(told) == 1


def test_a_few_late_steps_are_caught_up_with():
    runner, slot, told = run_free([0.0625, 0.0, 0.0, 0.0, 0.0])
    assert (runner.missed_deadlines, told, slot.offset_us) == (0, [], 0)
    assert slot.adapter.sim_time_us() == 5 * STEP_US


def test_the_time_stamps_keep_to_the_clock_however_often_deadlines_slip():
    # 6.5 periods for each of 40 steps: the half ones add up to 20 periods if they are dropped.
    _, slot, _ = run_free([6.5 * STEP_S] * 40)
    passed_us = 1e6 * (slot.adapter.now_s - START_S)
    assert passed_us - (slot.adapter.sim_time_us() + slot.offset_us) < 6.5 * STEP_US


def test_time_passes_from_the_moment_it_is_let_pass():
    # The thread gets its turn seven periods later: six deadlines are gone after the first step.
    runner, slot, _ = run_free([0.0, 0.0], thread_starts_after_s=7.0 * STEP_S)
    assert runner.missed_deadlines == 6
    assert slot.offset_us == 6 * STEP_US
