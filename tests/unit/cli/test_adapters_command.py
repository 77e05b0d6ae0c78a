"""``pico-gz adapters``."""

import json

from pico_gz.adapters.registry import AdapterInfo
from pico_gz.cli import inspect as command
from pico_gz.cli.app import run_command

INFOS = [
    AdapterInfo(name="lightweight", origin="built in", usable=True),
    AdapterInfo(name="moon", origin="moon-sim", usable=False, reason="no rocket"),
]


def test_table(monkeypatch, capsys):
    monkeypatch.setattr(command, "describe_adapters", lambda: INFOS)
    assert run_command(["adapters"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split() == ["lightweight", "built", "in", "yes"]
    assert lines[3].split() == ["moon", "moon-sim", "no", "no", "rocket"]


def test_json(monkeypatch, capsys):
    monkeypatch.setattr(command, "describe_adapters", lambda: INFOS)
    assert run_command(["adapters", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["adapters"][1] == {
        "name": "moon",
        "origin": "moon-sim",
        "usable": False,
        "reason": "no rocket",
    }


def test_the_built_ins_are_there(capsys):
    run_command(["adapters", "--json"])
    listed = json.loads(capsys.readouterr().out)["adapters"]
    assert {"lightweight", "gazebo"} <= {info["name"] for info in listed}
