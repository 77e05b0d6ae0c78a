"""``pico-gz ctl``: words into requests, before any run is looked for."""

import pytest

from pico_gz.cli.ctl import _request
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
