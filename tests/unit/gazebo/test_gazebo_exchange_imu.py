"""Several physics steps in one step of the bridge: the IMU is their mean."""

import pytest

from pico_gz.gazebo.exchange import ServoExchange
from pico_gz.wire.state import encode_state
from pico_gz.wire.state_record import ImuRecord, StateRecord


def fed(*forward_mps2):
    """An exchange that got one record per physics step of 2 ms."""
    exchange = ServoExchange(1, 2000)
    for number, ahead in enumerate(forward_mps2, start=1):
        record = StateRecord(
            timestamp_s=0.002 * number,
            imu=ImuRecord((0.0, 0.0, 0.1 * number), (ahead, 0.0, -9.8)),
            position_ned_m=(0.0, 0.0, 0.0),
            quat_wxyz=(1.0, 0.0, 0.0, 0.0),
            velocity_ned_mps=(0.0, 0.0, 0.0),
        )
        exchange.start(0.0)
        exchange.feed(encode_state(record), 0.0)
    return exchange


def test_a_jolt_between_two_reads_is_not_missed():
    record = fed(0.0, 8.0, 0.0, 0.0, 0.0).take_record(5)
    assert record.imu.accel_frd_mps2 == pytest.approx((1.6, 0.0, -9.8))
    assert record.imu.gyro_frd_radps == pytest.approx((0.0, 0.0, 0.3))
    assert record.timestamp_s == pytest.approx(0.010)


def test_what_came_before_the_step_does_not_count():
    assert fed(9.0, 9.0, 0.0, 1.0).take_record(2).imu.accel_frd_mps2[0] == pytest.approx(0.5)


def test_one_physics_step_is_told_as_it_is():
    exchange = fed(0.1, 0.2)
    assert exchange.take_record(1) == exchange.record
    assert exchange.take_record(1) == exchange.record, "nothing new: the last one again"


def test_no_record_yet():
    assert fed().take_record(1) is None
