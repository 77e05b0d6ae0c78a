"""Health checks that answer at once first, and watch afterwards."""

import pytest

from pico_gz.cli.tools.containers.inside import watch as module
from pico_gz.cli.tools.containers.inside.watch import PERIOD_S, WATCH_S, watch
from pico_gz.errors import ConfigError


@pytest.fixture
def clock(monkeypatch):
    """Time that passes only while a check sleeps."""

    class Clock:
        now_s = 100.0

        def monotonic(self):
            return self.now_s

        def sleep(self, seconds):
            self.now_s += seconds

    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def well():
    return True, "ok"


def test_the_first_check_answers_at_once_and_the_next_ones_watch(clock, tmp_path, capsys):
    file = tmp_path / "healthy"
    assert watch(well, file) == 0
    assert clock.now_s == 100.0
    assert watch(well, file) == 0
    assert WATCH_S - PERIOD_S <= clock.now_s - 100.0 <= WATCH_S
    assert capsys.readouterr().out == "ok\nok\n"


def test_a_problem_is_said_when_it_is_seen_and_its_end_too(clock, tmp_path, capsys):
    file = tmp_path / "healthy"
    file.touch()
    answers = iter([(True, "ok"), (False, "stands still"), (False, "stands still"), (True, "ok")])
    assert watch(lambda: next(answers), file) == 1
    assert clock.now_s == 100.0 + PERIOD_S
    assert capsys.readouterr().out == "stands still\n"
    assert watch(lambda: next(answers), file) == 1
    assert watch(lambda: next(answers), file) == 0
    assert clock.now_s == 100.0 + PERIOD_S  # neither of them waited


def test_an_error_is_a_problem(clock, tmp_path, capsys):
    def fail():
        raise ConfigError("There is no run here.")

    assert watch(fail, tmp_path / "healthy") == 1
    assert capsys.readouterr().out == "There is no run here.\n"
