"""The line that a user pastes, and the parameters beside it."""

import shlex

import pytest

from pico_gz.core.frames import LocalFrame
from pico_gz.core.rover_spec import PRESETS
from pico_gz.core.vehicle_config import PICO_TRAIL_CHANNELS, VehicleConfig
from pico_gz.vehicle.external.program import ArduRoverStart, parameter_file, rover_parameters

HOME = LocalFrame(35.681236, 139.767125, 40.0)


def test_line_of_the_first_vehicle() -> None:
    start = ArduRoverStart(vehicle_id=1, fdm_port=9002, home=HOME, gcs_port=14550)
    assert start.line() == (
        "mkdir -p rover_1 && cd rover_1 && ardurover --model JSON:127.0.0.1 -I 0 --sysid 1 "
        "--home 35.6812360,139.7671250,40,0 --speedup 1 "
        "--serial0=udpclient:127.0.0.1:14550 --defaults rover.parm"
    )


def test_line_of_a_later_vehicle_needs_no_port() -> None:
    start = ArduRoverStart(vehicle_id=3, fdm_port=9022, home=HOME, gcs_port=14552, speedup=10)
    words = shlex.split(start.line())
    assert words[words.index("-I") + 1] == "2"
    assert words[words.index("--sysid") + 1] == "3"
    assert words[words.index("--speedup") + 1] == "10"
    assert "--sim-port-out" not in words


def test_another_port_is_told_and_odd_folders_are_quoted() -> None:
    start = ArduRoverStart(
        vehicle_id=1, fdm_port=29002, home=HOME, gcs_port=14550, run_dir="my runs/a"
    )
    words = shlex.split(start.line())
    assert words[words.index("--sim-port-out") + 1] == "29002"
    assert words[:3] == ["mkdir", "-p", "my runs/a"]


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_every_preset_has_a_parameter_file(preset: str) -> None:
    text = parameter_file(PRESETS[preset])
    lines = dict(line.split() for line in text.splitlines() if not line.startswith("#"))
    assert lines["AHRS_EKF_TYPE"] == "3"
    assert "no_time_sync" not in text


def test_outputs_follow_drive_and_channels() -> None:
    skid = rover_parameters(PRESETS["ardupilot_skid"])
    assert (skid["SERVO1_FUNCTION"], skid["SERVO3_FUNCTION"]) == (73, 74)
    assert (skid["CRUISE_SPEED"], skid["CRUISE_THROTTLE"], skid["WP_SPEED"]) == (3, 75, 3)
    car = rover_parameters(PRESETS["ardupilot_car"])
    assert (car["SERVO1_FUNCTION"], car["SERVO3_FUNCTION"]) == (26, 70)
    vehicle = VehicleConfig(id=1, channels=PICO_TRAIL_CHANNELS)
    trail = rover_parameters(PRESETS["pico_trail_freenove"], vehicle)
    assert (trail["SERVO1_FUNCTION"], trail["SERVO2_FUNCTION"]) == (73, 74)
    assert trail["SERVO3_FUNCTION"] == 0


def test_the_steering_gain_follows_from_the_rover() -> None:
    assert rover_parameters(PRESETS["ardupilot_car"])["ATC_STR_RAT_FF"] == 0.75
    skid = PRESETS["pico_trail_freenove"]
    gain = rover_parameters(skid)["ATC_STR_RAT_FF"]
    assert gain == pytest.approx(0.15 * 1.6 / 2.0, abs=1e-3)
    # L / tan(30 deg): full steering for the turn rate that it gives at 1 m/s.
    car = rover_parameters(PRESETS["pico_trail_ackermann"])
    assert car["ATC_STR_RAT_FF"] == pytest.approx(0.17 / 0.57735, abs=0.01)
