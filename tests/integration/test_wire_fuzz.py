"""Fuzzed datagrams on both ends of the wire: nothing is raised, nothing grows, nothing stops."""

import gc
import random
import sys
from collections.abc import Iterator

import pytest
from wire_bench import HOST, STEP_US, WireBench

from pico_gz.codecs.ardupilot_servo import encode_servo
from pico_gz.codecs.pico_json import decode_actuators, decode_sensors
from pico_gz.errors import DecodeError
from pico_gz.fdm.server import FdmServer
from pico_gz.fdm.vehicle import ExternalVehicle
from pico_gz.testing.fdm_rig import FdmRig
from pico_gz.transports.memory import MemoryNetwork

SIZES = [
    pytest.param(20_000, id="20k"),
    pytest.param(1_000_000, id="1M", marks=[pytest.mark.slow, pytest.mark.timeout(1800)]),
]
BATCH = 50
RECORD = (
    b'\n{"timestamp":12.345,"imu":{"gyro":[0.1,0.2,0.3],"accel_body":[0,0,-9.8]},'
    b'"position":[1,2,-0.2],"quaternion":[1,0,0,0],"velocity":[0.1,0.2,0],"rng_1":2.5,'
    b'"no_time_sync":true}\n'
)
PICO = (
    b'{"version":1,"vehicle_id":1,"timestamp":20000,"imu":{"linear_acceleration":[0,0,-9.81],'
    b'"angular_velocity":[0,0,0]},"gps":{"lat":1.0,"lon":2.0,"alt":3.0,"speed":0,"course":0}}'
)
TOKENS = [
    b"NaN", b"-Infinity", b"1e999", b"null", b"{", b"}", b"[", b"]", b'"', b":", b",", b"\0",
    b"\n", b"\xff\xfe", b'"timestamp"', b'"position"', b"-", b"1e308", b"99999999999999999999",
]  # fmt: skip


def mutants(seed: int, parents: list[bytes]) -> Iterator[bytes]:
    """Endless datagrams: noise, and valid ones that were cut, joined, flipped and stuffed."""
    dice = random.Random(seed)
    while True:
        kind = dice.randrange(6)
        data = bytearray(dice.choice(parents))
        if kind == 0:
            yield dice.randbytes(dice.randrange(0, 200))
            continue
        if kind == 1:
            del data[dice.randrange(len(data)) :]
        elif kind == 2:
            for _ in range(dice.randrange(1, 5)):
                data[dice.randrange(len(data))] = dice.randrange(256)
        elif kind == 3:
            at = dice.randrange(len(data))
            data[at:at] = dice.choice(TOKENS) * dice.randrange(1, 40)
        elif kind == 4:
            at = dice.randrange(len(data))
            data[at : at + dice.randrange(1, 30)] = dice.choice(TOKENS)
        else:
            data += dice.choice(parents)
        yield bytes(data)


@pytest.mark.parametrize("count", SIZES)
def test_fuzzed_records_reach_the_client(count: int) -> None:
    bench = WireBench()
    bench.run(3)
    world = bench.twin._vehicles[0].socket
    source = mutants(1, [RECORD])
    steps = 3
    grown = GrowthWatch()
    for done in range(0, count, BATCH):
        for _ in range(BATCH):
            world.send_to(next(source), (HOST, 9003))
        # The world's time follows a record that was taken for real, as a jump of its clock.
        while bench.net.advance_to(bench.net.now_s()):
            pass
        bench.twin.time_us = max(bench.twin.time_us, wire_time_us(bench))
        bench.adapter.step(STEP_US)
        steps += 1
        assert bench.adapter.sim_time_us() == steps * STEP_US
        grown.look(done)
    stats = bench.adapter.wire_stats()[1]
    assert stats.broken > count // 4
    grown.check()


def wire_time_us(bench: WireBench) -> int:
    wire = bench.adapter._wire
    assert wire is not None
    wire._receive(0.0)
    clock = wire.lanes[1].exchange.clock
    # Records in a row that jump about are this test's doing, not another physics step.
    clock.odd_steps = 0
    return clock.wire_us


@pytest.mark.parametrize("count", SIZES)
def test_fuzzed_packets_reach_the_server(count: int) -> None:
    net = MemoryNetwork()
    server = FdmServer([ExternalVehicle(vehicle_id=1, fdm_port=9002)], network=net)
    rig = FdmRig(server, step_us=STEP_US)
    client = net.bind(HOST, 40000)
    parents = [encode_servo(1200, 5, (1500,) * 16), encode_servo(1200, 6, (1600,) * 32)]
    source = mutants(2, parents)
    grown = GrowthWatch()
    for done in range(0, count, BATCH):
        for _ in range(BATCH):
            client.send_to(next(source), (HOST, 9002))
        while net.advance_to(net.now_s() + 0.001):
            pass
        rig.step(0.0)
        while client.receive() is not None:
            pass
        for command in rig.commands.values():
            assert all(-1.0 <= value <= 1.0 for value in command.motors)
        grown.look(done)
    assert server.stats()[1].refused > count // 4
    assert rig.steps == count // BATCH
    grown.check()


@pytest.mark.parametrize("count", SIZES)
def test_fuzzed_pico_json(count: int) -> None:
    source = mutants(3, [PICO, b'{"timestamp":1,"motors":[1500,1500]}'])
    refused = 0
    for _ in range(count):
        data = next(source)
        for decode in (decode_sensors, decode_actuators):
            try:
                decode(data)
            except DecodeError:
                refused += 1
    assert refused > count


class GrowthWatch:
    """Looks whether objects pile up between the beginning and the end."""

    def __init__(self) -> None:
        self._begin_blocks = 0

    def look(self, done: int) -> None:
        if not self._begin_blocks and done >= 5000:
            self._begin_blocks = self._count()

    def check(self) -> None:
        assert self._begin_blocks > 0
        assert self._count() - self._begin_blocks < 2000

    @staticmethod
    def _count() -> int:
        gc.collect()
        return sys.getallocatedblocks()
