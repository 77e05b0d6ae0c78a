import random

import pytest
from pymavlink.dialects.v20 import all as mav

from pico_gz.mavlink import codec
from pico_gz.mavlink.codec import SplitCounters, StreamSplitter, split_datagram


def heartbeat(sequence=0, *, v1=False):
    out = codec.pack(mav.MAVLink_heartbeat_message(6, 8, 0, 0, 4, 3))
    return codec.frame(out, sequence, 255, v1=v1)


def unknown_frame():
    raw = bytearray(heartbeat())
    raw[7:10] = (0xFF, 0xFF, 0x7F)
    return bytes(raw)


def bad_crc():
    return heartbeat()[:-1] + bytes([heartbeat()[-1] ^ 1])


def wrong_length(byte):
    raw = bytearray(heartbeat())
    raw[1] = byte
    return bytes(raw)


def bad_flags():
    raw = bytearray(heartbeat())
    raw[2] = 0x02
    return bytes(raw)


BAD = {
    "bad_crc": bad_crc(),
    "unknown_id": unknown_frame(),
    "longer": wrong_length(255),
    "shorter": wrong_length(0),
    "truncated": heartbeat()[:-3],
    "bad_flags": bad_flags(),
    "magic_only": b"\xfd",
    "magics": b"\xfd\xfe" * 5,
    "noise": b"hello world",
    "empty": b"",
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
@pytest.mark.parametrize("v1", [False, True])
def test_a_bad_frame_costs_only_itself_in_a_datagram(bad, v1):
    good = [heartbeat(n, v1=v1) for n in range(3)]
    counters = SplitCounters()
    assert split_datagram(good[0] + bad + good[1] + good[2], counters) == good


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_a_bad_frame_costs_only_itself_in_a_stream(bad, chunk):
    # Enough good frames follow for a false start to complete what it claimed.
    good = [heartbeat(n) for n in range(20)]
    stream = good[0] + bad + b"".join(good[1:])
    splitter = StreamSplitter(SplitCounters())
    found = []
    for at in range(0, len(stream), chunk):
        found += splitter.feed(stream[at : at + chunk], now_us=0)
    assert found == good


@pytest.mark.parametrize(
    ("bad", "counter"),
    [
        ("bad_crc", "bad_crc"),
        ("unknown_id", "unknown_id"),
        ("longer", "truncated"),
        ("truncated", "truncated"),
        ("bad_flags", "bad_flags"),
    ],
)
def test_what_was_wrong_is_counted(bad, counter):
    counters = SplitCounters()
    split_datagram(BAD[bad], counters)
    assert getattr(counters, counter) >= 1
    assert counters.total >= 1


def test_versions_mix_in_one_datagram():
    frames = [heartbeat(0), heartbeat(1, v1=True), heartbeat(2), heartbeat(3, v1=True)]
    assert split_datagram(b"".join(frames), SplitCounters()) == frames


def test_nothing_is_carried_from_one_datagram_to_the_next():
    whole = heartbeat()
    counters = SplitCounters()
    assert split_datagram(whole[:10], counters) == []
    assert split_datagram(whole[10:], counters) == []
    assert split_datagram(whole, counters) == [whole]


def test_false_starts_in_one_datagram_are_limited():
    counters = SplitCounters()
    assert split_datagram(b"\xfd\x00\x00" * 1000 + heartbeat(), counters) == []
    assert counters.total == 256


def test_a_stream_keeps_at_most_one_frame():
    splitter = StreamSplitter(SplitCounters())
    generator = random.Random(7)
    for _ in range(300):
        splitter.feed(generator.randbytes(500), now_us=0)
        assert splitter.pending_bytes < codec.MAX_FRAME_BYTES


def test_a_stray_magic_byte_does_not_hold_up_a_quiet_stream():
    splitter = StreamSplitter(SplitCounters())
    assert splitter.feed(b"\xfd\xff\x00" + heartbeat(1), now_us=0) == []
    assert splitter.feed(heartbeat(2), now_us=1_000_000) == [heartbeat(1), heartbeat(2)]
    assert splitter.pending_bytes == 0


def test_a_slow_frame_is_waited_for():
    splitter = StreamSplitter(SplitCounters())
    whole = heartbeat()
    assert splitter.feed(whole[:12], now_us=0) == []
    assert splitter.feed(whole[12:], now_us=400_000) == [whole]
