"""The server on an in-process network."""

import math

import msgspec
import pytest
from fdm_rig import FdmRig

from pico_gz.core.messages import SensorData
from pico_gz.errors import ConfigError, PortClashError, UnknownVehicleError
from pico_gz.testing.autopilot_twin import AutopilotTwin
from pico_gz.testing.twin_rover import level_truth
from pico_gz.vehicle.external.external_vehicle import ExternalVehicle
from pico_gz.vehicle.external.fdm_server import FdmServer
from pico_gz.wire.memory_network import MemoryNetwork
from pico_gz.wire.servo import encode_servo
from pico_gz.wire.state import decode_state

HOST = "127.0.0.1"


def servo(frame: int, left: int = 1500, right: int = 1500) -> bytes:
    return encode_servo(1200, frame, (left, 0, right) + (0,) * 13)


class Bench:
    """A server with n vehicles and one raw client per vehicle."""

    def __init__(self, vehicles: int = 1, **settings: object) -> None:
        self.net = MemoryNetwork()
        self.events: list[tuple[str, str, int]] = []
        self.server = FdmServer(
            [ExternalVehicle(vehicle_id=i + 1, fdm_port=9002 + 10 * i) for i in range(vehicles)],
            network=self.net,
            on_event=lambda *event: self.events.append(event),
            **settings,  # type: ignore[arg-type]
        )
        self.clients = [self.net.bind(HOST, 40001 + i) for i in range(vehicles)]

    def send(self, data: bytes, index: int = 0) -> None:
        self.clients[index].send_to(data, (HOST, 9002 + 10 * index))
        self.deliver()

    def deliver(self) -> None:
        until = self.net.now_s() + 0.001
        while self.net.advance_to(until):
            pass

    def hand_over(self, time_us: int) -> None:
        ids = self.server.vehicle_ids()
        self.server.hand_over({}, {i: level_truth(i, time_us) for i in ids}, time_us)

    def replies(self, index: int = 0) -> list[bytes]:
        self.deliver()
        found = []
        while (item := self.clients[index].receive()) is not None:
            found.append(item[0])
        return found


def test_nobody_connected_nobody_waited_for_nothing_sent() -> None:
    bench = Bench()
    bench.hand_over(10_000)
    assert bench.server.unanswered() == ()
    assert bench.server.collect(5.0) == {}
    assert bench.net.now_s() < 0.1
    assert bench.replies() == []


def test_one_packet_one_step() -> None:
    bench = Bench()
    bench.send(servo(0))
    assert bench.server.collect(0.0)[1].motors == (0.0, 0.0)
    for step in range(1, 20):
        bench.hand_over(10_000 * step)
        (reply,) = bench.replies()
        assert decode_state(reply).timestamp_s == pytest.approx(0.01 * step)
        assert bench.server.unanswered() == (1,)
        bench.send(servo(step, 1600, 1400))
        assert bench.server.collect(1.0)[1].motors == (0.2, -0.2)
        assert bench.server.unanswered() == ()


def test_without_a_new_frame_no_new_record() -> None:
    bench = Bench()
    bench.send(servo(0))
    bench.server.collect(0.0)
    for step in range(1, 5):
        bench.hand_over(10_000 * step)
    assert len(bench.replies()) == 1


def test_a_repeat_gets_the_same_bytes_and_is_no_command() -> None:
    bench = Bench()
    bench.send(servo(0))
    bench.server.collect(0.0)
    bench.hand_over(10_000)
    first = bench.replies()
    bench.send(servo(0, 2000, 2000))
    assert bench.server.collect(0.0) == {}
    assert bench.replies() == first
    assert bench.server.unanswered() == (1,)


def test_a_repeat_of_a_frame_that_is_owed_its_record_gets_that_record_only() -> None:
    """A starved server finds the frame and its repeat together."""
    bench = Bench()
    bench.send(servo(0))
    bench.server.collect(0.0)
    bench.hand_over(1000)
    assert len(bench.replies()) == 1
    bench.send(servo(1))
    bench.send(servo(1))
    assert set(bench.server.collect(0.1)) == {1}
    assert bench.replies() == []
    bench.hand_over(2000)
    assert [decode_state(data).timestamp_s for data in bench.replies()] == [0.002]


def test_a_repeat_before_any_state_is_not_answered() -> None:
    bench = Bench()
    bench.send(servo(0))
    bench.send(servo(0))
    bench.server.service()
    assert bench.replies() == []


def test_paused_repeats_keep_the_autopilot_alive() -> None:
    bench = Bench()
    bench.hand_over(0)
    bench.send(servo(0))
    bench.server.service()
    assert bench.replies() == []
    bench.send(servo(0))
    bench.server.service()
    assert len(bench.replies()) == 1


def test_collect_waits_for_all_and_not_longer_than_told() -> None:
    bench = Bench(3)
    for i in range(3):
        bench.send(servo(0), i)
    bench.server.collect(0.0)
    bench.hand_over(10_000)
    bench.send(servo(1), 0)
    bench.send(servo(1), 2)
    before = bench.net.now_s()
    assert sorted(bench.server.collect(2.0)) == [1, 3]
    assert bench.net.now_s() - before == pytest.approx(2.0, abs=0.01)
    assert bench.server.unanswered() == (2,)
    before = bench.net.now_s()
    assert bench.server.collect(2.0, ()) == {}
    assert bench.net.now_s() == before
    bench.send(servo(1), 1)
    assert sorted(bench.server.collect(2.0)) == [2]


def test_wait_for_all_also_waits_for_the_never_connected() -> None:
    bench = Bench(2, wait_for_all=True)
    bench.hand_over(0)
    assert bench.server.unanswered() == (1, 2)


def test_a_stalled_one_rejoins_with_the_newest_state() -> None:
    bench = Bench()
    bench.send(servo(0))
    bench.server.collect(0.0)
    for step in range(1, 100):
        bench.hand_over(10_000 * step)
    bench.replies()
    bench.send(servo(1))
    assert 1 in bench.server.collect(0.0)
    bench.hand_over(1_000_000)
    (reply,) = bench.replies()
    assert decode_state(reply).timestamp_s == 1.0


def test_free_running_sends_every_state_and_goes_neutral_on_silence() -> None:
    bench = Bench(lockstep=False)
    bench.send(servo(0))
    bench.server.collect(0.0)
    bench.send(servo(1, 2000, 2000))
    assert bench.server.collect(0.0)[1].motors == (1.0, 1.0)
    for step in range(1, 4):
        bench.hand_over(10_000 * step)
    assert len(bench.replies()) == 3
    assert bench.server.unanswered() == ()
    bench.net.advance_to(bench.net.now_s() + 1.0)
    assert bench.server.collect(0.0)[1].motors == (0.0, 0.0)
    assert bench.server.collect(0.0) == {}
    bench.hand_over(50_000)
    assert bench.replies() == []
    assert [kind for kind, _, _ in bench.events] == ["connected", "silent"]


def test_ports_are_exclusive_and_the_clash_is_named() -> None:
    net = MemoryNetwork()
    net.bind(HOST, 9012)
    vehicles = [ExternalVehicle(vehicle_id=i, fdm_port=9002 + 10 * (i - 1)) for i in (1, 2)]
    with pytest.raises(PortClashError, match=r"Vehicle 2.*9012"):
        FdmServer(vehicles, network=net)
    net.bind(HOST, 9002)


def test_vehicles_come_and_go() -> None:
    bench = Bench()
    bench.server.add_vehicle(ExternalVehicle(vehicle_id=7, fdm_port=9102))
    assert bench.server.vehicle_ids() == (1, 7)
    with pytest.raises(ConfigError):
        bench.server.add_vehicle(ExternalVehicle(vehicle_id=7, fdm_port=9112))
    bench.server.remove_vehicle(7)
    with pytest.raises(UnknownVehicleError):
        bench.server.port(7)
    bench.net.bind(HOST, 9102)
    bench.server.close()
    bench.server.close()


def test_ten_autopilot_twins_in_lockstep_with_a_rig() -> None:
    net = MemoryNetwork()
    vehicles = [ExternalVehicle(vehicle_id=i, fdm_port=9002 + 10 * (i - 1)) for i in range(1, 11)]
    rig = FdmRig(FdmServer(vehicles, network=net), step_us=10_000)

    def drive(speed: int):  # type: ignore[no-untyped-def]
        return lambda time_s, values: (1500 + speed, 0, 1500 + speed) + (0,) * 13

    twins = [
        AutopilotTwin((HOST, v.fdm_port), drive(10 * v.vehicle_id), network=net) for v in vehicles
    ]
    for twin in twins:
        twin.socket.on_arrival = lambda t=twin: t.read(net.now_s())  # type: ignore[attr-defined, misc]
        twin.send(0.0)
    while net.advance_to(0.01):
        pass
    rig.collect(0.0)
    for _ in range(100):
        assert rig.step()
    for vehicle_id, twin in enumerate(twins, 1):
        assert twin.core.accepted == 100
        assert rig.commands[vehicle_id].motors == pytest.approx((0.02 * vehicle_id,) * 2)
        assert rig.server.stats()[vehicle_id].missed == 0


def test_a_state_that_cannot_be_written_is_told_and_not_sent() -> None:

    bench = Bench()
    bench.send(servo(0))
    bench.server.collect(0.0)
    broken = msgspec.structs.replace(level_truth(), north_m=math.nan)
    bench.server.hand_over({}, {1: broken}, 10_000)
    assert bench.replies() == []
    assert bench.events[-1][0] == "record"


def test_refused_datagrams_are_told_with_both_magics() -> None:
    bench = Bench()
    for _ in range(100):
        bench.send(bytes(40))
    bench.server.service()
    told = [text for kind, text, _ in bench.events if kind == "refused"]
    assert len(told) == 1
    assert "18458" in told[0]
    assert "29569" in told[0]


def test_a_simulator_that_tells_no_truth_is_told_once_per_vehicle() -> None:
    bench = Bench(2)
    bench.send(servo(0))
    bench.server.hand_over({}, {}, 0)
    assert [kind for kind, _, _ in bench.events if kind == "no_truth"] == []
    seen = {i: SensorData(timestamp_us=0, vehicle_id=i) for i in (1, 2)}
    for step in range(1, 50):
        bench.server.hand_over(seen, {}, 10_000 * step)
    told = [(vehicle_id, text) for kind, text, vehicle_id in bench.events if kind == "no_truth"]
    assert [vehicle_id for vehicle_id, _ in told] == [1, 2]
    assert "no records" in told[0][1]
