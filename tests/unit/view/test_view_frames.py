import struct

import pytest
from truths import truth, view_of

from pico_gz.bridge.published import BridgeState, FleetView
from pico_gz.view.welcome import KIND, STATES, encode_frame

ROW = struct.Struct("<BBHiiii")


def rows_of(frame):
    return [ROW.unpack_from(frame, 16 + 20 * i) for i in range((len(frame) - 16) // 20)]


def test_the_header_tells_state_count_step_and_time():
    frame = encode_frame(view_of(truth(1), truth(2)), BridgeState.PAUSED)
    kind, state, count, step, time_s = struct.unpack_from("<BBHId", frame)
    assert (kind, STATES[state], count, step, time_s) == (KIND, "paused", 2, 150, 1.5)


def test_an_empty_fleet_is_a_header():
    assert len(encode_frame(FleetView(), BridgeState.IDLE)) == 16


@pytest.mark.parametrize(
    ("yaw_deg", "units"), [(0.0, 0), (90.0, 16384), (180.0, 32768), (-90.0, 49152), (359.999, 0)]
)
def test_yaw_is_65536_per_turn(yaw_deg, units):
    ((_, _, yaw, *_),) = rows_of(encode_frame(view_of(truth(1, yaw_deg=yaw_deg)), BridgeState.IDLE))
    assert yaw == units


def test_places_are_millimetres_and_speed_is_along_the_bow():
    moving = truth(
        200, north_m=-12.3456, east_m=7.0, yaw_deg=90.0, velocity=(5.0, -1.5, 0.0), up_m=2.5
    )
    ((vehicle_id, flags, _, north, east, speed, height),) = rows_of(
        encode_frame(view_of(moving), BridgeState.RUNNING)
    )
    assert (vehicle_id, flags, north, east, height) == (200, 0, -12346, 7000, 250)
    assert speed == -1500


def test_what_does_not_fit_is_held_at_the_edge():
    far = truth(1, north_m=1e9, east_m=-1e9, velocity=(9e9, 0.0, 0.0), up_m=1e9)
    ((_, _, _, north, east, speed, height),) = rows_of(
        encode_frame(view_of(far), BridgeState.RUNNING)
    )
    assert (north, east, speed, height) == (2147483647, -2147483647, 2147483647, 2147483647)


def test_an_aircraft_is_neither_too_fast_nor_too_high():
    flying = truth(1, velocity=(250.0, 0.0, 0.0), up_m=9000.0)
    ((*_, speed, height),) = rows_of(encode_frame(view_of(flying), BridgeState.RUNNING))
    assert (speed, height) == (250_000, 900_000)


def test_255_rovers_are_about_five_kilobytes():
    frame = encode_frame(view_of(*(truth(i) for i in range(1, 256))), BridgeState.RUNNING)
    assert len(frame) == 16 + 255 * 20
