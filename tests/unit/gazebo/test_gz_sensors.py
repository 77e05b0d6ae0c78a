"""Gazebo's own sensors in the records of a run."""

import math

import pytest
from scan_message import scan_message

from pico_gz.core.messages import BarometerData, CompassData, SensorData
from pico_gz.core.rover_spec import rover_spec
from pico_gz.core.vehicle_config import VehicleConfig
from pico_gz.gazebo import gz_messages as messages
from pico_gz.gazebo.gz_messages import GzNavSat, GzScan, put_bytes, put_double
from pico_gz.gazebo.sensors import (
    FleetSensors,
    GazeboSensorTopics,
    SensorSite,
    barometer_at,
    gps_from_nav_sat,
    lidar_topic,
    rangefinders_from_scan,
)

BASE = "/world/yard/model/scout/link/base_link/sensor"


class FakeTopics:
    def __init__(self):
        self.said = {}
        self.subscribed = {}

    def subscribe(self, topic, kind):
        self.subscribed[topic] = kind

    def newest(self, topic):
        return self.said.get(topic, (0, b""))


@pytest.fixture
def topics():
    return FakeTopics()


@pytest.fixture
def sensors(topics):
    sensors = GazeboSensorTopics("yard", {1: "scout"}, {1: (0.0, 90.0)}, topics)
    sensors.subscribe()
    return sensors


def record(**parts):
    return SensorData(timestamp_us=10, vehicle_id=1, **parts)


def test_every_sensor_of_a_generated_rover_is_read(sensors, topics):
    assert topics.subscribed == {
        f"{BASE}/navsat/navsat": messages.NAV_SAT,
        f"{BASE}/magnetometer/magnetometer": messages.MAGNETOMETER,
        f"{BASE}/air_pressure/air_pressure": messages.FLUID_PRESSURE,
        "/model/scout/lidar": messages.LASER_SCAN,
    }


def test_models_stay_until_gazebo_has_spoken(sensors):
    modelled = record(compass=CompassData((0.1, 0.2, 0.3)))
    assert sensors.replace({1: modelled}) == {1: modelled}


def test_each_sample_comes_once(sensors, topics):
    topics.said[f"{BASE}/air_pressure/air_pressure"] = (1, put_double(2, 100_000.0))
    modelled = record(barometer=BarometerData(90_000.0))
    first = sensors.replace({1: modelled})[1]
    again = sensors.replace({1: modelled})[1]
    assert first.barometer.pressure_pa == pytest.approx(100_000.0)
    assert again.barometer is None, "the model's sample does not come back in between"


def test_the_compass_is_forward_right_down_in_gauss(sensors, topics):
    field = put_bytes(2, put_double(2, 0.3) + put_double(3, -0.04) + put_double(4, 0.36))
    topics.said[f"{BASE}/magnetometer/magnetometer"] = (1, field)
    assert sensors.replace({1: record()})[1].compass == CompassData((0.3, -0.04, 0.36))


@pytest.mark.parametrize("data", [b"\x09\x00", put_double(2, -5.0), put_double(2, math.nan)])
def test_nonsense_is_no_sample(sensors, topics, data):
    topics.said[f"{BASE}/air_pressure/air_pressure"] = (1, data)
    assert sensors.replace({1: record()})[1].barometer is None


def test_a_vehicle_of_another_world_is_left_alone(sensors, topics):
    other = SensorData(timestamp_us=10, vehicle_id=9)
    assert sensors.replace({9: other}) == {9: other}


def test_gps_turns_enu_into_ned():
    fix = gps_from_nav_sat(
        GzNavSat(lat_deg=35.0, lon_deg=139.0, alt_m=40.0, velocity_enu_mps=(3.0, 4.0, 1.0))
    )
    assert fix.velocity_ned_mps == (4.0, 3.0, -1.0)
    assert fix.speed_ms == 5.0
    assert fix.course_deg == pytest.approx(math.degrees(math.atan2(3.0, 4.0)))


def test_pressure_is_brought_to_the_height_of_the_origin():
    assert barometer_at(101_325.0, 0.0).pressure_pa == pytest.approx(101_325.0)
    assert barometer_at(101_325.0, 40.0).pressure_pa == pytest.approx(100_845.0, abs=1.0)
    ten_m_up = barometer_at(101_325.0, 10.0).pressure_pa
    fifty_m_up = barometer_at(101_325.0, 50.0).pressure_pa
    assert barometer_at(ten_m_up, 40.0).pressure_pa == pytest.approx(fifty_m_up)


def test_lidar_rays_near_a_bearing_are_its_rangefinder(sensors, topics):
    """A wall 2 m ahead and a post 1 m to the right; the scan goes counter-clockwise."""
    step = math.radians(1.0)
    ranges = [math.inf] * 361
    ranges[180] = 2.0
    ranges[180 - 90] = 1.0
    scan = GzScan(
        angle_min_rad=-math.pi, angle_step_rad=step, range_min_m=0.1, range_max_m=12.0,
        ranges_m=tuple(ranges),
    )  # fmt: skip
    topics.said[lidar_topic("scout")] = (1, scan_message(scan))
    ahead, right = sensors.replace({1: record()})[1].rangefinders
    assert (ahead.distance_m, ahead.bearing_deg) == (2.0, 0.0)
    assert (right.distance_m, right.bearing_deg) == (1.0, 90.0)


def test_nothing_in_range_is_the_longest_distance():
    scan = GzScan(
        angle_min_rad=-0.1, angle_step_rad=0.1, range_min_m=0.2, range_max_m=4.0,
        ranges_m=(math.inf, 0.05, math.nan),
    )  # fmt: skip
    (found,) = rangefinders_from_scan(scan, (0.0,))
    assert (found.distance_m, found.min_m, found.max_m) == (4.0, 0.2, 4.0)


def test_the_figures_of_a_rover_are_for_lightweight():
    plain, figures = FleetSensors(SensorSite()), FleetSensors(SensorSite())
    changed = rover_spec(
        overrides={"gps_noise_m": 3.0, "gps_rate_hz": 1.0, "compass_noise_rad": 0.3}
    )
    plain.add(VehicleConfig(id=1), rover_spec())
    figures.add(VehicleConfig(id=1), changed)
    assert figures.setups == plain.setups
