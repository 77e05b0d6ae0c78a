"""The simulator's own state for SIMSTATE."""

import math

import pytest

from pico_gz.bridge.published import FleetView
from pico_gz.core.frames import LocalFrame, quat_from_euler
from pico_gz.core.messages import VehicleTruth
from pico_gz.run.mavlink_setup import TruthReader

FRAME = LocalFrame(35.0, 139.0, 40.0)


def truth(**changes):
    return VehicleTruth(
        **{
            "timestamp_us": 0,
            "vehicle_id": 1,
            "north_m": 0.0,
            "east_m": 0.0,
            "down_m": 0.0,
            "quat_wxyz": (1.0, 0.0, 0.0, 0.0),
            "velocity_ned_mps": (0.0, 0.0, 0.0),
            "rates_frd_radps": (0.0, 0.0, 0.0),
            "accel_ned_mps2": (0.0, 0.0, 0.0),
            "angular_accel_frd_radps2": (0.0, 0.0, 0.0),
            "wind_ned_mps": (0.0, 0.0, 0.0),
        }
        | changes
    )


def test_nothing_before_the_first_step():
    assert TruthReader(FleetView, FRAME).of(1)() is None


def test_the_newest_view_is_read_in_the_vehicles_own_frame():
    views = [FleetView(truth={1: truth(), 2: truth(north_m=111.0)})]
    read = TruthReader(lambda: views[-1], FRAME).of(2)
    assert read().lat_e7 == pytest.approx(350_010_000, abs=100)
    assert read().accel_mps2 == pytest.approx((0.0, 0.0, -9.80665))
    east = quat_from_euler(0.0, 0.0, math.radians(90.0))
    moving = truth(quat_wxyz=east, accel_ned_mps2=(0.0, 1.0, 0.0), rates_frd_radps=(0.0, 0.0, 0.3))
    views.append(FleetView(truth={2: moving}))
    state = read()
    assert (state.roll_rad, state.pitch_rad) == pytest.approx((0.0, 0.0))
    assert state.yaw_rad == pytest.approx(math.radians(90.0))
    assert state.accel_mps2 == pytest.approx((1.0, 0.0, -9.80665))
    assert state.gyro_radps == (0.0, 0.0, 0.3)
    assert (state.lat_e7, state.lon_e7) == (350_000_000, 1_390_000_000)
