"""``SIM_*`` parameters of finished samples: each one does what its name says, and 0 undoes it."""

import msgspec
import pytest

from pico_gz.core.messages import BarometerData, BatteryData, CompassData, GpsData, ImuData
from pico_gz.simulator.sim_parameters import SAMPLE_PARAMETERS, SampleParameters

IMU = ImuData((0.5, -0.4, -9.8), (0.1, 0.2, 0.3), 25.0)
COMPASS = CompassData((0.3, -0.05, 0.4))
BAROMETER = BarometerData(101_000.0, 25.0)
BATTERY = BatteryData(7.4, 2.0)
FIX = GpsData(
    lat_deg=35.0,
    lon_deg=139.0,
    alt_m=40.0,
    speed_ms=1.0,
    course_deg=0.0,
    velocity_ned_mps=(1.0, 0.0, 0.0),
    satellites=10,
)
# What 0 or 1 would not show.
VALUES = {"MAG1_SCALING": 1.5, "GPS_BYTELOSS": 50.0, "MAG_DELAY": 50.0, "BARO_DELAY": 50.0}


def samples():
    return {
        "imu": IMU,
        "compass": COMPASS,
        "barometer": BAROMETER,
        "gps": FIX,
        "battery": BATTERY,
    }


def make(**values):
    parameters = SampleParameters(1, 7)
    for name, value in values.items():
        parameters.set(name, value, 0)
    return parameters


def told(parameters, now_us=1_000_000):
    found = samples()
    parameters.apply(now_us, found)
    return found


def moving(parameters):
    """Two steps, between which everything changes: what is held or frozen shows."""
    first = told(parameters)
    later = samples()
    later["imu"] = ImuData((0.6, -0.3, -9.7), (0.2, 0.3, 0.4), 25.0)
    later["barometer"] = BarometerData(100_900.0, 25.0)
    parameters.apply(1_010_000, later)
    return first, later


@pytest.mark.parametrize("name", SAMPLE_PARAMETERS)
def test_each_has_an_effect_and_zero_has_none(name):
    values = {name: VALUES.get(name, 1.0)}
    if name.startswith("MAG1_ODI"):
        values["MAG1_DIA_X"] = 1.0
    without = {key: value for key, value in values.items() if key != name}
    assert moving(make(**values)) != moving(make(**without))
    undone = make(**values)
    told(undone)
    undone.set(name, 0.0, 0)
    assert moving(undone) == moving(make(**without))


def test_noise_is_the_same_for_the_same_seed_vehicle_and_time():
    noisy = {"ACC1_RND": 0.3, "GYR1_RND": 0.1, "MAG_RND": 20.0, "GPS_NOISE": 2.0}
    assert told(make(**noisy)) == told(make(**noisy))
    assert told(make(**noisy)) != told(make(**noisy), now_us=1_010_000)
    spread = [told(make(ACC1_RND=0.3), t)["imu"].accel_mss[0] - 0.5 for t in range(2000)]
    assert sum(x * x for x in spread) / 2000 == pytest.approx(0.09, rel=0.15)
    assert sum(spread) / 2000 == pytest.approx(0.0, abs=0.03)


def test_lost_bytes_lose_fixes():
    fixes = [told(make(GPS_BYTELOSS=0.5), t)["gps"] for t in range(1000)]
    # 0.995 to the power of 100 arrive whole.
    assert sum(fix is not None for fix in fixes) == pytest.approx(606, abs=50)


def test_a_delay_gives_old_samples():
    parameters = make(BARO_DELAY=20.0)
    heard = []
    for step in range(6):
        found = {"barometer": BarometerData(100_000.0 + step, 25.0)}
        parameters.apply(step * 10_000, found)
        heard.append(found["barometer"] and found["barometer"].pressure_pa)
    assert heard == [None, None, 100_000.0, 100_001.0, 100_002.0, 100_003.0]


def test_a_failed_gyro_stays_where_it_was():
    parameters = make(GYR_FAIL_MSK=1)
    first, later = moving(parameters)
    assert first["imu"].gyro_rads == later["imu"].gyro_rads == IMU.gyro_rads
    assert later["imu"].accel_mss != IMU.accel_mss


def test_motors_disturb_the_compass_by_their_current():
    x, y, z = told(make(MAG_MOT_Y=5.0))["compass"].mag_gauss
    assert (x, y, z) == (0.3, pytest.approx(-0.05 + 0.005 * 2.0), 0.4)


def test_a_snapshot_goes_on():
    values = {"GYR_FAIL_MSK": 1, "BARO_DELAY": 15.0, "MAG_MOT_X": 1.0, "ACC1_RND": 0.1}
    parameters = make(**values)
    told(parameters)
    copy = SampleParameters(1, 7)
    state = msgspec.msgpack.decode(msgspec.msgpack.encode(parameters.save()))
    copy.load(state)
    assert moving(copy) == moving(parameters)
