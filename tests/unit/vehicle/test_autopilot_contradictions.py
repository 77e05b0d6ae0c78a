"""Sensors that contradict each other: who is believed, and that people hear of it."""

import math

import pytest
from rover_world import World

from pico_gz.core.messages import CompassData, EncoderData
from pico_gz.vehicle.autopilot.position import WheelOdometry


def drive(world, seconds, throttle=0.7):
    """Drive straight on by hand for a while."""
    for _ in range(round(seconds * 10)):
        pulses = [1500] * 16
        pulses[2] = round(1500 + 500 * throttle)
        world.platform.inject_rc(pulses, world.time_us)
        world.run(0.1)


def yaw_error(world):
    return math.remainder(world.estimator.heading.yaw_rad - world.yaw, 2.0 * math.pi)


def turn_compass(world, angle_rad):
    """Let the compass show another north."""
    sense = world._compass

    def turned():
        x, y, z = sense().mag_gauss
        sine, cosine = math.sin(angle_rad), math.cos(angle_rad)
        return CompassData((x * cosine - y * sine, x * sine + y * cosine, z))

    world._compass = turned


@pytest.mark.parametrize("throttle", [0.7, -0.7])
@pytest.mark.parametrize("compass", [True, False])
def test_a_heading_the_wrong_way_round_is_found_out(compass, throttle):
    world = World().ready()
    drive(world, 4.0, throttle)
    world.compass_on = compass
    drive(world, 1.5, throttle)
    heading = world.estimator.heading
    heading.shift(math.pi)
    drive(world, 3.0 if compass else 5.0, throttle)
    assert heading.resets == 1
    assert "Heading was wrong and is reset" in world.texts
    assert abs(yaw_error(world)) < math.radians(10.0)
    drive(world, 2.0, throttle)
    assert world.estimator.position.speed_mps == pytest.approx(world.speed, abs=0.1)


def test_a_rover_that_is_pushed_keeps_its_heading():
    world = World().ready()
    drive(world, 4.0)
    move = world._move

    def pushed(commands, dt):
        move(commands, dt)
        world.north -= 1.5 * dt
        world.speed = -0.8

    world._move = pushed
    drive(world, 10.0)
    assert world.estimator.heading.resets == 0
    assert abs(yaw_error(world)) < math.radians(10.0)


def test_a_compass_that_turns_while_the_rover_stands_is_not_followed():
    world = World().ready()
    turn_compass(world, 2.0)
    world.run(30.0)
    assert abs(yaw_error(world)) < math.radians(5.0)
    assert world.texts.count("Compass contradicts the heading") == 1
    assert not world.estimator.compass_healthy(world.time_us)
    turn_compass(world, -2.0)
    world.run(2.0)
    assert "Compass is believed again" in world.texts


def test_a_compass_that_turns_on_the_way_is_not_followed():
    world = World().ready()
    drive(world, 5.0)
    turn_compass(world, 2.0)
    drive(world, 20.0)
    assert world.estimator.heading.resets == 0
    assert abs(yaw_error(world)) < math.radians(5.0)
    assert "Compass contradicts the heading" in world.texts


def test_a_dead_gyro_leaves_the_heading_to_the_compass():
    world = World(noise=1.0).ready()
    world.run(5.0)
    world.estimator.heading.shift(2.0)
    world.run(3.0)
    assert abs(yaw_error(world)) > 1.5
    world.gyro_dead = True
    world.run(3.0)
    assert abs(yaw_error(world)) < math.radians(20.0)


def test_a_gyro_that_dies_on_a_straight_way_is_found():
    world = World(noise=1.0).ready()
    world.run(3.0)
    drive(world, 4.0)
    world.gyro_dead = True
    drive(world, 2.0)
    assert not world.estimator.imu_watch.gyro_credible


def test_a_gyro_without_noise_may_say_straight_on():
    world = World().ready()
    world.run(3.0)
    for throttle in (0.7, 0.4, 0.7, 0.4):
        drive(world, 2.0, throttle)
    assert world.estimator.imu_watch.gyro_credible


def test_a_gps_that_jumps_is_told():
    world = World().ready()
    drive(world, 3.0)
    world.gps_n = 110.0
    drive(world, 4.0)
    assert "GPS contradicts dead reckoning" in world.texts
    assert abs(world.estimator.position.north_m - world.north) < 5.0
    drive(world, 16.0)
    assert "GPS is believed again" not in world.texts
    assert abs(world.estimator.position.north_m - world.north) < 5.0
    # Standing still, a place that lasts is believed: somebody may have carried the rover.
    drive(world, 5.0, throttle=0.0)
    assert "GPS is believed again" in world.texts
    assert world.estimator.position.north_m - world.north > 90.0


def test_a_gps_may_repeat_itself_while_the_rover_stands():
    world = World().ready()
    world.run(10.0)
    assert world.estimator.gps_healthy(world.time_us)


def test_impossible_encoder_speeds_are_left_out():
    wheels = WheelOdometry()
    wheels.add_encoders(EncoderData((0, 0), 20), 0, 0.033)
    assert wheels.add_encoders(EncoderData((10, 10), 20), 200_000, 0.033)
    before = wheels.encoder_mps
    assert not wheels.add_encoders(EncoderData((900_000, -7), 20), 400_000, 0.033)
    assert wheels.encoder_mps == before
    assert wheels.encoder_us == 200_000
