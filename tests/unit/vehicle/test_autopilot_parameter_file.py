"""Parameter files: read with clear errors, written so that a kill cannot spoil them."""

import struct

import pytest

from pico_gz.core.ground_control import Mode, ParamType, Result
from pico_gz.core.rover_spec import rover_spec
from pico_gz.errors import ConfigError
from pico_gz.vehicle.autopilot import parameters
from pico_gz.vehicle.autopilot.parameter_table import PARAMETERS, READ_ONLY
from pico_gz.vehicle.autopilot.parameters import (
    read_parameter_file,
    scan_parameter_file,
    write_parameter_file,
)
from pico_gz.vehicle.autopilot.rover_autopilot import RoverAutopilot
from pico_gz.vehicle.external.program import rover_parameters
from pico_gz.vehicle.platform.platform import SitlPlatform


def test_reads_the_formats_of_ground_stations(tmp_path):
    path = tmp_path / "rover.parm"
    path.write_text("# a comment\nWP_SPEED,1.5\nCRUISE_SPEED 0.7  # slow\n\nfs_action\t1\n")
    assert read_parameter_file(path) == {"WP_SPEED": 1.5, "CRUISE_SPEED": 0.7, "FS_ACTION": 1.0}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("WP_SPEED,fast", "line 2.*'fast' is no number"),
        ("WP_SPEED,nan", "line 2.*WP_SPEED cannot be nan"),
        ("WP_SPEED,-inf", "line 2.*WP_SPEED cannot be -inf"),
        ("WP_SPEED", "line 2.*'WP_SPEED' is not NAME,VALUE"),
        ("EK3_ENABLE,0xZ", "line 2.*'0xZ' is no number"),
        ("WP_SPEED,1,2", "line 2.*is not NAME,VALUE"),
    ],
)
def test_errors_name_the_line(tmp_path, line, message):
    path = tmp_path / "rover.parm"
    path.write_text(f"CRUISE_SPEED,1\n{line}\n")
    with pytest.raises(ConfigError, match=message):
        read_parameter_file(path)
    assert read_parameter_file(path, strict=False) == {"CRUISE_SPEED": 1.0}


def test_every_bad_line_is_named_at_once(tmp_path):
    path = tmp_path / "rover.parm"
    path.write_text("WP_SPEED,fast\nWP_RADIUS,inf\nCRUISE_SPEED,1\n")
    with pytest.raises(ConfigError, match=r"line 1.*fast.*line 2.*WP_RADIUS cannot be inf"):
        read_parameter_file(path)


def test_a_real_file_is_read_and_unknown_names_are_listed(tmp_path):
    path = tmp_path / "rover.parm"
    path.write_bytes(
        b"\xef\xbb\xbf# ArduRover\r\nINS_ACC2OFFS_X 0.001\r\nWP_SPEED 1.5\r\n"
        b"EK3_ENABLE,1\r\nCRUISE_SPEED 2 @READONLY\r\nINS_ACC2OFFS_X 0.002\r\n"
    )
    found = scan_parameter_file(path)
    assert found.values == {"WP_SPEED": 1.5, "CRUISE_SPEED": 2.0}
    assert found.unknown == ("INS_ACC2OFFS_X", "EK3_ENABLE")
    assert found.problems == ()


# As real tools write them: text, values that are taken, names and values that are not.
REAL_FILES = {
    "Mission Planner": (
        "#NOTE: 11/17/2026 9:12:33 AM\r\nACRO_TURN_RATE,180\r\nAHRS_ORIENTATION,0\r\n"
        "CRUISE_SPEED,5\r\nFENCE_RADIUS,0\r\n",
        {"ACRO_TURN_RATE": 180.0, "CRUISE_SPEED": 5.0},
        ("AHRS_ORIENTATION",),
        ("line 5: FENCE_RADIUS 0 (a number, 5..10000)",),
    ),
    "MAVProxy": (
        "CRUISE_THROTTLE  30.000000\nCRUISE_SPEED     2.500000\nINS_GYR_CAL      1\n",
        {"CRUISE_THROTTLE": 30.0, "CRUISE_SPEED": 2.5},
        ("INS_GYR_CAL",),
        (),
    ),
    "QGroundControl": (
        "# Onboard parameters for Vehicle 1\n#\n# Vehicle-Id Component-Id Name Value Type\n"
        "1\t1\tCRUISE_SPEED\t3.000000000000000000\t9\n1\t1\tFRAME_CLASS\t6\t2\n"
        "1\t1\tLOG_BITMASK\t65535\t6\n",
        {"CRUISE_SPEED": 3.0},
        ("LOG_BITMASK",),
        ("line 5: FRAME_CLASS 6 (a whole number, 0..3)",),
    ),
    "defaults of a frame": (
        "SERVO1_FUNCTION = 73\nSERVO3_MIN = 500\nCRUISE_SPEED = 4 # m/s\nCAN_P1_BITRATE 0x0F\n"
        "FORMAT_VERSION 16 @READONLY\nSIM_TIDE_0.5\n",
        {"SERVO1_FUNCTION": 73.0, "CRUISE_SPEED": 4.0, "FORMAT_VERSION": 16.0},
        ("CAN_P1_BITRATE", "SIM_TIDE_0.5"),
        ("line 2: SERVO3_MIN 500 (a whole number, 800..2200)",),
    ),
    "bits as a negative number, and half a mode": (
        "ARMING_CHECK -10\nMODE1 2.5\nMODE2 0x0B\n",
        {"MODE2": 11.0},
        (),
        (
            "line 1: ARMING_CHECK -10 (a whole number, 0..2147483647)",
            "line 2: MODE1 2.5 (a whole number, 0..26)",
        ),
    ),
    "the last line of a name counts": (
        "RTL_SPEED 900\nWP_SPEED 2\nRTL_SPEED 1\nWP_SPEED 900\n",
        {"RTL_SPEED": 1.0},
        (),
        ("line 4: WP_SPEED 900 (a number, 0..100)",),
    ),
}


@pytest.mark.parametrize("name", REAL_FILES)
def test_files_of_real_tools_load(tmp_path, name):
    text, values, unknown, out_of_range = REAL_FILES[name]
    path = tmp_path / "rover.parm"
    path.write_bytes(text.encode())
    found = scan_parameter_file(path)
    assert (found.values, found.unknown, found.out_of_range) == (values, unknown, out_of_range)
    assert found.problems == ()
    assert set(found.read_only) == READ_ONLY.intersection(values)
    RoverAutopilot(read_parameter_file(path))


def test_missing_file(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        read_parameter_file(tmp_path / "none.parm")


def test_values_survive_exactly(tmp_path):
    path = tmp_path / "deep" / "rover.parm"
    values = {"WP_SPEED": 0.1 + 0.2, "CRUISE_SPEED": 1 / 3}
    write_parameter_file(path, values)
    assert read_parameter_file(path) == values
    assert [entry.name for entry in path.parent.iterdir()] == ["rover.parm"]


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "rover.parm"
    write_parameter_file(path, {"WP_SPEED": 1.0})

    def full(_fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parameters.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_parameter_file(path, {"WP_SPEED": 2.0})
    assert read_parameter_file(path) == {"WP_SPEED": 1.0}
    assert [entry.name for entry in tmp_path.iterdir()] == ["rover.parm"]


def test_the_autopilot_keeps_changes_across_restarts(tmp_path):
    path = tmp_path / "rover_1.parm"
    first = RoverAutopilot({"WP_SPEED": 0.7}, param_file=path)
    first.params.set("WP_SPEED", 1.25)
    first.params.flush()
    again = RoverAutopilot({"WP_SPEED": 0.7}, param_file=path)
    assert again.params.by_name("WP_SPEED").value == 1.25
    assert again.params.drain_changes() == []
    again.params.reset()
    again.params.flush()
    assert (
        RoverAutopilot({"WP_SPEED": 0.7}, param_file=path).params.by_name("WP_SPEED").value == 0.7
    )


def test_an_unwritable_file_does_not_stop_the_rover(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    pilot = RoverAutopilot(param_file=blocked / "rover.parm")
    pilot.start(SitlPlatform(1))
    pilot.params.set("WP_SPEED", 1.25)
    pilot.params.flush()
    assert "Parameters could not be saved" in [text.text for text in pilot.drain_texts()]
    # It goes on trying, and says so once.
    assert pilot.params.flush() is Result.FAILED
    assert not pilot.drain_texts()
    blocked.unlink()
    assert pilot.params.flush() is Result.ACCEPTED
    assert "WP_SPEED" in (blocked / "rover.parm").read_text()


def test_what_is_told_is_in_the_file(tmp_path):
    path = tmp_path / "rover_1.parm"
    pilot = RoverAutopilot(param_file=path)
    pilot.params.set("WP_SPEED", 1.25)
    assert [info.name for info in pilot.params.drain_changes()] == ["WP_SPEED"]
    assert read_parameter_file(path) == {"WP_SPEED": 1.25}


def test_limits_hold_in_single_precision():
    pilot = RoverAutopilot()
    for name, spec in PARAMETERS.items():
        if spec.type is ParamType.REAL32 and name not in READ_ONLY:
            for limit in (spec.low, spec.high):
                single = struct.unpack("f", struct.pack("f", limit))[0]
                assert pilot.params.set(name, single).value == single, name
    assert pilot.params.set("ATC_SPEED_D", 0.4001).value < 0.4001


def test_the_mode_switch_is_that_of_external_rovers():
    names = [f"MODE{n}" for n in range(1, 7)]
    external = rover_parameters(rover_spec())
    assert [PARAMETERS[name].default for name in names] == [external[name] for name in names]
    assert PARAMETERS["MODE1"].default == Mode.AUTO
