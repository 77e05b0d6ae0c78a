"""Generated rovers: mechanics, sensors, plugin."""

import math

import msgspec
import numpy as np
import pytest
from sdf_reading import frame, numbers, parse

from pico_gz.core.rover_spec import PRESETS, rover_spec
from pico_gz.core.vehicle_config import ARDUPILOT_CHANNELS, DriveKind, NoiseProfile
from pico_gz.gazebo.worlds.render import render_model
from pico_gz.gazebo.worlds.rover_model import (
    PluginSetup,
    build_rover_model,
    fit_sensors,
    imu_rate_hz,
)

SPECS = list(PRESETS.values())
PLUGIN = PluginSetup(address="127.0.0.1", port=9002)


def rover(spec, number=1, noise=NoiseProfile.OFF, plugin=PLUGIN, **fit):
    sensors = fit_sensors(spec, noise, 2000, **fit)
    return parse(
        render_model(build_rover_model("rover", spec, sensors, number=number, plugin=plugin))
    )


def ardupilot(model):
    return next(p for p in model.findall("plugin") if p.get("name") == "ArduPilotPlugin")


def controls(model):
    return {c.findtext("jointName"): c for c in ardupilot(model).findall("control")}


def command(control, pwm_us):
    """What the plugin makes of a pulse width, as its sources say."""
    low, high = float(control.findtext("servo_min")), float(control.findtext("servo_max"))
    share = min(1.0, max(0.0, (pwm_us - low) / (high - low)))
    return float(control.findtext("multiplier")) * (share + float(control.findtext("offset")))


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.preset)
class TestEveryRover:
    def test_weighs_what_it_should(self, spec):
        masses = [float(mass.text) for mass in rover(spec).iter("mass")]
        assert sum(masses) == pytest.approx(spec.mass_kg, rel=1e-5)

    def test_inertias_can_exist(self, spec):
        for inertia in rover(spec).iter("inertia"):
            a, b, c = sorted(float(inertia.findtext(axis)) for axis in ("ixx", "iyy", "izz"))
            assert a > 0.0
            assert c <= a + b

    def test_stands_on_its_wheels(self, spec):
        model = rover(spec)
        wheels = [link for link in model.findall("link") if link.get("name").endswith("wheel")]
        assert len(wheels) == 4
        for wheel in wheels:
            cylinder = wheel.find("collision/geometry/cylinder")
            radius = float(cylinder.findtext("radius"))
            assert radius == pytest.approx(spec.wheel_radius_m)
            assert frame(wheel)[2, 3] == pytest.approx(radius)
            axle = (frame(wheel) @ frame(wheel.find("collision")))[:3, 2]
            assert np.abs(axle) == pytest.approx([0, 1, 0], abs=1e-6)

    def test_nothing_else_touches_the_ground(self, spec):
        body = next(link for link in rover(spec).findall("link") if link.get("name") == "base_link")
        for collision in body.findall("collision"):
            height = numbers(collision.findtext("geometry/box/size"))[2]
            assert frame(collision)[2, 3] - 0.5 * height > 0.2 * spec.wheel_radius_m

    def test_wheels_are_where_the_description_says(self, spec):
        model = rover(spec)
        places = {
            link.get("name"): frame(link)[:2, 3]
            for link in model.findall("link")
            if link.get("name").endswith("wheel")
        }
        front, rear = places["front_left_wheel"], places["rear_left_wheel"]
        assert front[0] - rear[0] == pytest.approx(spec.axle_distance_m)
        assert rear[1] - places["rear_right_wheel"][1] == pytest.approx(spec.track_m)
        # The reference point: middle of the wheels, or of the rear axle of a car.
        expected = 0.0 if spec.drive is DriveKind.ACKERMANN else -0.5 * spec.axle_distance_m
        assert rear[0] == pytest.approx(expected)

    def test_full_throttle_is_the_top_speed_and_neutral_none(self, spec):
        model = rover(spec)
        driven = [c for c in controls(model).values() if c.findtext("type") == "VELOCITY"]
        assert len(driven) == (2 if spec.drive is DriveKind.ACKERMANN else 4)
        for control in driven:
            top = command(control, 2000) * spec.wheel_radius_m
            assert top == pytest.approx(spec.max_speed, rel=1e-5)
            assert command(control, 1000) == pytest.approx(-command(control, 2000))
            assert command(control, 1500) == 0.0
            low, high = float(control.findtext("cmd_min")), float(control.findtext("cmd_max"))
            assert low == -high < 0.0

    def test_plugin_says_everything_itself(self, spec):
        plugin = ardupilot(rover(spec))
        assert plugin.get("filename") == "ArduPilotPlugin"
        assert plugin.findtext("fdm_addr") == "127.0.0.1"
        assert plugin.findtext("fdm_port_in") == "9002"
        assert plugin.findtext("lock_step") == "1"
        assert plugin.findtext("connectionTimeoutMaxCount") == "10"
        assert plugin.findtext("imuName") == "base_link::imu_sensor"
        ned, body = (
            plugin.find(tag) for tag in ("gazeboXYZToNED", "modelXYZToAirplaneXForwardZDown")
        )
        assert (ned.text, ned.get("degrees")) == ("0 0 0 180 0 90", "true")
        assert (body.text, body.get("degrees")) == ("0 0 0 180 0 0", "true")

    def test_imu_looks_forward_right_down(self, spec):
        (imu,) = (s for s in rover(spec).iter("sensor") if s.get("type") == "imu")
        assert imu.find("topic") is None
        assert float(imu.findtext("update_rate")) >= 500
        assert frame(imu)[:3, :3] == pytest.approx(np.diag([1.0, -1.0, -1.0]), abs=1e-9)


def test_skid_steering_channels():
    spec = PRESETS["pico_trail_freenove"]
    channels = {name: c.get("channel") for name, c in controls(rover(spec)).items()}
    assert channels["front_left_wheel_joint"] == channels["rear_left_wheel_joint"] == "0"
    assert channels["front_right_wheel_joint"] == channels["rear_right_wheel_joint"] == "1"
    ardu = msgspec.structs.replace(spec, channels=ARDUPILOT_CHANNELS)
    channels = {name: c.get("channel") for name, c in controls(rover(ardu)).items()}
    assert channels["front_right_wheel_joint"] == "2"
    assert all(c.findtext("useForce") == "0" for c in controls(rover(spec)).values())


def test_car_steering():
    spec = PRESETS["pico_trail_ackermann"]
    model = rover(spec)
    (control,) = (c for c in controls(model).values() if c.findtext("type") == "POSITION")
    assert (control.get("channel"), control.findtext("useForce")) == ("0", "1")
    # A long pulse steers right, which is negative about the upward axis.
    assert command(control, 2000) == pytest.approx(-math.radians(30.0), rel=1e-5)
    assert command(control, 1500) == 0.0
    states = next(p for p in model.findall("plugin") if "JointState" in p.get("name"))
    joint = control.findtext("jointName")
    assert [node.text for node in states.findall("joint_name")] == [joint]


def test_the_front_axle_pivots_as_a_whole():
    """Then the lines through all axles meet in one point, however far it is turned."""
    spec = PRESETS["pico_trail_ackermann"]
    model = rover(spec)
    joints = {joint.get("name"): joint for joint in model.findall("joint")}
    steering = joints["steering_joint"]
    assert numbers(steering.findtext("axis/xyz")) == [0, 0, 1]
    assert float(steering.findtext("axis/limit/upper")) > math.radians(30.0)
    axle = steering.findtext("child")
    for side in ("left", "right"):
        assert joints[f"front_{side}_wheel_joint"].findtext("parent") == axle
    (pivot,) = (link for link in model.findall("link") if link.get("name") == axle)
    assert frame(pivot)[:2, 3] == pytest.approx([spec.wheel_base, 0.0])


def test_the_driven_axle_of_a_car_touches_in_its_middle():
    """So both wheels may turn at one speed in every curve."""
    assert contact_track(PRESETS["pico_trail_ackermann"]) == pytest.approx(0.0)


def test_the_steering_servo_is_stable_in_a_step_of_ten_milliseconds():
    for preset in ("pico_trail_ackermann", "ardupilot_car"):
        spec = PRESETS[preset]
        model = rover(spec)
        (control,) = (c for c in controls(model).values() if c.findtext("type") == "POSITION")
        wheel = 0.04 * spec.mass_kg * (0.5 * spec.track_m) ** 2
        natural = math.sqrt(float(control.findtext("p_gain")) / (2.0 * wheel))
        assert natural * 0.010 < 1.0


def contact_track(spec):
    """Distance of left and right contacts with the ground."""
    model = rover(spec)
    places = {
        link.get("name"): (frame(link) @ frame(link.find("collision")))[1, 3]
        for link in model.findall("link")
        if link.get("name").endswith("wheel")
    }
    return places["rear_left_wheel"] - places["rear_right_wheel"]


def test_contacts_are_as_far_apart_as_the_rover_turns():
    spec = PRESETS["pico_trail_freenove"]
    assert spec.track_factor > 1.5
    # The outer edges of the narrow contacts roll.
    edges = 0.1 * spec.wheel_width_m
    assert contact_track(spec) + edges == pytest.approx(spec.effective_track_m)
    plain = msgspec.structs.replace(spec, track_factor=1.0)
    assert contact_track(plain) + edges == pytest.approx(spec.track_m)


def test_contacts_stay_within_the_disc_that_collides():
    spec = rover_spec("pico_trail_freenove", {"track_factor": 5.0})
    reach = math.hypot(0.5 * contact_track(spec) + 0.5 * spec.wheel_width_m, 0.06)
    assert reach == pytest.approx(spec.radius_m)


def test_friction_is_lower_along_the_axle():
    for link in rover(PRESETS["pico_trail_freenove"]).findall("link"):
        friction = link.find("collision/surface/friction/ode")
        if friction is not None:
            assert numbers(friction.findtext("fdir1")) == [0, 0, 1]
            assert float(friction.findtext("mu")) < float(friction.findtext("mu2"))


def test_odd_sizes():
    """Wide wheels on a narrow track, wheels higher than the body: still boxes of some size."""
    changes = {"wheel_width_m": 0.2, "wheel_radius_m": 0.3, "height_m": 0.1}
    for preset in ("pico_trail_freenove", "pico_trail_ackermann"):
        model = rover(rover_spec(preset, changes))
        for size in model.iter("size"):
            assert min(numbers(size.text)) > 0.0


class TestSensors:
    spec = PRESETS["pico_trail_freenove"]

    def types(self, **options):
        return [s.get("type") for s in rover(self.spec, **options).iter("sensor") if s.get("type")]

    def test_those_that_need_no_rendering(self):
        assert self.types() == ["imu"]
        assert self.types(topics=True) == ["imu", "navsat", "magnetometer", "air_pressure"]

    def test_those_that_do(self):
        spec = msgspec.structs.replace(self.spec, rangefinders_deg=(-45.0, 0.0))
        model = rover(spec, rangefinders=True, lidar=True, camera=True)
        sensors = {s.get("name"): s for s in model.iter("sensor") if s.get("name")}
        assert {"range_1", "range_2", "lidar", "camera"} < set(sensors)
        # 45 degrees to the left is a positive yaw in Gazebo.
        yaw = numbers(sensors["range_1"].findtext("pose"))[5]
        assert yaw == pytest.approx(math.radians(45.0), rel=1e-5)
        wired = ardupilot(model).findall("sensor")
        assert [w.findtext("index") for w in wired] == ["1", "2"]
        for w in wired:
            name = w.findtext("topic").rsplit("/", 1)[1]
            assert w.findtext("topic") == "/" + sensors[name].findtext("topic")

    def test_noise_follows_the_profile(self):
        def sigma(noise):
            model = rover(self.spec, noise=noise)
            (imu,) = (s for s in model.iter("sensor") if s.get("type") == "imu")
            stddev = imu.findtext("imu/linear_acceleration/x/noise/stddev")
            return 0.0 if stddev is None else float(stddev)

        typical = sigma(NoiseProfile.TYPICAL)
        # 2.3 mm/s^2 per root hertz, over half of 500 Hz.
        assert typical == pytest.approx(2.3e-3 * math.sqrt(250.0), rel=1e-3)
        assert sigma(NoiseProfile.BAD) == pytest.approx(3.0 * typical, rel=1e-4)
        assert sigma(NoiseProfile.OFF) == 0.0

    def test_a_perfect_rover_has_no_noise(self):
        assert rover(PRESETS["ideal"], noise=NoiseProfile.BAD).find(".//noise") is None

    @pytest.mark.parametrize(("step_us", "rate"), [(1000, 1000), (2000, 1000), (300, 3334)])
    def test_imu_is_never_slower_than_physics(self, step_us, rate):
        assert imu_rate_hz(step_us) == rate


def test_only_shown():
    model = rover(PRESETS["pico_trail_freenove"], plugin=None)
    assert model.findtext("static") == "true"
    for tag in ("plugin", "joint", ".//sensor", ".//collision"):
        assert model.find(tag) is None
    assert model.find(".//visual") is not None
