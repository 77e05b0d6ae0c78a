"""Fuzzed datagrams on both ends of the wire: nothing is raised, nothing grows, nothing stops."""

import gc
import logging
import random
import sys
from collections.abc import Callable, Iterator

import pytest
from fdm_rig import FdmRig
from wire_bench import HOST, STEP_US, WireBench

from pico_gz.core.vehicle_config import VehicleConfig
from pico_gz.errors import DecodeError
from pico_gz.gazebo.adapter import GazeboAdapter, GazeboConfig
from pico_gz.gazebo.exchange import WireClock
from pico_gz.vehicle.external.external_vehicle import ExternalVehicle
from pico_gz.vehicle.external.fdm_server import FdmServer
from pico_gz.wire.datagrams import Address
from pico_gz.wire.memory_network import MemoryNetwork
from pico_gz.wire.pico_json import decode_actuators
from pico_gz.wire.servo import encode_servo

SIZES = [
    pytest.param(20_000, id="20k"),
    pytest.param(1_000_000, id="1M", marks=[pytest.mark.slow, pytest.mark.timeout(1800)]),
]
BATCH = 50
RECORD = (
    b'\n{"timestamp":%.6f,"imu":{"gyro":[0.1,0.2,0.3],"accel_body":[0,0,-9.8]},'
    b'"position":[1,2,-0.2],"quaternion":[1,0,0,0],"velocity":[0.1,0.2,0],"rng_1":2.5,'
    b'"no_time_sync":true}\n'
)
PICO = (
    b'{"version":1,"vehicle_id":1,"timestamp":%d,"imu":{"linear_acceleration":[0,0,-9.81],'
    b'"angular_velocity":[0,0,0]},"gps":{"lat":1.0,"lon":2.0,"alt":3.0,"speed":0,"course":0}}'
)
# How much later than the last one a mutant's parent is [us]: the physics step, others, a little of
# everything, a jump of the simulator's clock.
LATER_US = (-2000, 0, 1, 500, 2000, 2000, 4999, 5000, 5001, 20_000) * 10 + (2_000_000,)
RecordAt = Callable[[int], bytes]
Way = tuple[Address, Address]
TOKENS = [
    b"NaN", b"-Infinity", b"1e999", b"null", b"{", b"}", b"[", b"]", b'"', b":", b",", b"\0",
    b"\n", b"\xff\xfe", b'"timestamp"', b'"position"', b"-", b"1e308", b"99999999999999999999",
]  # fmt: skip


def mutants(seed: int, parents: list[bytes]) -> Iterator[bytes]:
    """Endless datagrams: noise, and valid ones, whole, cut, joined, flipped and stuffed."""
    dice = random.Random(seed)
    while True:
        kind = dice.randrange(7)
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
        elif kind == 5:
            data += dice.choice(parents)
        yield bytes(data)


@pytest.fixture(autouse=True)
def log_lines_are_not_kept() -> Iterator[None]:
    """pytest keeps every line for its report, which would look like growth.

    It also listens at loggers that do not propagate.
    """
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def wire_clock(adapter: GazeboAdapter) -> WireClock:
    wire = adapter._wire
    assert wire is not None
    return wire.lanes[1].exchange.clock


def fuzz(
    adapter: GazeboAdapter, net: MemoryNetwork, way: Way, record: RecordAt, seed: int, count: int
) -> "GrowthWatch":
    """Step an adapter while somebody sends mutants of records of all times; it must not care."""
    clock = wire_clock(adapter)
    dice = random.Random(seed)
    parents: list[bytes] = []
    source = mutants(seed, parents)
    grown = GrowthWatch()
    for done in range(0, count, BATCH):
        time_us = max(0, clock.wire_us)
        for _ in range(BATCH):
            time_us += dice.choice(LATER_US)
            parents[:] = [record(12_345_000), record(time_us), record(time_us)]
            net.carry(*way, next(source))
        step_on(adapter)
        if done % 5000 == 0:
            read_the_rest(adapter, net)
            grown.look(done)
    read_the_rest(adapter, net)
    return grown


def step_on(adapter: GazeboAdapter) -> None:
    """One step to where no record has been: those of a later time count as time that passed."""
    ahead_us = max(0, wire_clock(adapter).time_us - adapter.sim_time_us())
    target_us = adapter.sim_time_us() + (ahead_us // STEP_US + 1) * STEP_US
    adapter.step(target_us - adapter.sim_time_us())
    assert adapter.sim_time_us() == target_us


def read_the_rest(adapter: GazeboAdapter, net: MemoryNetwork) -> None:
    """Step while nobody disturbs, until what was sent before has been read."""
    for _ in range(2000):
        step_on(adapter)
        if not net._in_flight:
            return
    raise AssertionError("the wire does not come to rest")


@pytest.mark.parametrize("count", SIZES)
def test_fuzzed_records_reach_the_client(count: int) -> None:
    """They come from the simulator's own address, and many are good records of a wrong time."""
    bench = WireBench()
    bench.run(3)
    grown = fuzz(
        bench.adapter,
        bench.net,
        ((HOST, 9002), (HOST, 9003)),
        lambda time_us: RECORD % (time_us / 1e6),
        seed=1,
        count=count,
    )
    stats = bench.adapter.wire_stats()[1]
    assert stats.broken > count // 4
    assert stats.accepted > count // 40
    assert min(stats.empty, stats.duplicate, stats.old, stats.gaps, stats.restarts) > 0
    grown.check()
    come_back(bench)


def come_back(bench: WireBench) -> None:
    """When the wire is good again, what is told is the truth again."""
    bench.run(50)
    truth, rover = bench.adapter.receive_truth()[1], bench.twin.rover()
    assert (truth.north_m, truth.east_m) == pytest.approx(rover.position_ned_m[:2], abs=1e-9)


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


class PicoSimulator:
    """The least simulator of the kit's own dialect: one actuator packet, one record."""

    def __init__(self, net: MemoryNetwork, *, shared: bool) -> None:
        self.time_us = 0
        self.socket = net.bind(HOST, 9003)
        self.socket.on_arrival = self._step
        config = GazeboConfig(ardupilot_compat=False, shared_socket=shared)
        self.adapter = GazeboAdapter(config, network=net)
        self.adapter.add_vehicle(VehicleConfig(id=1))
        self.adapter.connect()

    def _step(self) -> None:
        while (item := self.socket.receive()) is not None:
            decode_actuators(item[0])
            self.time_us += 2000
            self.socket.send_to(PICO % self.time_us, item[1])


@pytest.mark.parametrize("shared", [False, True], ids=["own_socket", "shared_socket"])
@pytest.mark.parametrize("count", SIZES)
def test_fuzzed_pico_json_reaches_the_client(count: int, shared: bool) -> None:
    net = MemoryNetwork()
    simulator = PicoSimulator(net, shared=shared)
    grown = fuzz(
        simulator.adapter,
        net,
        ((HOST, 9003), (HOST, 9002)),
        lambda time_us: PICO % time_us,
        seed=3,
        count=count,
    )
    stats = simulator.adapter.wire_stats()[1]
    # On a shared socket what names no vehicle reaches none.
    assert stats.broken > count // (20 if shared else 4)
    assert stats.accepted > count // 40
    assert min(stats.duplicate, stats.old, stats.gaps, stats.restarts) > 0
    grown.check()


@pytest.mark.parametrize("count", SIZES)
def test_fuzzed_pico_json_actuators(count: int) -> None:
    """The other half of the dialect, for those who write a simulator with it."""
    source = mutants(4, [b'{"version":1,"vehicle_id":1,"timestamp":1,"motors":[1500,1500]}'])
    refused = 0
    for _ in range(count):
        try:
            decode_actuators(next(source))
        except DecodeError:
            refused += 1
    assert refused > count // 2


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
