"""Gazebo's messages: bytes as protobuf writes them, read both ways."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scan_message import scan_message

from pico_gz.errors import DecodeError
from pico_gz.gazebo import gz_messages as messages
from pico_gz.gazebo.gz_messages import (
    GzNavSat,
    GzPose,
    GzScan,
    doubles,
    fields,
    put_bytes,
    put_double,
    put_int,
    put_text,
    signed,
)

FINITE = st.floats(allow_nan=False, allow_infinity=False, width=64)

# As the message classes of gz-msgs10 write them.
GOLDEN = [
    (messages.world_control(pause=True), "1001"),
    (messages.world_control(pause=True, multi_step=300), "100120ac02"),
    (messages.world_control(), ""),
    (messages.world_control(reset=True), "2a021001"),
    (messages.model_entity("rover_1"), "1a07726f7665725f312002"),
    (
        messages.pose_message(GzPose("r", (1.0, 0.0, -2.0))),
        "120172" "2212" "11000000000000f03f" "2100000000000000c0" "2a09" "29000000000000f03f",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("data", "text"), GOLDEN)
def test_messages_to_gazebo(data, text):
    assert data.hex() == text


def test_a_spawn_holds_model_pose_and_name():
    found = dict(fields(messages.entity_factory("<sdf/>", "new", GzPose("", (0.0, 9.0, 0.5)))))
    assert found[2] == b"<sdf/>"
    assert found[8] == b"new"
    assert found[7] == messages.pose_message(GzPose("", (0.0, 9.0, 0.5)))


@given(st.tuples(FINITE, FINITE, FINITE), st.tuples(FINITE, FINITE, FINITE, FINITE), st.text())
def test_poses_survive(position, quat, name):
    pose = GzPose(name, position, quat)
    (found,) = messages.read_poses(messages.pose_list([pose]))
    assert found.position_m == position
    assert found.name == name
    assert found.quat_wxyz == (quat if any(quat) else (1.0, 0.0, 0.0, 0.0))


def test_the_clock_is_simulation_time_in_microseconds():
    time = put_int(1, 12) + put_int(2, 345_678_000)
    data = put_bytes(2, put_int(1, 99)) + put_bytes(4, time)
    assert messages.read_clock_us(data) == 12_345_678
    assert messages.read_clock_us(b"") == 0


def test_statistics():
    data = (
        put_bytes(2, put_int(1, 3))
        + put_bytes(4, put_int(1, 2))
        + put_int(5, True)
        + put_int(6, 1500)
        + put_double(9, 1.5)
        + put_bytes(10, put_int(2, 2_000_000))
    )
    found = messages.read_statistics(data)
    assert (found.sim_time_us, found.real_time_us, found.step_us) == (3_000_000, 2_000_000, 2000)
    assert (found.iterations, found.paused, found.real_time_factor) == (1500, True, 1.5)


def test_answers():
    assert messages.read_boolean(put_int(2, True))
    assert not messages.read_boolean(b"")
    assert messages.read_texts(put_text(2, "yard") + put_text(2, "slope")) == ["yard", "slope"]


def test_sensors():
    numbers = (35.5, 139.0, 40.0, 1.0, 2.0, 3.0)
    fix = b"".join(put_double(field, number) for field, number in enumerate(numbers, start=2))
    assert messages.read_nav_sat(fix) == GzNavSat(
        lat_deg=35.5, lon_deg=139.0, alt_m=40.0, velocity_enu_mps=(1.0, 2.0, 3.0)
    )
    field = put_double(2, 0.3) + put_double(4, 0.4)
    assert messages.read_magnetometer(put_bytes(2, field)) == (0.3, 0.0, 0.4)
    assert messages.read_pressure_pa(put_double(2, 101_325.0)) == 101_325.0


def test_a_scan_survives_also_with_zeros_and_infinities():
    scan = GzScan(
        angle_min_rad=-1.0, angle_step_rad=0.5, range_min_m=0.1, range_max_m=12.0,
        ranges_m=(1.0, 0.0, math.inf),
    )  # fmt: skip
    assert messages.read_scan(scan_message(scan)) == scan


def test_negative_numbers_take_ten_bytes():
    data = put_int(1, -5)
    assert len(data) == 11
    ((_, value),) = fields(data)
    assert signed(value) == -5


@pytest.mark.parametrize("text", ["08", "09 00", "12 05 61", "0b", "ff" * 11])
def test_broken_bytes_are_refused(text):
    with pytest.raises(DecodeError):
        list(fields(bytes.fromhex(text)))


def test_half_a_number_is_refused():
    with pytest.raises(DecodeError):
        doubles(bytes(7))


@given(st.binary(max_size=80))
def test_garbage_never_raises_anything_else(data):
    for read in (
        messages.read_boolean,
        messages.read_clock_us,
        messages.read_magnetometer,
        messages.read_nav_sat,
        messages.read_poses,
        messages.read_pressure_pa,
        messages.read_scan,
        messages.read_statistics,
        messages.read_texts,
    ):
        try:
            read(data)
        except DecodeError:
            continue
