from pico_gz.adapters.contract import SensorMailbox
from pico_gz.core.messages import BarometerData, ImuData, SensorData

IMU = ImuData((0.0, 0.0, -9.8), (0.0, 0.0, 0.0))


def record(time_us: int, **samples) -> dict[int, SensorData]:
    return {1: SensorData(timestamp_us=time_us, vehicle_id=1, **samples)}


def test_a_read_record_is_replaced():
    box = SensorMailbox()
    box.put(record(10, barometer=BarometerData(101325.0)))
    box.take()
    box.put(record(20, imu=IMU))
    assert box.take()[1].barometer is None


def test_an_unread_sample_survives_the_next_step():
    box = SensorMailbox()
    box.put(record(10, barometer=BarometerData(101325.0)))
    box.put(record(20, imu=IMU))
    merged = box.take()[1]
    assert (merged.timestamp_us, merged.imu) == (20, IMU)
    assert merged.barometer == BarometerData(101325.0)


def test_a_newer_sample_wins_over_an_unread_one():
    box = SensorMailbox()
    box.put(record(10, barometer=BarometerData(1.0)))
    box.put(record(20, barometer=BarometerData(2.0)))
    assert box.take()[1].barometer == BarometerData(2.0)


def test_a_vehicle_that_left_is_forgotten():
    box = SensorMailbox()
    box.put(record(10))
    box.forget(1)
    assert box.take() == {}
