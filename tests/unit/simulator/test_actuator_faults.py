"""Broken motors and steering, one kind at a time and in a running fleet."""

from __future__ import annotations

import math

import pytest

from pico_gz.core.rover_spec import rover_spec
from pico_gz.core.vehicle_config import Pose
from pico_gz.errors import ConfigError
from pico_gz.simulator.faults import ActuatorFault, FailureKind
from pico_gz.simulator.fleet_engine import FleetEngine
from pico_gz.simulator.sensor_setup import fit_sensors
from pico_gz.simulator.world import World

DT = 10_000


def respond(kind, commands, *, output=0.0):
    fault = ActuatorFault(1, 1, "motor_left", FailureKind(kind), output)
    return [fault.apply(command, step * DT, DT) for step, command in enumerate(commands)]


def test_off_and_stuck():
    assert respond("off", [1.0, -1.0]) == [0.0, 0.0]
    assert respond("stuck", [1.0, -1.0], output=0.3) == [0.3, 0.3]


def test_wrong_is_scaled_and_shifted():
    assert respond("wrong", [1.0, 0.0, -1.0]) == pytest.approx([0.6, 0.1, -0.4])


def test_slow_follows_with_a_second_of_lag():
    assert respond("slow", [1.0] * 100)[-1] == pytest.approx(1.0 - math.exp(-1.0))


def test_delayed_comes_300_ms_late():
    commands = [0.0] * 10 + [1.0] * 60
    assert respond("delayed", commands) == [0.0] * 40 + [1.0] * 30


def test_garbage_stays_in_range_and_changes():
    told = respond("garbage", [0.0] * 1000)
    assert all(-1.0 <= value <= 1.0 for value in told)
    assert len(set(told)) == 100


def test_intermittent_drops_out_half_of_the_time():
    told = respond("intermittent", [1.0] * 20_000)
    assert set(told) == {0.0, 1.0}
    assert sum(told) / len(told) == pytest.approx(0.5, abs=0.1)


def engine(preset="pico_trail_freenove"):
    fleet = FleetEngine(World(), seed=1)
    spec = rover_spec(preset)
    for vehicle_id in (1, 2):
        fleet.add(spec, fit_sensors(spec, vehicle_id), Pose(east_m=3.0 * vehicle_id))
    return fleet


def run(fleet, steps, command=(0.8, 0.8)):
    for vehicle_id in fleet.vehicle_ids:
        fleet.command(vehicle_id, *command)
    for _ in range(steps):
        fleet.step(DT)
    return fleet.truth()


def yaw(truth):
    w, x, y, z = truth.quat_wxyz
    return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def test_a_dead_motor_turns_the_rover_and_nobody_else():
    healthy = run(engine(), 100)
    fleet = engine()
    fleet.set_failure(1, "motor_left", "off")
    truth = run(fleet, 100)
    assert yaw(truth[1]) < -1.0
    assert truth[2] == healthy[2]


def test_a_mended_motor_obeys_again():
    fleet = engine()
    run(fleet, 10)
    fleet.set_failure(1, "motor_right", "off")
    run(fleet, 50)
    fleet.set_failure(1, "motor_right", "ok")
    run(fleet, 200)
    assert abs(fleet.truth()[1].rates_frd_radps[2]) < 1e-6


def test_stuck_keeps_the_last_command():
    fleet = engine()
    run(fleet, 50)
    fleet.set_failure(1, "motor_left", "stuck")
    fleet.set_failure(1, "motor_right", "stuck")
    truth = run(fleet, 200, command=(0.0, 0.0))
    assert truth[1].velocity_ned_mps[0] > 0.5
    assert truth[2].velocity_ned_mps[0] == 0.0


def test_steering_of_a_car():
    fleet = engine("pico_trail_ackermann")
    fleet.set_failure(1, "steering", "off")
    truth = run(fleet, 200, command=(0.8, 1.0))
    assert yaw(truth[1]) == 0.0
    assert yaw(truth[2]) != 0.0
    fleet.set_failure(2, "motor_left", "off")
    assert run(fleet, 300, command=(0.8, 1.0))[2].velocity_ned_mps == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("kind", list(FailureKind))
@pytest.mark.parametrize("unit", ["motor_left", "motor_right"])
def test_every_kind_goes_on_from_a_snapshot(unit, kind):
    whole, first = engine(), engine()
    for fleet in (whole, first):
        run(fleet, 20)
        fleet.set_failure(1, unit, kind)
        run(fleet, 25, command=(0.5, 0.9))
    second = engine()
    second.load_state(first.save_state())
    assert run(second, 60, command=(0.9, 0.2)) == run(whole, 60, command=(0.9, 0.2))


@pytest.mark.parametrize(
    ("unit", "kind"),
    [
        ("rc", "off"),
        ("mavlink", "off"),
        ("warp_drive", "off"),
        ("motor_left", "tired"),
        ("steering", "off"),
    ],
)
def test_what_cannot_fail_is_refused(unit, kind):
    with pytest.raises(ConfigError):
        engine().set_failure(1, unit, kind)


def test_the_refusal_lists_what_can_fail():
    with pytest.raises(ConfigError) as caught:
        engine().set_failure(1, "rc", "off")
    assert "motor_left" in caught.value.hint
    assert "gyro" in caught.value.hint
