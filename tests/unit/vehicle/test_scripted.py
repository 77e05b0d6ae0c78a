"""Scripted drivers on a rover of a few lines."""

from __future__ import annotations

import math

import msgspec
import pytest
from kinematic_rover import STEP_US, KinematicRover, drive

from pico_gz.core.autopilot import Autopilot
from pico_gz.core.vehicle_config import DriveKind
from pico_gz.errors import ConfigError
from pico_gz.vehicle.platform.platform import SitlPlatform
from pico_gz.vehicle.scripted import Drive, Pivot, ScriptedDriver, make_script, script_moves


def start(script: str, rover: KinematicRover) -> tuple[ScriptedDriver, SitlPlatform]:
    platform = SitlPlatform(1, drive=rover.drive)
    driver = ScriptedDriver(script)
    driver.start(platform)
    return driver, platform


def run(script: str, rover: KinematicRover, limit_s: float = 120.0) -> ScriptedDriver:
    driver, platform = start(script, rover)
    drive(driver, platform, rover, limit_s)
    return driver


def reach(rover: KinematicRover) -> tuple[float, float]:
    """Extent of the path to the north and to the east [m]."""
    north, east = zip(*rover.path, strict=True)
    return max(north) - min(north), max(east) - min(east)


def test_a_scripted_driver_is_an_autopilot() -> None:
    assert isinstance(ScriptedDriver("square"), Autopilot)


@pytest.mark.parametrize("missing", [(), ("encoders",), ("compass",), ("imu",)])
def test_square_closes_with_typical_sensors(missing: tuple[str, ...]) -> None:
    rover = KinematicRover(missing=missing)
    driver = run("script:square", rover)
    assert driver.status().done
    assert driver.status().last_message == "done"
    assert math.hypot(rover.north_m, rover.east_m) < 0.3
    assert reach(rover) == pytest.approx((5.0, 5.0), abs=0.4)
    assert math.degrees(rover.yaw_rad) == pytest.approx(360.0, abs=5.0)


def test_square_goes_north_then_east_and_takes_its_side_as_parameter() -> None:
    rover = KinematicRover(noisy=False)
    run("square:3", rover)
    assert reach(rover) == pytest.approx((3.0, 3.0), abs=0.15)
    assert math.hypot(rover.north_m, rover.east_m) < 0.1
    # Right turns: from the start nothing lies behind it or to its left.
    assert min(north for north, _ in rover.path) > -0.1
    assert min(east for _, east in rover.path) > -0.1


@pytest.mark.parametrize(
    ("top_speed_mps", "base_m", "lag_s"), [(4.0, 1.6, 0.286), (1.0, 0.15, 0.1), (2.0, 0.5, 0.2)]
)
def test_square_fits_rovers_of_other_sizes(
    top_speed_mps: float, base_m: float, lag_s: float
) -> None:
    rover = KinematicRover(
        top_speed_mps=top_speed_mps, base_m=base_m, lag_s=lag_s, deadband=0.0, noisy=False
    )
    assert run("square", rover).status().last_message == "done"
    assert math.hypot(rover.north_m, rover.east_m) < 0.2
    assert reach(rover) == pytest.approx((5.0, 5.0), abs=0.3)


@pytest.mark.parametrize(
    ("top_speed_mps", "base_m", "lag_s", "tolerance_m"),
    [(1.0, 0.17, 0.15, 0.35), (20.0, 0.52, 2.0, 0.7)],
)
def test_square_by_arcs_with_ackermann_steering(
    top_speed_mps: float, base_m: float, lag_s: float, tolerance_m: float
) -> None:
    rover = KinematicRover(
        drive=DriveKind.ACKERMANN, top_speed_mps=top_speed_mps, base_m=base_m, lag_s=lag_s
    )
    assert run("square", rover).status().last_message == "done"
    assert math.hypot(rover.north_m, rover.east_m) < tolerance_m
    assert reach(rover) == pytest.approx((5.0, 5.0), abs=tolerance_m)


@pytest.mark.parametrize("kind", DriveKind)
@pytest.mark.parametrize("radius_m", [3.0, -2.0])
def test_circle_has_its_radius_and_closes(kind: DriveKind, radius_m: float) -> None:
    rover = KinematicRover(drive=kind, base_m=0.2, noisy=False)
    assert run(f"circle:{radius_m}", rover).status().last_message == "done"
    assert math.hypot(rover.north_m, rover.east_m) < 0.3
    assert reach(rover)[1] == pytest.approx(2 * abs(radius_m), abs=0.3)
    assert math.copysign(1.0, rover.yaw_rad) == math.copysign(1.0, radius_m)


@pytest.mark.parametrize("kind", DriveKind)
def test_line_is_straight_along_the_heading(kind: DriveKind) -> None:
    rover = KinematicRover(drive=kind, yaw_rad=math.pi / 2)
    assert run("line", rover).status().last_message == "done"
    assert rover.east_m == pytest.approx(10.0, rel=0.07)
    assert abs(rover.north_m) < 0.3


def test_line_without_gps_goes_by_command_time() -> None:
    rover = KinematicRover(missing=("gps", "encoders"))
    assert run("line:5", rover).status().last_message == "done"
    assert rover.north_m == pytest.approx(5.0, rel=0.1)


def test_constant_command_reaches_the_outputs_at_once_and_never_ends() -> None:
    rover = KinematicRover()
    driver, platform = start("constant:0.5,-0.25", rover)
    driver.tick(0)
    assert platform.collect_actuator_commands().motors == (0.5, -0.25)
    drive(driver, platform, rover, 5.0)
    assert not driver.status().done
    assert driver.status().armed


def test_constant_command_with_a_duration_stops_then() -> None:
    rover = KinematicRover()
    driver, platform = start("constant:0.5,0.5,2", rover)
    assert drive(driver, platform, rover, 10.0) == pytest.approx(2.0, abs=0.05)
    assert platform.collect_actuator_commands().motors == (0.0, 0.0)


def test_constant_command_for_ackermann_is_throttle_and_steering() -> None:
    driver, platform = start("constant:0.4,-0.2", KinematicRover(drive=DriveKind.ACKERMANN))
    driver.tick(0)
    commands = platform.collect_actuator_commands()
    assert (commands.motors, commands.servos) == ((0.4,), (-0.2,))


def test_without_gyro_and_compass_it_gives_up_and_stays() -> None:
    rover = KinematicRover(missing=("imu", "compass"))
    driver = run("square", rover)
    assert driver.status().done
    assert "neither gyro nor compass" in driver.status().last_message
    assert (rover.north_m, rover.east_m) == (0.0, 0.0)


def test_a_stuck_rover_gives_up_in_bounded_time() -> None:
    rover = KinematicRover(top_speed_mps=0.0)
    driver, platform = start("square", rover)
    assert drive(driver, platform, rover, 200.0) < 70.0
    assert "took longer" in driver.status().last_message
    assert platform.collect_actuator_commands().motors == (0.0, 0.0)


def test_restored_run_goes_on_bit_for_bit() -> None:
    def half_way() -> tuple[KinematicRover, ScriptedDriver, SitlPlatform]:
        rover = KinematicRover()
        driver, platform = start("square:2", rover)
        drive(driver, platform, rover, 8.0)
        return rover, driver, platform

    rover, driver, platform = half_way()
    saved = msgspec.msgpack.encode([driver.save_state(), platform.save_state()])
    drive(driver, platform, rover, 100.0)

    other_rover, _, _ = half_way()
    restored, restored_platform = start("square:2", other_rover)
    driver_state, platform_state = msgspec.msgpack.decode(saved)
    restored.load_state(driver_state)
    restored_platform.load_state(platform_state)
    drive(restored, restored_platform, other_rover, 100.0)
    assert other_rover.path == rover.path
    assert restored.save_state() == driver.save_state()


def test_before_start_it_says_so() -> None:
    with pytest.raises(ConfigError, match="before it was started"):
        ScriptedDriver("square").tick(0)


def test_outputs_are_neutral_until_the_first_move() -> None:
    rover = KinematicRover()
    driver, platform = start("square", rover)
    assert platform.servo_outputs_us()[:3] == (1500, 0, 1500)
    for _ in range(90):
        platform.inject_sensors(rover.step(platform.collect_actuator_commands()))
        driver.tick(rover.time_us)
    assert rover.time_us == 90 * STEP_US
    assert platform.collect_actuator_commands().motors == (0.0, 0.0)


@pytest.mark.parametrize(
    "text",
    ["sqare", "square:x", "square:0", "square:-1", "square:1,2", "square:nan", "circle:0",
     "line:0", "constant:2,0", "constant:0.1,0.1,-1", ""],
)  # fmt: skip
def test_bad_scripts_are_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        script_moves(text, DriveKind.SKID)


def test_a_script_is_checked_when_it_is_made() -> None:
    assert make_script("script:circle:2").status().mode == "script:circle"
    with pytest.raises(ConfigError, match="side above 0"):
        make_script("script:square:-1")


def test_a_misspelt_script_offers_the_right_one() -> None:
    with pytest.raises(ConfigError) as caught:
        ScriptedDriver("script:sqare")
    assert "square" in caught.value.hint


def test_moves_of_a_square() -> None:
    skid = script_moves("square:4", DriveKind.SKID)
    assert skid[1:] == (Drive(4.0), Pivot(math.pi / 2)) * 4
    car = [
        move for move in script_moves("square:4", DriveKind.ACKERMANN) if isinstance(move, Drive)
    ]
    assert sum(move.length_m * move.curvature_pm for move in car) == pytest.approx(math.tau)
