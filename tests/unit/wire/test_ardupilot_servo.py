"""Servo packets: tables read both ways, and every packet that a real ArduRover sent."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pico_gz.errors import DecodeError, EncodeError
from pico_gz.wire.servo import MAGIC_16, MAGIC_32, ServoPacket, decode_servo, encode_servo

CAPTURES = Path(__file__).parents[2] / "golden" / "captures"
HEX_FILES = sorted(CAPTURES.glob("ardurover_*.hex"))


def read_hex(name: str) -> list[bytes]:
    return [bytes.fromhex(line) for line in (CAPTURES / name).read_text().split()]


@pytest.mark.parametrize("path", HEX_FILES, ids=lambda p: p.stem)
def test_real_packets_round_trip_byte_for_byte(path: Path) -> None:
    packets = read_hex(path.name)
    assert len(packets) >= 60
    for data in packets:
        packet = decode_servo(data)
        assert encode_servo(packet.frame_rate_hz, packet.frame_count, packet.pwm_us) == data


def test_first_packets_of_a_real_boot() -> None:
    packets = [decode_servo(data) for data in read_hex("ardurover_first_packets.hex")]
    assert [p.frame_count for p in packets[:9]] == [0, 0, 0, 0, 0, 0, 0, 1, 2]
    assert packets[0] == ServoPacket(1200, 0, (1500,) * 4 + (1000,) * 12)
    assert packets[-1].frame_rate_hz == 1001


def test_real_32_channel_packets() -> None:
    data = read_hex("ardurover_32ch.hex")[0]
    assert len(data) == 72
    assert len(decode_servo(data).pwm_us) == 32


PACKETS = [
    (
        ServoPacket(400, 1, (1500, 0, 1600) + (0,) * 13),
        bytes.fromhex("1a48900101000000dc0500004006") + bytes(26),
    ),
    (
        ServoPacket(1, 0xFFFFFFFF, tuple(range(1000, 1032))),
        bytes.fromhex("81730100ffffffff")
        + b"".join(v.to_bytes(2, "little") for v in range(1000, 1032)),
    ),
]


@pytest.mark.parametrize(("packet", "data"), PACKETS)
def test_layout_both_ways(packet: ServoPacket, data: bytes) -> None:
    assert encode_servo(packet.frame_rate_hz, packet.frame_count, packet.pwm_us) == data
    assert decode_servo(data) == packet


@pytest.mark.parametrize("size", [0, 1, 7, 8, 39, 41, 64, 71, 73, 65507])
@pytest.mark.parametrize("magic", [MAGIC_16, MAGIC_32])
def test_a_size_that_does_not_fit_the_magic_is_refused(magic: int, size: int) -> None:
    data = (magic.to_bytes(2, "little") + bytes(65507))[:size]
    with pytest.raises(DecodeError):
        decode_servo(data)


def test_magics_are_not_interchangeable_and_the_hint_names_both() -> None:
    swapped = MAGIC_32.to_bytes(2, "little") + bytes(38)
    with pytest.raises(DecodeError) as caught:
        decode_servo(swapped)
    assert "18458" in caught.value.hint
    assert "29569" in caught.value.hint


@pytest.mark.parametrize("channels", [0, 15, 17, 31, 33])
def test_other_channel_counts_cannot_be_sent(channels: int) -> None:
    with pytest.raises(EncodeError):
        encode_servo(400, 1, [1500] * channels)


@pytest.mark.parametrize("bad", [-1, 65536])
def test_a_value_outside_its_field_cannot_be_sent(bad: int) -> None:
    with pytest.raises(EncodeError):
        encode_servo(400, 1, [bad] + [1500] * 15)


@given(st.binary(max_size=100))
def test_garbage_is_refused_and_nothing_else_is_raised(data: bytes) -> None:
    try:
        packet = decode_servo(data)
    except DecodeError:
        return
    assert encode_servo(packet.frame_rate_hz, packet.frame_count, packet.pwm_us) == data
