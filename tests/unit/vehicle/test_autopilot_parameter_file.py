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
        ("WP_SPEED,-1", "line 2.*cannot be -1"),
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
    path.write_text("WP_SPEED,fast\nWP_RADIUS,-1\nCRUISE_SPEED,1\n")
    with pytest.raises(ConfigError, match=r"line 1.*fast.*line 2.*WP_RADIUS cannot be -1"):
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
