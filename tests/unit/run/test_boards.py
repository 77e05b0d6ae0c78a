"""``[board]``: for the fleet, for one vehicle, and what no board can have."""

import json

import pytest

from pico_gz.core.board_options import (
    AccelConvention,
    CompassUnit,
    PlatformOptions,
    PressureUnit,
    SerialFormat,
    SerialOutput,
)
from pico_gz.run.config import default_fleet, load_fleet
from pico_gz.run.config.problems import FleetFileError
from pico_gz.run.recording.run_folder import config_as_dict, config_from_dict

FULL = """\
[fleet]
count = 2
[origin]
date = "2027-03-04"
[board]
accel_convention = "gravity_positive"
axis_remap = ["+y", "-x", "+z"]
compass_unit = "microtesla"
pressure_unit = "hectopascal"
battery_divider = 11
[[board.serial]]
uart = 3
format = "ubx"
rate_hz = 2
"""


@pytest.fixture
def load(tmp_path):
    def load(text):
        path = tmp_path / "fleet.toml"
        path.write_text(text)
        return load_fleet(path, environ={})

    return load


def test_without_a_word_every_board_is_the_plain_one():
    assert {plan.board == PlatformOptions() for plan in default_fleet(3, environ={}).vehicles} == {
        True
    }


def test_the_fleets_board_is_everybodys(load):
    fleet = load(FULL)
    expected = PlatformOptions(
        accel_convention=AccelConvention.GRAVITY_POSITIVE,
        axis_remap=("+y", "-x", "+z"),
        compass_unit=CompassUnit.MICROTESLA,
        pressure_unit=PressureUnit.HECTOPASCAL,
        battery_divider=11.0,
        serial_outputs={3: SerialOutput(SerialFormat.UBX, 2.0)},
        utc_start_s=1_804_118_400,  # date -u -d 2027-03-04 +%s
    )
    assert [plan.board for plan in fleet.vehicles] == [expected, expected]


def test_a_vehicle_changes_single_keys(load):
    fleet = load(FULL + "[[vehicle]]\nid = 2\nboard = { battery_divider = 5.0, serial = [] }\n")
    first, second = (plan.board for plan in fleet.vehicles)
    assert (second.battery_divider, dict(second.serial_outputs)) == (5.0, {})
    assert second.axis_remap == first.axis_remap == ("+y", "-x", "+z")
    assert first.battery_divider == 11.0


def test_it_comes_back_from_a_recording(load):
    fleet = load(FULL)
    again = config_from_dict(json.loads(json.dumps(config_as_dict(fleet), allow_nan=False)))
    assert again == fleet


@pytest.mark.parametrize(
    ("text", "key", "line", "words"),
    [
        ("[board]\ncompass_unt = 'gauss'\n", "board.compass_unt", 2, "'compass_unit'"),
        ("[board]\ncompass_unit = 'tesla'\n", "board.compass_unit", 2, "'microtesla'"),
        ("[board]\npressure_unit = 'bar'\n", "board.pressure_unit", 2, '"hectopascal"'),
        ("[board]\nbattery_divider = 0\n", "board.battery_divider", 2, "above 0"),
        ("[board]\nbattery_divider = nan\n", "board.battery_divider", 2, "above 0"),
        ("[board]\naxis_remap = ['+x', '+x', '+z']\n", "board.axis_remap", 2, "once each"),
        ("[board]\naxis_remap = ['+x', '+y']\n", "board.axis_remap", 2, "once each"),
        ("[board]\naxis_remap = []\n", "board.axis_remap", 2, "once each"),
        ("[board]\naxis_remap = ['x', '+y', '+z']\n", "board.axis_remap[1]", 2, '"+x"'),
        ("[board]\nserial = [{ uart = 8 }]\n", "board.serial[1].uart", 2, "0..7"),
        ("[board]\nserial = [{ uart = 8 }, {}]\n", "board.serial[1].uart", 2, "0..7"),
        ("[board]\nserial = [{ rat = 8 }]\n", "board.serial[1].rat", 2, "'rate_hz'"),
        ("[board]\nserial = [{}, {}]\n", "board.serial", 2, "two receivers"),
        (
            "[[vehicle]]\n[vehicle.board]\nserial = [{ uart = 2, rate_hz = 0 }]\n",
            "vehicle[1].board.serial[1].rate_hz",
            3,
            "above 0",
        ),
        (
            "[[vehicle]]\nboard = { axis_remap = ['-z'] }\n",
            "vehicle[1].board.axis_remap",
            2,
            "once",
        ),
    ],
)
def test_what_no_board_has_is_told_with_its_key(load, text, key, line, words):
    with pytest.raises(FleetFileError) as caught:
        load(text)
    (problem,) = caught.value.problems
    assert (problem.key, problem.line) == (key, line)
    assert words in str(problem)
