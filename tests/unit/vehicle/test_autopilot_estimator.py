"""The estimator against a world of its own: signs, bias, latency, losses, glitches."""

import math

import msgspec
import pytest
from rover_world import World

from pico_gz.core.messages import EncoderData, GpsFixType, ImuData
from pico_gz.vehicle.autopilot.heading import HeadingFilter
from pico_gz.vehicle.autopilot.position import PositionFilter, WheelOdometry
from pico_gz.vehicle.autopilot.tilt import TiltFilter

G = 9.80665


def drive(world, seconds, throttle=0.7, steering=0.0):
    """Drive by hand for a while."""
    for _ in range(round(seconds * 10)):
        pulses = [1500] * 16
        pulses[0] = round(1500 + 500 * steering)
        pulses[2] = round(1500 + 500 * throttle)
        world.platform.inject_rc(pulses, world.time_us)
        world.run(0.1)


def yaw_error_deg(world):
    error = world.estimator.heading.yaw_rad - world.yaw
    return math.degrees((error + math.pi) % (2 * math.pi) - math.pi)


def position_error(world):
    position = world.estimator.position
    return math.hypot(position.north_m - world.north, position.east_m - world.east)


# --- tilt -------------------------------------------------------------------------------------


def tilt_after(accel, gyro=(0.0, 0.0, 0.0), seconds=5.0, parked=True):
    tilt = TiltFilter()
    for n in range(round(seconds * 100)):
        tilt.add([(n * 10_000, ImuData(accel, gyro))], 0.0, parked)
    return tilt


@pytest.mark.parametrize(
    ("accel", "down"),
    [
        ((0.0, 0.0, -G), (0.0, 0.0, 1.0)),
        # Nose up by 10 degrees: specific force +g sin 10 ahead.
        ((1.703, 0.0, -9.658), (-0.1736, 0.0, 0.9848)),
        # Right side down by 10 degrees.
        ((0.0, -1.703, -9.658), (0.0, 0.1736, 0.9848)),
    ],
)
def test_tilt_at_rest(accel, down):
    tilt = tilt_after(accel)
    assert (tilt.down_x, tilt.down_y, tilt.down_z) == pytest.approx(down, abs=1e-3)


def test_gyro_turns_down_against_the_motion():
    tilt = TiltFilter()
    rate = math.radians(10.0)
    for n in range(101):
        angle = rate * n * 0.01
        accel = (G * math.sin(angle), 0.0, -G * math.cos(angle))
        tilt.add([(n * 10_000, ImuData(accel, (0.0, rate, 0.0)))], 0.0, False)
    assert math.degrees(math.asin(-tilt.down_x)) == pytest.approx(10.0, abs=0.1)


def test_parked_gyro_bias_is_learned():
    tilt = tilt_after((0.0, 0.0, -G), gyro=(0.03, -0.02, 0.0))
    assert tilt.bias_x_radps == pytest.approx(0.03, abs=1e-4)
    assert tilt.bias_y_radps == pytest.approx(-0.02, abs=1e-4)
    assert tilt.down_z == pytest.approx(1.0, abs=1e-3)


def test_level_components_undo_the_tilt():
    tilt = tilt_after((1.703, 0.0, -9.658))
    # A field pointing north and down, seen from a nose-up rover that looks north.
    north, down = 0.3, 0.35
    sine, cosine = math.sin(math.radians(10.0)), math.cos(math.radians(10.0))
    body = (north * cosine - down * sine, 0.0, north * sine + down * cosine)
    ahead, right = tilt.level_components(*body)
    assert ahead == pytest.approx(north, abs=1e-3)
    assert right == pytest.approx(0.0, abs=1e-6)


# --- heading ----------------------------------------------------------------------------------


def test_gyro_bias_follows_from_the_compass_alone():
    heading = HeadingFilter()
    for _ in range(60 * 25):
        heading.turn(0.02 * 0.04, 0.04)
        heading.fuse_compass(1.0)
    assert heading.bias_radps == pytest.approx(0.02, abs=2e-3)
    assert heading.yaw_rad == pytest.approx(1.0, abs=0.02)


def test_gps_course_tells_the_error_of_the_compass():
    heading = HeadingFilter()
    heading.fuse_compass(0.1)
    for _ in range(300):
        heading.turn(0.0, 0.2)
        for _ in range(5):
            heading.fuse_compass(0.1)
        heading.fuse_course(0.0 - heading.yaw_rad, 0.1, 0.0)
    assert heading.yaw_rad == pytest.approx(0.0, abs=0.02)
    assert heading.offset_rad == pytest.approx(-0.1, abs=0.02)


def test_without_a_compass_the_first_course_sets_the_heading():
    heading = HeadingFilter()
    assert not heading.aligned
    heading.fuse_course(0.0, 0.1, 2.0)
    assert heading.aligned
    assert heading.yaw_rad == 2.0


def test_a_mad_compass_is_not_followed():
    heading = HeadingFilter()
    for _ in range(100):
        heading.turn(0.0, 0.04)
        heading.fuse_compass(0.0)
    for _ in range(100):
        heading.turn(0.0, 0.04)
        heading.fuse_compass(2.0)
    assert heading.yaw_rad == pytest.approx(0.0, abs=0.02)
    assert heading.compass_ratio > 0.8


def test_a_compass_that_insists_is_believed_in_the_end():
    heading = HeadingFilter()
    for _ in range(100):
        heading.turn(0.0, 0.04)
        heading.fuse_compass(0.0)
    for _ in range(260):
        heading.turn(0.0, 0.04)
        heading.fuse_compass(2.0)
    assert heading.yaw_rad == pytest.approx(2.0, abs=0.1)
    assert heading.compass_ratio < 0.5
    assert heading.resets == 1


def test_heading_wraps_at_south():
    heading = HeadingFilter()
    heading.fuse_compass(3.1)
    for _ in range(50):
        heading.turn(0.0, 0.04)
        heading.fuse_compass(-3.1)
    assert heading.yaw_rad < -3.05


# --- position and wheels ----------------------------------------------------------------------


def advanced(speed=1.0, ticks=30):
    position = PositionFilter()
    position.place(0.0, 0.0, 0)
    position.speed_mps = speed
    for n in range(1, ticks + 1):
        position.advance(n * 20_000, 0.02, 0.0, 0.0, 0.0, 0.0, 1.0)
    return position


def test_a_late_fix_is_compared_with_the_past():
    position = advanced()
    now_us = 600_000
    then = position.recall(now_us - 100_000)
    assert position.fuse_fix(now_us, then, 0.5, 0.0)
    assert position.north_m == pytest.approx(0.6)
    assert position.correction_n_m == pytest.approx(0.0, abs=1e-12)


def test_a_restored_past_is_the_same_past():
    position = PositionFilter()
    position.advance(20_000, 0.02, 0.1, 0.5, 0.2, 0.4, 0.9)
    other = PositionFilter()
    other.load_state(msgspec.msgpack.decode(msgspec.msgpack.encode(position.save_state())))
    assert other.history == position.history
    assert other.history.maxlen == position.history.maxlen


def test_a_glitch_is_rejected_and_in_the_end_believed():
    position = advanced(speed=0.0)
    now_us = 600_000
    for _ in range(39):
        now_us += 200_000
        assert not position.fuse_fix(now_us, position.recall(now_us), 50.0, 0.0)
        assert position.north_m == 0.0
    assert position.position_ratio > 0.8
    for _ in range(5):
        now_us += 200_000
        position.fuse_fix(now_us, position.recall(now_us), 50.0, 0.0)
    assert position.north_m == pytest.approx(50.0)
    assert position.position_ratio < 0.2


def test_fixes_all_over_the_place_are_never_believed():
    position = advanced(speed=0.0)
    now_us = 600_000
    for n in range(100):
        now_us += 200_000
        assert not position.fuse_fix(now_us, position.recall(now_us), 50.0 + 20.0 * n, 0.0)
        assert not position.credible
    assert position.north_m == 0.0


def test_wheel_model_learns_the_top_speed():
    wheels = WheelOdometry()
    for _ in range(600):
        for _ in range(10):
            wheels.command(0.5, 0.02)
        wheels.learn(0.6)
    assert wheels.full_speed_mps == pytest.approx(1.2, rel=0.01)
    assert wheels.speed_mps(0) == pytest.approx(0.6, rel=0.01)


def test_encoders_give_speed_with_its_sign():
    wheels = WheelOdometry()
    wheels.add_encoders(EncoderData((100, 100), 20), 0, 0.033)
    assert not wheels.add_encoders(EncoderData((99, 99), 20), 50_000, 0.033)
    assert wheels.add_encoders(EncoderData((80, 80), 20), 1_000_000, 0.033)
    assert wheels.encoder_mps == pytest.approx(-2 * math.pi * 0.033)
    assert wheels.speed_mps(1_200_000) == wheels.encoder_mps
    assert wheels.speed_mps(2_000_000) == wheels.model_mps


# --- all together -----------------------------------------------------------------------------


@pytest.mark.parametrize("yaw_deg", [0.0, 90.0, -135.0])
def test_heading_and_course_signs(yaw_deg):
    world = World(yaw_deg=yaw_deg).ready()
    assert yaw_error_deg(world) == pytest.approx(0.0, abs=2.5)
    drive(world, 10.0)
    assert yaw_error_deg(world) == pytest.approx(0.0, abs=2.5)
    assert position_error(world) < 0.3
    assert world.estimator.position.speed_mps == pytest.approx(world.speed, abs=0.05)


def test_a_right_turn_is_positive():
    world = World().ready()
    drive(world, 1.0, throttle=0.0, steering=0.3)
    assert world.rate > 0.2
    assert world.estimator.turn_rate_radps == pytest.approx(world.rate, rel=0.1)


def test_backwards_is_negative_and_keeps_the_heading():
    world = World().ready()
    drive(world, 10.0, throttle=-0.6)
    assert world.estimator.position.speed_mps == pytest.approx(world.speed, abs=0.05)
    assert world.estimator.position.speed_mps < -0.3
    assert yaw_error_deg(world) == pytest.approx(0.0, abs=2.5)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("encoders", [True, False])
def test_noise_is_filtered(seed, encoders):
    world = World(noise=1.0, seed=seed, encoders=encoders).ready()
    drive(world, 30.0, throttle=0.6, steering=0.05)
    assert abs(yaw_error_deg(world)) < 4.0
    assert position_error(world) < 1.2
    assert world.estimator.heading.bias_radps == pytest.approx(world.gyro_bias, abs=2e-3)
    assert world.estimator.position.speed_mps == pytest.approx(world.speed, abs=0.1)


@pytest.mark.parametrize("encoders", [True, False])
def test_dead_reckoning_without_gps(encoders):
    world = World(noise=1.0, seed=4, encoders=encoders).ready()
    drive(world, 15.0)
    before = position_error(world)
    world.gps_on = False
    drive(world, 10.0)
    assert world.estimator.position_valid(world.time_us)
    assert not world.estimator.gps_healthy(world.time_us)
    assert position_error(world) - before < 1.0
    assert abs(yaw_error_deg(world)) < 5.0
    drive(world, 3.0)
    assert not world.estimator.position_valid(world.time_us)
    world.gps_on = True
    drive(world, 5.0)
    assert world.estimator.position_valid(world.time_us)
    assert position_error(world) < 1.2


def test_a_fix_that_is_none_counts_as_loss():
    world = World().ready()
    world.fix_type = GpsFixType.NO_FIX
    world.run(2.0)
    assert not world.estimator.gps_healthy(world.time_us)


def test_no_compass_drives_by_gps_course():
    world = World(params={"COMPASS_USE": 0.0}, yaw_deg=70.0)
    world.compass_on = False
    world.run(3.0)
    assert not world.estimator.attitude_valid(world.time_us)
    assert world.autopilot.arm(force=True) == 0
    drive(world, 10.0)
    assert world.estimator.attitude_valid(world.time_us)
    assert abs(yaw_error_deg(world)) < 3.0


def test_a_wrong_compass_is_corrected_while_driving():
    world = World(params={"COMPASS_AUTODEC": 0.0, "COMPASS_DEC": 0.0}).ready()
    assert abs(yaw_error_deg(world)) > 6.0
    drive(world, 40.0)
    assert abs(yaw_error_deg(world)) < 3.0


def test_a_standing_force_in_a_turn_is_no_gyro_bias():
    """An IMU ahead of the axle feels the turn as a push that lasts as long as the turn."""
    tilt = TiltFilter()
    turning = ImuData((0.46, 0.7, -G), (0.0, 0.0, 1.75))
    for n in range(6000):
        tilt.add([(n * 10_000, turning)], 0.4, False)
    assert (tilt.bias_x_radps, tilt.bias_y_radps) == pytest.approx((0.0, 0.0), abs=2e-4)
    assert math.degrees(math.hypot(tilt.down_x, tilt.down_y)) < 1.0


def test_a_wrong_tilt_is_found_out_however_wrong_it_is():
    """Believed to stand on its nose by 12 degrees, it would distrust the accelerometer for ever."""
    tilt = TiltFilter()
    tilt.add([(0, ImuData((2.04, 0.0, -9.59), (0.0, 0.0, 0.0)))], 0.0, False)
    for n in range(1, 9000):
        tilt.add([(n * 10_000, ImuData((0.0, 0.0, -G), (0.0, 0.0, 0.0)))], 0.0, False)
    assert math.degrees(math.hypot(tilt.down_x, tilt.down_y)) < 1.0
