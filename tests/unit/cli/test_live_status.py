"""What a terminal shows of a run that is under way."""

import io

import pytest
from rich.console import Console

from pico_gz import SitlBridge, VehicleConfig
from pico_gz.cli.console import TABLE_LIMIT, picture
from pico_gz.core.autopilot import AutopilotStatus
from pico_gz.run.options import RunOptions
from pico_gz.testing import ScriptedAdapter


class FakeSession:
    def __init__(self, rovers: int) -> None:
        self.options = RunOptions(duration_s=10.0)
        self.bridge = SitlBridge()
        self.bridge.register_adapter(ScriptedAdapter())
        for vehicle_id in range(1, rovers + 1):
            self.bridge.spawn_vehicle(VehicleConfig(id=vehicle_id))
        self.bridge.step()


def shown(session) -> str:
    console = Console(file=io.StringIO(), width=120)
    console.print(picture(session))
    return console.file.getvalue()


@pytest.mark.parametrize(("rovers", "table"), [(TABLE_LIMIT, True), (TABLE_LIMIT + 1, False)])
def test_a_table_up_to_the_limit_and_one_line_above(rovers, table):
    text = shown(FakeSession(rovers))
    assert f"{rovers} rovers, 0 armed, 0 lost steps" in text
    assert ("north m" in text) == table
    assert (len(text.splitlines()) == 1) == (not table)


def test_what_a_rover_says_is_no_markup(monkeypatch):
    session = FakeSession(1)
    status = AutopilotStatus(mode="[bold]AUTO", last_message="see [/nowhere] [red]now")
    monkeypatch.setattr(type(session.bridge.get_vehicle(1)), "status", lambda self: status)
    text = shown(session)
    assert "[bold]AUTO" in text
    assert "see [/nowhere] [red]now" in text
