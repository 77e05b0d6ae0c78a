from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pico_gz.core.board_options import (
    AccelConvention,
    CompassUnit,
    PlatformOptions,
    PressureUnit,
    SerialOutput,
)
from pico_gz.core.messages import BarometerData, CompassData, ImuData, SensorData
from pico_gz.errors import ConfigError
from pico_gz.vehicle.platform.platform import SitlPlatform

IMU = ImuData((1.0, 2.0, -9.8), (0.1, 0.2, 0.3), 30.0)
COMPASS = CompassData((0.3, -0.1, 0.35))


def read(options: PlatformOptions) -> tuple[ImuData, CompassData]:
    platform = SitlPlatform(1, options=options)
    platform.inject_sensors(SensorData(timestamp_us=1, vehicle_id=1, imu=IMU, compass=COMPASS))
    [(_, imu)] = platform.read_imu()
    compass = platform.read_compass()
    assert compass is not None
    return imu, compass


def test_the_default_is_body_axes_specific_force_and_gauss() -> None:
    assert read(PlatformOptions()) == (IMU, COMPASS)


def test_gravity_positive_shows_plus_g_at_rest_and_leaves_the_gyro() -> None:
    imu, compass = read(PlatformOptions(accel_convention=AccelConvention.GRAVITY_POSITIVE))
    assert imu.accel_mss == (-1.0, -2.0, 9.8)
    assert imu.gyro_rads == IMU.gyro_rads
    assert imu.temperature_c == 30.0
    assert compass == COMPASS


def test_axes_are_remapped_on_all_three_sensors() -> None:
    imu, compass = read(PlatformOptions(axis_remap=("+y", "-x", "+z")))
    assert imu.accel_mss == (2.0, -1.0, -9.8)
    assert imu.gyro_rads == (0.2, -0.1, 0.3)
    assert compass.mag_gauss == (-0.1, -0.3, 0.35)


def test_microtesla_are_a_hundred_to_the_gauss() -> None:
    _, compass = read(PlatformOptions(compass_unit=CompassUnit.MICROTESLA))
    assert compass.mag_gauss == pytest.approx((30.0, -10.0, 35.0))


def test_a_hectopascal_is_a_hundred_pascal() -> None:
    for unit, expected in ((PressureUnit.PASCAL, 101_325.0), (PressureUnit.HECTOPASCAL, 1013.25)):
        platform = SitlPlatform(1, options=PlatformOptions(pressure_unit=unit))
        barometer = BarometerData(101_325.0, 20.0)
        platform.inject_sensors(SensorData(timestamp_us=1, vehicle_id=1, barometer=barometer))
        assert platform.read_barometer() == BarometerData(expected, 20.0)
        assert platform.read_barometer() is None


def test_drivers_undo_whatever_the_board_does_and_share_its_samples() -> None:
    barometer = BarometerData(101_325.0)
    platform = SitlPlatform(
        1,
        options=PlatformOptions(
            accel_convention=AccelConvention.GRAVITY_POSITIVE,
            axis_remap=("-z", "+x", "-y"),
            compass_unit=CompassUnit.MICROTESLA,
            pressure_unit=PressureUnit.HECTOPASCAL,
        ),
    )
    platform.inject_sensors(
        SensorData(timestamp_us=1, vehicle_id=1, imu=IMU, compass=COMPASS, barometer=barometer)
    )
    assert platform.read_body_imu() == [(1, IMU)]
    assert platform.read_body_compass() == COMPASS
    assert platform.read_pascals() == barometer
    assert platform.read_imu() == []
    assert platform.read_compass() is None
    assert platform.read_barometer() is None


@given(
    axes=st.permutations(["x", "y", "z"]),
    signs=st.lists(st.sampled_from(["+", "-"]), min_size=3, max_size=3),
)
def test_any_mounting_keeps_the_magnitude(axes: list[str], signs: list[str]) -> None:
    first, second, third = (sign + axis for sign, axis in zip(signs, axes, strict=True))
    imu, _ = read(PlatformOptions(axis_remap=(first, second, third)))
    assert math.dist(imu.accel_mss, (0, 0, 0)) == pytest.approx(math.dist(IMU.accel_mss, (0, 0, 0)))
    assert sorted(map(abs, imu.gyro_rads)) == sorted(map(abs, IMU.gyro_rads))


def test_plain_words_of_a_fleet_file_are_as_good_as_the_enums() -> None:
    options = PlatformOptions(
        accel_convention="gravity_positive",  # type: ignore[arg-type]
        compass_unit="microtesla",  # type: ignore[arg-type]
    )
    assert options.accel_convention is AccelConvention.GRAVITY_POSITIVE
    assert options.compass_unit is CompassUnit.MICROTESLA


@pytest.mark.parametrize(
    "bad",
    [
        {"axis_remap": ("+x", "+x", "+z")},
        {"axis_remap": ("x", "y", "z")},
        {"axis_remap": ("+x", "+y")},
        {"battery_divider": 0.0},
        {"battery_divider": math.nan},
        {"accel_convention": "up"},
        {"compass_unit": "tesla"},
        {"pressure_unit": "bar"},
    ],
)
def test_boards_that_cannot_be_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        PlatformOptions(**bad)


@pytest.mark.parametrize(("kind", "rate_hz"), [("nmea", 0.0), ("nmea", math.inf), ("rtcm", 1.0)])
def test_serial_outputs_that_cannot_be_are_refused(kind: str, rate_hz: float) -> None:
    with pytest.raises(ConfigError):
        SerialOutput(kind, rate_hz)  # type: ignore[arg-type]


def test_a_serial_output_needs_a_port_that_exists() -> None:
    with pytest.raises(ConfigError, match="no UART 9"):
        SitlPlatform(1, options=PlatformOptions(serial_outputs={9: SerialOutput("ubx")}))
