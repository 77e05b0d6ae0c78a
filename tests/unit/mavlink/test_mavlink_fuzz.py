"""Random bytes, and CRC-correct messages with hostile fields: nothing may get out."""

import math
import random
import struct
import sys

import pytest
from fake_vehicle import FakeVehicle
from ground_station import Ground, ListPeer
from pymavlink.dialects.v20 import all as mav
from real_vehicle import RealVehicle

from pico_gz.mavlink import codec
from pico_gz.mavlink.codec import SplitCounters, StreamSplitter, split_datagram

DEFAULT = 20_000
ALL = 100_000
SIZES = [pytest.param(DEFAULT, id="default"), pytest.param(ALL, id="all", marks=pytest.mark.slow)]
HOSTILE_FLOATS = (math.nan, math.inf, -math.inf, 0.0, -1.0, 1.0, 1e38, -1e38, 1e-45, 65535.0, 0.5)
HOSTILE_BYTES = (0x00, 0xFF, 0x7F, 0x80, 0x01, 0xFD, 0xFE)
# The messages an endpoint handles, and a few that it does not.
KINDS = [mav.mavlink_map[msg_id] for msg_id in sorted(Ground().endpoint.handled_ids)]
KINDS += [mav.mavlink_map[msg_id] for msg_id in (1, 30, 77, 253, 256)]


def hostile_payload(kind, generator):
    """A payload of the right size, built to hurt."""
    data = bytearray(generator.choice(HOSTILE_BYTES) for _ in range(kind.unpacker.size))
    if generator.random() < 0.7:
        data[:] = generator.randbytes(len(data))
    for _ in range(generator.randrange(4)):
        at = 4 * generator.randrange(max(1, len(data) // 4))
        if at + 4 <= len(data):
            struct.pack_into("<f", data, at, generator.choice(HOSTILE_FLOATS))
    return bytes(data)


def aimed(message, generator):
    """Most messages must be for this vehicle, or the fuzzing ends at the address."""
    for name, value in (("target_system", 1), ("target", 1), ("target_component", 1)):
        if hasattr(message, name) and generator.random() < 0.95:
            setattr(message, name, value)
    if hasattr(message, "mission_type") and generator.random() < 0.8:
        message.mission_type = generator.randrange(3)
    if hasattr(message, "command") and generator.random() < 0.8:
        message.command = generator.choice(
            (
                20,
                176,
                178,
                179,
                192,
                193,
                194,
                224,
                241,
                245,
                246,
                300,
                400,
                401,
                410,
                420,
                511,
                512,
            )
        )
    if hasattr(message, "count") and generator.random() < 0.7:
        message.count = generator.randrange(5)
    if hasattr(message, "seq") and generator.random() < 0.7:
        message.seq = generator.randrange(5)
    return message


@pytest.mark.parametrize("rounds", SIZES)
def test_random_bytes(rounds):
    generator = random.Random(20_240_601)
    counters = SplitCounters()
    stream = StreamSplitter(SplitCounters())
    good = mav.MAVLink_heartbeat_message(6, 8, 0, 0, 4, 3).pack(mav.MAVLink(None, 255, 190))
    found = 0
    for number in range(rounds):
        noise = generator.randbytes(generator.randrange(120))
        if number % 10 == 0:
            noise = bytes([generator.choice((0xFD, 0xFE))]) + noise
        for raw in split_datagram(noise + good, counters):
            found += raw == good
            assert codec.decode(raw) is not None
        stream.feed(noise, number)
        assert stream.pending_bytes <= codec.MAX_FRAME_BYTES
    # The good frame at the end of each datagram is lost only to a longer false start.
    assert found == rounds


@pytest.mark.parametrize(
    ("make_vehicle", "rounds"),
    [
        pytest.param(FakeVehicle, DEFAULT, id="default"),
        pytest.param(FakeVehicle, ALL, id="all", marks=pytest.mark.slow),
        pytest.param(RealVehicle, 4_000, id="real"),
        pytest.param(RealVehicle, DEFAULT, id="real-all", marks=pytest.mark.slow),
    ],
)
def test_correct_messages_with_hostile_fields(make_vehicle, rounds, caplog):
    generator = random.Random(20_240_602)
    ground = Ground(make_vehicle(), inject=lambda *_: None)
    peers = [ListPeer() for _ in range(3)]
    for peer in peers:
        ground.endpoint.attach(peer)
    writers = [mav.MAVLink(None, srcSystem=255 - n, srcComponent=190) for n in range(3)]
    settled = 0
    for number in range(rounds):
        kind = generator.choice(KINDS)
        payload = hostile_payload(kind, generator)
        raw = codec.frame(codec.Outgoing(kind.id, payload, False), number & 255, 255)
        message = codec.decode(raw)
        assert message is not None
        which = generator.randrange(3)
        try:
            raw = aimed(message, generator).pack(writers[which])
        except (TypeError, struct.error, AttributeError):
            raw = codec.frame(codec.Outgoing(kind.id, payload, False), number & 255, 255)
        ground.endpoint.receive(raw, codec.decode(raw), peers[which])
        ground.turn(sim_us=1_000, wall_us=1_000)
        if number % 500 == 0:
            for peer in peers:
                peer.frames.clear()
                peer.kept.clear()
            ground.vehicle.calls.clear()
        if number == rounds // 2:
            settled = sys.getallocatedblocks()
    grown = sys.getallocatedblocks() - settled
    assert ground.counters.handler_errors == 0, caplog.text[-3000:]
    assert ground.counters.encode_errors == 0, caplog.text[-3000:]
    assert grown < 20_000
    ground.endpoint.close()


def test_the_endpoint_still_works_after_the_storm():
    generator = random.Random(7)
    ground = Ground()
    station = ground.station()
    for number in range(2_000):
        kind = generator.choice(KINDS)
        raw = codec.frame(
            codec.Outgoing(kind.id, hostile_payload(kind, generator), False), number & 255, 255
        )
        ground.endpoint.receive(raw, codec.decode(raw), station.peer)
    ground.run(10.0)
    assert station.command(512, 148) == 0
    (value,) = station.ask(
        mav.MAVLink_param_request_read_message(1, 1, b"WP_RADIUS", -1), "PARAM_VALUE"
    )
    assert value.param_id == "WP_RADIUS"
