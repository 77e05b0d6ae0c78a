"""F37: a free-running adapter that is too slow misses deadlines, says so, and keeps the time."""

from pico_gz.bridge.free_running import FreeRunner
from pico_gz.bridge.registered_adapter import RegisteredAdapter
from pico_gz.testing import ScriptedAdapter

STEP_US = 15_625  # 1/64 s, a number without rounding


class Slow(ScriptedAdapter):
    """Every step takes so long on its own clock; the last one ends the run."""

    def __init__(self, takes_s: list[float]) -> None:
        super().__init__()
        self.now_s = 100.0
        self.takes_s = takes_s
        self.end = lambda: None

    def _step(self, dt_us):
        self.now_s += self.takes_s.pop(0)
        if not self.takes_s:
            self.end()
        return super()._step(dt_us)


def run_free(takes_s: list[float]) -> tuple[FreeRunner, RegisteredAdapter, list[str]]:
    adapter, told = Slow(takes_s), []
    slot = RegisteredAdapter("slow", adapter)
    slot.connect(0)
    runner = FreeRunner(
        slot,
        step_us=STEP_US,
        factor=1.0,
        report=lambda kind, text, **about: told.append(f"{kind}: {text}"),
        clock=lambda: adapter.now_s,
    )
    adapter.end = runner._closed.set
    runner.resume()
    runner._thread.join(20.0)
    assert not runner._thread.is_alive()
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
