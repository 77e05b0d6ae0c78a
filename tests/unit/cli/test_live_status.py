"""What a terminal shows of a run that is under way."""

import io
import logging

import pytest
from rich.console import Console

from pico_gz import SitlBridge, VehicleConfig
from pico_gz.cli.console import TABLE_LIMIT, _Limit, _Line, picture
from pico_gz.core.autopilot import AutopilotStatus
from pico_gz.testing import ScriptedAdapter


class FakeSession:
    keyboard = None
    limit_s = 10.0

    def __init__(self, rovers: int) -> None:
        self.bridge = SitlBridge()
        self.bridge.register_adapter(ScriptedAdapter())
        for vehicle_id in range(1, rovers + 1):
            self.bridge.spawn_vehicle(VehicleConfig(id=vehicle_id))
        self.bridge.step()
        self.found: dict[int, str] = {}

    def speed_now(self) -> float:
        return 1.0

    def troubles(self) -> dict[int, str]:
        return self.found


def shown(session, width: int = 120, height: int = 50) -> str:
    console = Console(file=io.StringIO(), width=width, height=height)
    console.print(picture(session, console))
    return console.file.getvalue()


@pytest.mark.parametrize(("rovers", "table"), [(TABLE_LIMIT, True), (TABLE_LIMIT + 1, False)])
def test_a_table_up_to_the_limit_and_a_summary_above(rovers, table):
    text = shown(FakeSession(rovers))
    assert f"{rovers} rovers, 0 armed, 0 lost steps" in text
    assert ("north m" in text) == table
    assert ("none in trouble" in text) == (not table)


def test_one_rover_is_no_rovers():
    assert "1 rover, 0 armed" in shown(FakeSession(1))


def test_above_the_limit_those_in_trouble_are_shown():
    session = FakeSession(30)
    session.found = {7: "gps off", 29: "does not answer"}
    text = shown(session)
    assert "30 none; 2 in trouble:" in text
    rows = [line.split() for line in text.splitlines() if line.startswith("rover_")]
    assert [row[0] for row in rows] == ["rover_7", "rover_29"]
    assert rows[1][-3:] == ["does", "not", "answer"]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 50), (40, 8)])
@pytest.mark.parametrize("rovers", [1, 15, 200])
def test_the_picture_fits_the_screen(width, height, rovers):
    session = FakeSession(rovers)
    session.found = dict.fromkeys(range(1, rovers + 1), "gps off " * 30)
    lines = shown(session, width, height).splitlines()
    assert len(lines) < height
    assert all(len(line) <= width for line in lines)


@pytest.mark.parametrize("rovers", [2, 40])
def test_a_long_text_takes_no_room_from_the_names(monkeypatch, rovers):
    """Two troubles of a rover made its name "rover…" on 80 columns."""
    session = FakeSession(rovers)
    long = "gps fails: off, GPS lost, dead reckoning since 12.3 s and so on and so on"
    session.found = {2: long}
    status = AutopilotStatus(mode="AUTO", last_message=long)
    monkeypatch.setattr(type(session.bridge.get_vehicle(1)), "status", lambda self: status)
    text = shown(session, 80, 24)
    row = next(line for line in text.splitlines() if line.startswith("rover_2 "))
    assert " AUTO " in row
    assert row.rstrip().endswith("…")
    assert all(name in text for name in ("north m", "east m", "yaw", "mode", "armed"))


def test_what_a_rover_says_is_no_markup(monkeypatch):
    session = FakeSession(1)
    status = AutopilotStatus(mode="[bold]AUTO", last_message="see [/nowhere] [red]now")
    monkeypatch.setattr(type(session.bridge.get_vehicle(1)), "status", lambda self: status)
    text = shown(session)
    assert "[bold]AUTO" in text
    assert "see [/nowhere] [red]now" in text


def record(text: str, created: float, level: int = logging.WARNING) -> logging.LogRecord:
    made = logging.LogRecord("pico_gz", level, "", 0, text, (), None)
    made.created = created
    return made


def test_a_flood_of_warnings_is_counted_and_errors_are_not():
    limit = _Limit()
    passed = [limit.filter(record(f"rover_{i} touches box_{i}.", 100.2)) for i in range(100)]
    assert passed == [True] * 20 + [False] * 80
    error = record("It failed.", 100.3, logging.ERROR)
    assert limit.filter(error)
    assert _Line("%(message)s").format(error).startswith("It failed. (80 warnings before it")
    assert error.getMessage() == "It failed."  # for other handlers
    later = record("rover_1 touches wall_1.", 101.4)
    assert limit.filter(later)
    assert _Line("%(message)s").format(later) == later.getMessage()  # the error has said it
    assert not limit.filter(record("rover_1 touches wall_1.", 105.0))
