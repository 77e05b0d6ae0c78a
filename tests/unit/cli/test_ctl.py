"""``pico-gz ctl``: words into requests, before any run is looked for."""

import pytest

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
        (["set-pose", "1", "0", "0"], "set-pose takes ID"),
    ],
)
def test_wrong_words_are_told(words, message):
    with pytest.raises(ConfigError, match=message):
        _request(words[0], words[1:])


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
