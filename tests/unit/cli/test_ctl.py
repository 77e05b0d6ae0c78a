"""``pico-gz ctl``: words into requests, before any run is looked for."""

from pathlib import Path

import pytest

from pico_gz.cli.app import run_command
from pico_gz.cli.ctl import _print_status, _request
from pico_gz.errors import ConfigError


@pytest.mark.parametrize(
    ("words", "request_"),
    [
        (["pause"], {}),
        (["step"], {"count": 1}),
        (["step", "10"], {"count": 10}),
        (["speed", "max"], {"speed": "max"}),
        (["speed", "2.5"], {"speed": 2.5}),
        (["fail", "1", "gps", "off"], {"id": 1, "unit": "gps", "type": "off"}),
        (["arm", "2"], {"id": 2}),
        (["disarm", "all"], {"id": 0}),
        (["mode", "all", "hold"], {"id": 0, "mode": "hold"}),
        (["goto", "1", "-3", "4.5"], {"id": 1, "north_m": -3.0, "east_m": 4.5}),
        (["reset"], {}),
        (["stop"], {}),
        (
            ["set-pose", "2", "5", "-1.5", "90"],
            {"id": 2, "north_m": 5.0, "east_m": -1.5, "yaw_deg": 90.0},
        ),
        (
            ["set-pose", "2", "5", "0", "90", "0.5"],
            {"id": 2, "north_m": 5.0, "east_m": 0.0, "yaw_deg": 90.0, "speed_mps": 0.5},
        ),
    ],
)
def test_words_become_requests(words, request_):
    assert _request(words[0], words[1:]) == request_


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pase"], "no command 'pase'"),
        (["pause", "now"], "pause takes no arguments"),
        (["fail", "1", "gps"], "fail takes ID UNIT TYPE"),
        (["fail", "one", "gps", "off"], "ID is a whole number"),
        (["set-pose", "1", "nan", "0", "0"], "NORTH_M is a number, not 'nan'"),
        (["speed", "inf"], "SPEED is a number, not 'inf'"),
        (["set-pose", "1", "0", "0"], r"set-pose takes ID NORTH_M EAST_M YAW_DEG \[SPEED_MPS\]"),
        (["goto", "all", "0", "0"], "ID is a whole number"),
        (["mission", "1"], "mission takes ID PATH"),
    ],
)
def test_wrong_words_are_told(words, message):
    with pytest.raises(ConfigError, match=message):
        _request(words[0], words[1:])


def test_a_mission_is_named_by_its_whole_path_or_as_an_example(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.plan").write_text("{}")
    own = _request("mission", ["2", "own.plan"])
    assert own == {"id": 2, "path": str(tmp_path / "own.plan"), "relative": False}
    example = _request("mission", ["all", "square"])
    assert (example["id"], example["relative"]) == (0, True)
    assert Path(example["path"]).name == "square.plan"


@pytest.mark.parametrize("number", ["-5", "-1.5", "-1e2"])
def test_negative_numbers_are_no_options(number, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert run_command(["ctl", "set-pose", "2", number, "0", "90"]) == 2
    assert "No run is going on." in capsys.readouterr().err


def test_the_run_its_present_speed_and_failures_are_named(capsys):
    vehicle = {
        "name": "scout", "north_m": 0.0, "east_m": -0.001, "yaw_deg": -0.01,
        "mode": "HOLD", "armed": False, "last_message": "",
    }  # fmt: skip
    _print_status(
        {
            "run": "yard-7", "state": "running", "sim_time_s": 1.0, "speed": 1.0, "rtf": 12.58,
            "speed_now": 1.02, "steps": 1, "lost_steps": 0, "vehicles": {"1": vehicle},
            "failures": {"1": {"gps": "off", "mag": "stuck"}}, "message": "gps of scout: off",
        }
    )  # fmt: skip
    first, head, *rows, last = capsys.readouterr().out.splitlines()
    assert first == "gps of scout: off"
    assert head == "yard-7: running at 1.00 s, speed 1.0, 1.02x now, 1 step, 0 lost"
    assert rows[-1].split()[2:5] == ["0.00", "0.00", "0.0"]
    assert last == "Failures of scout: gps off, mag stuck"


def test_people_see_where_a_rover_is_and_where_it_looks(capsys):
    known = {"name": "scout", "north_m": 5.0, "east_m": -1.5, "yaw_deg": 90.04}
    unknown = {"name": "lost", "north_m": None, "east_m": None, "yaw_deg": None}
    rest = {"mode": "HOLD", "armed": False, "last_message": ""}
    _print_status(
        {
            "state": "paused", "sim_time_s": 1.0, "speed": 1.0, "rtf": 1.0, "steps": 100,
            "lost_steps": 0, "vehicles": {"1": {**known, **rest}, "2": {**unknown, **rest}},
        }
    )  # fmt: skip
    _, head, *rows = (line.split() for line in capsys.readouterr().out.splitlines())
    assert head[:8] == ["id", "name", "north", "m", "east", "m", "yaw", "deg"]
    assert ["1", "scout", "5.00", "-1.50", "90.0"] in [row[:5] for row in rows]
    assert ["2", "lost", "-", "-", "-"] in [row[:5] for row in rows]
