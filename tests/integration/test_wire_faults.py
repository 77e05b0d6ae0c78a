"""What must survive on the wire: faults F1-F20 and F41, determinism D5, one test each.

Most run in virtual time on an in-process network, so that seconds of trouble cost nothing;
those about processes, kernels and ports run on real loopback sockets. D5 on real sockets, with
whole runs, is in ``test_wire_proxy.py``.
"""

import logging
import os
import random
import socket
import threading
import time

import pytest
from twin_process import TwinProcess
from wire_bench import FAIR, HOST, STEP_US, WireBench

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.clock import Lockstep
from pico_gz.bridge.stall import StallPolicy, StallRules
from pico_gz.core.vehicle_config import VehicleConfig
from pico_gz.errors import PortClashError, SimulatorTimeoutError
from pico_gz.gazebo.adapter import GazeboAdapter, GazeboConfig
from pico_gz.testing import ScriptedAdapter
from pico_gz.testing.autopilot_twin import AutopilotTwin
from pico_gz.testing.chaos import Chaos, ChaosRules
from pico_gz.testing.plugin_twin import PluginTwin
from pico_gz.vehicle.external.external_vehicle import ExternalVehicle
from pico_gz.vehicle.external.fdm_server import FdmServer
from pico_gz.wire.datagrams import UdpTransport
from pico_gz.wire.memory_network import MemoryNetwork
from pico_gz.wire.servo import encode_servo


def both_ways(seed: int, **rules: float) -> Chaos:
    made = ChaosRules(**rules)
    return Chaos(seed=seed, to_simulator=made, to_client=made)


def free_port_pair() -> int:
    """A port whose successor is free as well."""
    for _ in range(100):
        first = UdpTransport(HOST, 0)
        port = first.address[1]
        try:
            UdpTransport(HOST, port + 1).close()
            return port
        except (PortClashError, OverflowError):
            continue
        finally:
            first.close()
    raise AssertionError("no free ports")


def real_adapter(port: int, **settings: object) -> GazeboAdapter:
    config = GazeboConfig(sensor_port=port, actuator_port=port + 1, **settings)  # type: ignore[arg-type]
    adapter = GazeboAdapter(config)
    adapter.add_vehicle(VehicleConfig(id=1))
    return adapter


# --- the simulator ----------------------------------------------------------------------------


@pytest.mark.alone
def test_f01_simulator_killed_mid_step_stops_the_clock_and_is_told_in_2_s(
    caplog: pytest.LogCaptureFixture,
) -> None:
    port = free_port_pair()
    with TwinProcess(port) as simulator:
        adapter = real_adapter(port)
        adapter.connect()
        for _ in range(20):
            adapter.step(STEP_US)
        simulator.kill()
        before_us = adapter.sim_time_us()
        started = time.monotonic()
        with caplog.at_level(logging.WARNING), pytest.raises(SimulatorTimeoutError) as caught:
            adapter.step(STEP_US)
        assert time.monotonic() - started < 2.0
        assert caught.value.vehicle_ids == (1,)
        assert adapter.sim_time_us() == before_us
        assert adapter.is_connected()
        assert len(caplog.records) == 1
        simulator.start()
        started = time.monotonic()
        adapter.step(STEP_US)
        assert time.monotonic() - started < 1.0
        assert adapter.sim_time_us() == before_us + STEP_US
        assert adapter.wire_stats()[1].restarts == 1
        adapter.disconnect()


def test_f02_a_restart_at_time_0_is_recognised_and_time_stays_monotonic() -> None:
    bench = WireBench(3, start_time_us=60_000_000)
    bench.run(20)
    frame = bench.twin.link().frame_count
    bench.twin.stop()
    bench.settings["start_time_us"] = 0
    bench.start_world()
    before_s = bench.net.now_s()
    bench.run(5)
    assert bench.net.now_s() - before_s < 1.0
    assert bench.adapter.sim_time_us() == 25 * STEP_US
    stats = bench.adapter.wire_stats()
    assert [s.restarts for s in stats.values()] == [1, 1, 1]
    assert bench.twin.link().frame_count > frame


def test_f03_a_late_simulator_is_waited_for_and_met_in_a_second(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = WireBench()
    bench.adapter.disconnect()
    bench.twin.stop()
    late_s = bench.net.now_s() + 30.0
    wake = bench.net.bind(HOST, 60000)
    wake.on_arrival = lambda: bench.start_world()  # type: ignore[assignment, return-value]
    clock = bench.net.bind(HOST, 60001)
    bench.net._disturb = lambda a, b, d, t: [(30.0 if a[1] == 60001 else 0.0, d)]
    clock.send_to(b"now", wake.address)
    with caplog.at_level(logging.WARNING):
        bench.adapter.connect()
    assert late_s <= bench.net.now_s() <= late_s + 1.0
    assert len(caplog.records) == 3


@pytest.mark.parametrize("loss", [0.01, 0.05, 0.20])
def test_f04_loss_changes_nothing_but_the_time_it_takes(loss: float) -> None:
    expected = WireBench(3, traps=FAIR).run(100)
    lossy = WireBench(3, traps=FAIR, chaos=[both_ways(seed, loss=loss) for seed in range(3)])
    started_s = lossy.net.now_s()
    assert lossy.run(100, patience=5) == expected
    assert sum(chaos.lost for chaos in lossy.chaos) > 10
    # One rover alone must make 100 exchanges a second at 20 %; three share this world.
    assert 500 / (lossy.net.now_s() - started_s) >= 100


def test_f04_a_world_whose_plugins_wait_for_each_other_is_freed() -> None:
    """The real plugin's world: a lost reply cannot even be asked for until others go on."""
    bench = WireBench(3, chaos=[both_ways(seed, loss=0.05) for seed in range(3)])
    for step in range(1, 31):
        bench.step(patience=5)
        assert bench.adapter.sim_time_us() == step * STEP_US
    assert sum(s.nudges for s in bench.adapter.wire_stats().values()) > 0
    assert bench.timeouts == 0


@pytest.mark.parametrize(("loss", "fleet_steps_per_s"), [(0.01, 50), (0.05, 30), (0.20, 15)])
def test_f04_retry_times_suit_a_fleet_of_255(loss: float, fleet_steps_per_s: float) -> None:
    """Virtual time counts waiting only, which is what the retry time-outs decide."""
    chaos = [both_ways(seed, loss=loss) for seed in range(255)]
    bench = WireBench(255, traps=FAIR, chaos=chaos, step_us=STEP_US)
    started_s = bench.net.now_s()
    bench.run(8, patience=5)
    assert 8 / (bench.net.now_s() - started_s) >= fleet_steps_per_s


def cut_off_for(bench: WireBench, outage_s: float) -> float:
    """Let nothing pass for a while; returns when that ends."""
    bench.chaos[0].blocked = True
    opener = bench.net.bind(HOST, 60000)

    def heal() -> None:
        bench.chaos[0].blocked = False

    opener.on_arrival = heal
    inner = bench.net._disturb
    assert inner is not None
    bench.net._disturb = lambda a, b, d, t: [(outage_s, d)] if b[1] == 60000 else inner(a, b, d, t)
    opener.send_to(b"heal", opener.address)
    return bench.net.now_s() + outage_s


def test_f05_three_seconds_of_total_loss_and_on_it_goes() -> None:
    expected = WireBench().run(40)
    bench = WireBench(timeout_ms=700)
    bench.run(20)
    healed_s = cut_off_for(bench, 3.0)
    bench.step(patience=5)
    assert healed_s < bench.net.now_s() < healed_s + 1.0
    assert bench.timeouts == 4
    assert bench.adapter.sim_time_us() == 21 * STEP_US
    assert bench.run(19) == expected
    stats = bench.adapter.wire_stats()[1]
    assert (stats.restarts, stats.stalls) == (0, 1)


def test_f06_duplication_is_counted_and_ignored() -> None:
    expected = WireBench(2).run(100)
    doubled = WireBench(2, chaos=[both_ways(seed, duplicate=0.3) for seed in range(2)])
    assert doubled.run(100) == expected
    assert all(s.duplicate > 20 for s in doubled.adapter.wire_stats().values())


def test_f07_an_older_record_never_replaces_a_newer_one() -> None:
    expected = WireBench(2, traps=FAIR).run(100)
    mixed = WireBench(2, traps=FAIR, chaos=[both_ways(seed, reorder=0.25) for seed in range(2)])
    assert mixed.run(100, patience=5) == expected
    assert sum(s.old for s in mixed.adapter.wire_stats().values()) > 10
    assert all(s.restarts == 0 for s in mixed.adapter.wire_stats().values())


def test_f07_a_plugin_that_steps_on_late_packets_loses_no_step_and_no_order() -> None:
    """The real plugin takes a late packet for a new one: time must still be right."""
    bench = WireBench(1, chaos=[both_ways(1, reorder=0.25)])
    for step in range(1, 101):
        bench.step(patience=5)
        assert bench.adapter.sim_time_us() == step * STEP_US
    assert bench.twin.steps >= 500


def test_f08_a_stall_of_half_a_second_loses_no_step_and_is_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    expected = WireBench().run(30)
    bench = WireBench()
    bench.run(10)
    cut_off_for(bench, 0.5)
    with caplog.at_level(logging.WARNING):
        assert bench.run(20) == expected
    assert [r for r in caplog.records if "time stands" in r.message] == caplog.records[:1]
    assert bench.adapter.wire_stats()[1].stalls == 1


# --- what arrives -----------------------------------------------------------------------------


def test_f09_ten_thousand_garbage_datagrams_a_second(caplog: pytest.LogCaptureFixture) -> None:
    """From the simulator's own address, so that no kernel filter helps."""
    bench = WireBench()
    expected = WireBench().run(50)
    inner = bench.net._disturb
    assert inner is not None
    garbage = [os.urandom(size) for size in (1, 10, 100, 1000)] + [b"\n{}\n", b"{" * 500]

    def flood(a: tuple[str, int], b: tuple[str, int], d: bytes, t: float):  # type: ignore[no-untyped-def]
        copies = list(inner(a, b, d, t))
        return [(0.0, g) for g in garbage] + copies if a[1] == 9002 else copies

    bench.net._disturb = flood
    with caplog.at_level(logging.WARNING):
        assert bench.run(50) == expected
    assert bench.adapter.wire_stats()[1].broken == 250 * len(garbage)
    assert len(caplog.records) <= 2 + bench.net.now_s()


def test_f09_a_flood_from_a_stranger_does_not_even_arrive() -> None:
    with PluginTwin([0], step_us=2000) as twin:
        adapter = real_adapter_for(twin)
        adapter.connect()
        stop = threading.Event()
        target = (HOST, adapter.config.actuator_port)

        def flood() -> None:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
                while not stop.is_set():
                    for _ in range(20):
                        stranger.sendto(b"\n{garbage}\n", target)
                    stop.wait(0.002)

        thread = threading.Thread(target=flood)
        thread.start()
        try:
            for _ in range(50):
                adapter.step(STEP_US)
        finally:
            stop.set()
            thread.join()
        assert adapter.wire_stats()[1].broken == 0
        assert adapter.sim_time_us() == 50 * STEP_US
        adapter.disconnect()


def real_adapter_for(twin: PluginTwin) -> GazeboAdapter:
    port = twin.ports[0]
    probe = UdpTransport(HOST, 0)
    own = probe.address[1]
    probe.close()
    adapter = GazeboAdapter(GazeboConfig(sensor_port=port, actuator_port=own))
    adapter.add_vehicle(VehicleConfig(id=1))
    return adapter


@pytest.mark.parametrize(
    ("data", "counter"),
    [(b"x" * 65507, "broken"), (b"", "empty"), (b"x", "broken")],
    ids=["65507", "0", "1"],
)
def test_f10_datagrams_of_odd_sizes(data: bytes, counter: str) -> None:
    bench = WireBench()
    expected = bench.adapter.sim_time_us()
    world = bench.twin._vehicles[0].socket
    for _ in range(10):
        world.send_to(data, (HOST, 9003))
        bench.step()
        expected += STEP_US
        assert bench.adapter.sim_time_us() == expected
    assert getattr(bench.adapter.wire_stats()[1], counter) == 10


def server_bench() -> tuple[MemoryNetwork, FdmServer, list[tuple[str, str, int]]]:
    net, events = MemoryNetwork(), []
    server = FdmServer(
        [ExternalVehicle(vehicle_id=1, fdm_port=9002)],
        network=net,
        on_event=lambda *event: events.append(event),
    )
    return net, server, events


def test_f11_wrong_magic_and_mixed_forms_are_rejected_with_a_hint() -> None:
    net, server, events = server_bench()
    client = net.bind(HOST, 1)
    client.send_to(bytes(40), (HOST, 9002))
    client.send_to(encode_servo(1, 0, (1500,) * 16), (HOST, 9002))
    client.send_to(encode_servo(1, 1, (1600,) * 32), (HOST, 9002))
    while net.advance_to(1.0):
        pass
    server.service()
    assert server.stats()[1].refused == 2
    assert any("18458" in text and "29569" in text for _, text, _ in events)


GOOD = (
    b'\n{"timestamp":%s,"imu":{"gyro":[0,0,0],"accel_body":[0,0,-9.8]},"position":[1,2,3],'
    b'"quaternion":[1,0,0,0],"velocity":[0,0,0]}\n'
)
BROKEN = {
    "nan": (GOOD % b"9").replace(b"[1,2,3]", b"[NaN,2,3]"),
    "infinity": (GOOD % b"9").replace(b"[1,2,3]", b"[Infinity,2,3]"),
    "huge": (GOOD % b"9").replace(b"[1,2,3]", b"[1e308,2,3]"),
    "missing": (GOOD % b"9").replace(b'"velocity"', b'"velo"'),
    "double": (GOOD % b"9").replace(b'{"timestamp"', b'{"timestamp":8,"timestamp"'),
    "string": GOOD % b'"9"',
    "deep": b'\n{"a":' + b"[" * 10_000 + b"\n",
    "utf8": (GOOD % b"9").replace(b'{"time', b'{"\xff":1,"time'),
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN.keys())
def test_f12_a_bad_record_is_refused_whole(data: bytes, caplog: pytest.LogCaptureFixture) -> None:
    bench = WireBench()
    bench.run(3)
    world = bench.twin._vehicles[0].socket
    truth = bench.adapter.receive_truth()
    with caplog.at_level(logging.WARNING):
        for _ in range(6):
            world.send_to(data, (HOST, 9003))
            while bench.net.advance_to(bench.net.now_s() + 1.1):
                pass
            wire = bench.adapter._wire
            assert wire is not None
            wire._receive(0.0)
    assert bench.adapter.receive_truth() == truth
    assert bench.adapter.wire_stats()[1].broken == 6
    assert any("sensor data invalid" in r.message for r in caplog.records)
    bench.step()
    assert bench.adapter.sim_time_us() == 4 * STEP_US


@pytest.mark.parametrize(
    ("shift_us", "counter"), [(-1, "old"), (0, "duplicate"), (10_000_000, "gaps")]
)
def test_f13_odd_timestamps(shift_us: int, counter: str, caplog: pytest.LogCaptureFixture) -> None:
    bench = WireBench()
    bench.run(3)
    now_us = bench.twin.time_us + shift_us
    world = bench.twin._vehicles[0].socket
    world.send_to(GOOD % f"{now_us / 1e6:.6f}".encode(), (HOST, 9003))
    with caplog.at_level(logging.WARNING):
        if counter == "gaps":
            bench.twin.time_us = now_us
        bench.run(3)
    assert getattr(bench.adapter.wire_stats()[1], counter) == 1
    assert bench.adapter.sim_time_us() == 6 * STEP_US
    assert any("gap" in r.message for r in caplog.records) is (counter == "gaps")


def test_f14_a_spoofed_source_reaches_neither_side() -> None:
    bench = WireBench()
    bench.run(3)
    stranger = bench.net.bind(HOST, 6666)
    stranger.send_to(GOOD % b"99", (HOST, 9003))
    bench.run(3)
    assert bench.adapter.wire_stats()[1].gaps == 0
    net, server, _ = server_bench()
    owner, intruder = net.bind(HOST, 1), net.bind(HOST, 2)
    owner.send_to(encode_servo(1, 5, (1500,) * 16), (HOST, 9002))
    intruder.send_to(bytes(40), (HOST, 9002))
    while net.advance_to(1.0):
        pass
    server.service()
    assert server._served[1].connection.peer == owner.address


@pytest.mark.alone
def test_f15_a_port_in_use_names_port_vehicle_and_owner_at_once() -> None:
    holder = UdpTransport(HOST, 0)
    port = holder.address[1]
    started = time.monotonic()
    with pytest.raises(PortClashError) as caught:
        FdmServer([ExternalVehicle(vehicle_id=4, fdm_port=port)])
    assert time.monotonic() - started < 1.0
    for part in ("Vehicle 4", str(port), f"pid {os.getpid()}"):
        assert part in caught.value.message
    holder.close()


# --- the autopilots ---------------------------------------------------------------------------


class FleetOfAutopilots:
    """A bridge with n external vehicles and their autopilots, all in virtual time."""

    def __init__(self, vehicles: int, policy: StallPolicy = StallPolicy.NEUTRAL) -> None:
        self.net = MemoryNetwork()
        self.events: list[tuple[str, str, int]] = []
        ids = range(1, vehicles + 1)
        self.server = FdmServer(
            [ExternalVehicle(vehicle_id=i, fdm_port=9002 + 10 * (i - 1)) for i in ids],
            network=self.net,
            on_event=lambda *event: self.events.append(event),
        )
        self.bridge = SitlBridge(
            Lockstep(STEP_US),
            stall=StallRules(warn_ms=500, timeout_ms=2000, policy=policy),
            clock=self.net.now_s,
        )
        self.bridge.register_adapter(ScriptedAdapter())
        for i in ids:
            self.bridge.spawn_vehicle(VehicleConfig(id=i), external=True)
        self.bridge.add_autopilots(self.server)
        self.twins: dict[int, AutopilotTwin] = {}
        for i in ids:
            self.start_autopilot(i)
        self.settle()

    def start_autopilot(self, vehicle_id: int) -> None:
        def pilot(time_s: float, _: object) -> tuple[int, ...]:
            return (1500 + vehicle_id, 0, 1500 + vehicle_id) + (0,) * 13

        twin = AutopilotTwin((HOST, 9002 + 10 * (vehicle_id - 1)), pilot, network=self.net)
        self.twins[vehicle_id] = twin
        self.wake(vehicle_id)
        twin.send(self.net.now_s())

    def wake(self, vehicle_id: int) -> None:
        twin = self.twins[vehicle_id]
        twin.socket.on_arrival = lambda: twin.read(self.net.now_s())  # type: ignore[attr-defined]

    def stop_reading(self, vehicle_id: int) -> None:
        self.twins[vehicle_id].socket.on_arrival = None  # type: ignore[attr-defined]

    def settle(self) -> None:
        while self.net.advance_to(self.net.now_s() + 0.01):
            pass

    def motors(self, vehicle_id: int) -> tuple[float, ...]:
        return self.bridge.view.commands[vehicle_id].motors


def test_f16_one_of_ten_autopilots_killed_and_nine_miss_no_step() -> None:
    fleet = FleetOfAutopilots(10)
    fleet.bridge.step(20)
    fleet.stop_reading(4)
    before_s = fleet.net.now_s()
    fleet.bridge.step(50)
    assert 1.9 < fleet.net.now_s() - before_s < 2.5
    for vehicle_id, twin in fleet.twins.items():
        if vehicle_id != 4:
            assert twin.core.accepted == pytest.approx(70, abs=1)
            assert fleet.server.stats()[vehicle_id].missed == 0
            assert fleet.motors(vehicle_id)[0] == pytest.approx(0.002 * vehicle_id)
    assert fleet.motors(4) == (0.0, 0.0)
    assert [e.kind for e in fleet.bridge.events.recent].count("stall") == 1
    assert fleet.bridge.view.time_us == 70 * STEP_US


def test_f17_a_stopped_autopilot_rejoins_without_a_restart() -> None:
    fleet = FleetOfAutopilots(3)
    fleet.bridge.step(10)
    fleet.stop_reading(2)
    fleet.bridge.step(10)
    fleet.net.advance_to(fleet.net.now_s() + 5.0)
    fleet.wake(2)
    fleet.twins[2].read(fleet.net.now_s())
    before_s = fleet.net.now_s()
    fleet.settle()
    fleet.bridge.step(10)
    assert fleet.net.now_s() - before_s < 1.0
    assert "rejoin" in [e.kind for e in fleet.bridge.events.recent]
    assert fleet.server.stats()[2].restarts == 0
    assert fleet.motors(2)[0] == pytest.approx(0.004)
    assert fleet.twins[2].core.time_s == pytest.approx(fleet.twins[1].core.time_s, abs=0.02)


def test_f18_a_late_autopilot_slows_the_fleet_and_is_named_now_and_then() -> None:
    fleet = FleetOfAutopilots(3)
    fleet.bridge.step(5)
    late_port = fleet.twins[3].socket.address[1]
    fleet.net._disturb = lambda a, b, d, t: [(0.05 if a[1] == late_port else 0.0, d)]
    before_s = fleet.net.now_s()
    fleet.bridge.step(300)
    lasted_s = fleet.net.now_s() - before_s
    assert 14.0 < lasted_s < 17.0
    named = [text for kind, text, _ in fleet.events if kind == "slow"]
    assert len(named) == 2
    assert all("Vehicle 3" in text for text in named)
    assert all(stats.missed == 0 for stats in fleet.server.stats().values())
    assert not [e for e in fleet.bridge.events.recent if e.kind == "stall"]


def test_f19_a_restarted_autopilot_is_a_new_connection_in_neutral() -> None:
    fleet = FleetOfAutopilots(2)
    fleet.bridge.step(20)
    assert fleet.motors(1)[0] > 0.0
    fleet.twins[1].close()
    fleet.start_autopilot(1)
    fleet.settle()
    fleet.bridge.step(1)
    assert fleet.motors(1) == (0.0, 0.0)
    fleet.bridge.step(5)
    assert fleet.motors(1)[0] > 0.0
    assert fleet.server.stats()[1].restarts == 1
    assert "restarted" in [kind for kind, _, _ in fleet.events]


@pytest.mark.parametrize(
    ("pwm", "expected"),
    [(0, 0.0), (1, 0.0), (799, 0.0), (800, -1.0), (999, -1.0), (1000, -1.0), (1500, 0.0),
     (2000, 1.0), (2001, 1.0), (2200, 1.0), (2201, 0.0), (65535, 0.0)],
)  # fmt: skip
def test_f20_odd_pulse_widths(pwm: int, expected: float) -> None:
    net, server, _ = server_bench()
    client = net.bind(HOST, 1)
    for frame, value in enumerate((1500, 1500, pwm)):
        client.send_to(encode_servo(1, frame, (value,) * 16), (HOST, 9002))
        while net.advance_to(net.now_s() + 0.01):
            pass
        commands = server.collect(0.0)
    assert commands[1].motors == (expected, expected)


# --- all of it --------------------------------------------------------------------------------


def test_f41_swizzle_clog_heals_within_two_seconds() -> None:
    """Random subsets are cut off, one after the other, then healed in another order."""
    for seed in range(100):
        dice = random.Random(seed)
        bench = WireBench(4, timeout_ms=100)
        for _ in range(6):
            for chaos in bench.chaos:
                chaos.blocked = dice.random() < 0.4
            for _ in range(dice.randrange(1, 4)):
                try:
                    bench.adapter.step(STEP_US)
                except SimulatorTimeoutError:
                    bench.timeouts += 1
        for chaos in dice.sample(bench.chaos, 4):
            chaos.blocked = False
        healed_s = bench.net.now_s()
        bench.step(patience=20)
        assert bench.net.now_s() - healed_s < 2.0, f"seed {seed}"
        truth = bench.adapter.receive_truth()
        assert len({t.timestamp_us for t in truth.values()}) == 1, f"seed {seed}"
        wire = bench.adapter._wire
        assert wire is not None
        times = [lane.exchange.clock.wire_us for lane in wire.lanes.values()]
        assert max(times) - min(times) <= 2000, f"seed {seed}"


@pytest.mark.parametrize("seed", range(3))
def test_d05_a_lossy_transport_gives_the_bits_of_a_perfect_one(seed: int) -> None:
    expected = WireBench(3, traps=FAIR).run(60)
    chaos = [both_ways(100 * seed + i, loss=0.1, duplicate=0.2, reorder=0.1) for i in range(3)]
    bench = WireBench(3, traps=FAIR, chaos=chaos)
    assert bench.run(60, patience=20) == expected
