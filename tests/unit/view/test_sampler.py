from types import SimpleNamespace

from pico_gz.bridge.published import FleetView
from pico_gz.testing import FakeClock
from pico_gz.view.source import KEPT_VIEWS, PERIOD_S, ROUND, FleetSampler


class Pilot:
    def __init__(self):
        self.asked = 0
        self.missions = SimpleNamespace(items=lambda kind: ())

    def telemetry(self):
        self.asked += 1
        return SimpleNamespace(number=self.asked)


def make_sampler(count):
    clock = FakeClock(now_s=100.0)
    pilots = {i: Pilot() for i in range(1, count + 1)}
    return FleetSampler(pilots, clock), pilots, clock


def test_nobody_is_asked_while_nobody_watches():
    sampler, pilots, _ = make_sampler(3)
    sampler.after_step(FleetView())
    assert sampler.snapshots == {}
    assert all(pilot.asked == 0 for pilot in pilots.values())


def test_views_are_kept_by_reference_and_bounded():
    sampler, _, _ = make_sampler(1)
    views = [FleetView(step=i) for i in range(100)]
    for view in views:
        sampler.after_step(view)
    assert len(sampler.views) == KEPT_VIEWS
    assert sampler.views[-1] is views[-1]


def test_a_fast_run_asks_no_more_often_than_a_slow_one():
    sampler, pilots, _ = make_sampler(1)
    sampler.watched = True
    for step in range(1000):
        sampler.after_step(FleetView(step=step))
    assert pilots[1].asked == 1


def test_everybody_has_a_turn_within_one_round():
    sampler, pilots, clock = make_sampler(255)
    sampler.watched = True
    for step in range(ROUND):
        sampler.after_step(FleetView(step=step))
        clock.now_s += PERIOD_S * 1.01
    assert set(sampler.snapshots) == set(pilots)
    assert max(pilot.asked for pilot in pilots.values()) <= 2


def test_the_selected_one_is_read_every_time():
    sampler, pilots, clock = make_sampler(100)
    sampler.watched, sampler.selected = True, frozenset({77, 200})
    for _ in range(5):
        sampler.while_idle(0)
        clock.now_s += PERIOD_S * 1.01
    assert pilots[77].asked == 5
    assert 200 not in sampler.snapshots  # an unknown vehicle is no error
