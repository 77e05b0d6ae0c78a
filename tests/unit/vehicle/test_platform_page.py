"""The examples of docs/platform.md work as printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pico_gz.core.autopilot import Autopilot
from pico_gz.vehicle.rc.feeds import parse_script

PAGE = (Path(__file__).parents[3] / "docs" / "platform.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_autopilot_prints_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    [example] = blocks("python")
    names: dict[str, object] = {}
    exec(compile(example, "docs/platform.md", "exec"), names)
    printed = capsys.readouterr().out.splitlines()
    assert printed == re.findall(r"^# (\d+ \(.*)$", example, flags=re.MULTILINE)
    assert len(printed) == 2
    assert isinstance(names["autopilot"], Autopilot)


def test_the_radio_script_is_one() -> None:
    [example] = blocks("text")
    assert len(parse_script(example.splitlines())) == 5
