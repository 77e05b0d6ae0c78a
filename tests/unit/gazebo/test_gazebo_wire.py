"""The fleet's exchange on an in-process network whose sends take time."""

from pico_gz.gazebo.exchange import MAX_RETRY_S, ServoExchange
from pico_gz.gazebo.fleet_wire import FleetWire
from pico_gz.gazebo.link import VehicleLink
from pico_gz.testing.plugin_twin import PluginTwin
from pico_gz.wire.memory_network import MemoryNetwork, MemoryTransport

HOST = "127.0.0.1"
STEP_US = 10_000
PWM = (1500, 0, 1500) + (0,) * 13


class SlowSends:
    """A fleet of which every packet takes ``send_s`` to hand over."""

    def __init__(self, vehicles: int) -> None:
        self.net = MemoryNetwork()
        self.ports = [9002 + 10 * i for i in range(vehicles)]
        self.twin = PluginTwin(self.ports, network=self.net, step_us=STEP_US)
        for vehicle in self.twin._vehicles:
            vehicle.socket.on_arrival = self.twin.try_step  # type: ignore[attr-defined]
        self.wire = FleetWire(self.net.poller(), "test")
        self.send_s = 0.0
        for vehicle_id, port in enumerate(self.ports, 1):
            self._add_lane(vehicle_id, port)

    def _add_lane(self, vehicle_id: int, port: int) -> None:
        socket = self.net.bind(HOST, port + 1, peer=(HOST, port))
        exchange = ServoExchange(vehicle_id, STEP_US)
        exchange.set_pwm(PWM)
        lane = VehicleLink(exchange, lambda data: self._send(socket, data), socket)
        self.wire.lanes[vehicle_id] = lane
        self.wire.listen(vehicle_id, socket, lambda _: lane)

    def _send(self, socket: MemoryTransport, data: bytes) -> bool:
        sent = socket.send(data)
        until_s = self.net.now_s() + self.send_s
        while self.net.advance_to(until_s):
            pass
        return sent

    def retries(self) -> int:
        return sum(lane.exchange.stats.retries for lane in self.wire.lanes.values())


def test_a_fleet_that_takes_long_to_send_to_gets_long_to_answer() -> None:
    fleet = SlowSends(20)
    assert fleet.wire.handshake(10.0) == []
    fleet.send_s = 0.001
    fleet.twin.paused = True
    began_s = fleet.net.now_s()
    # 20 ms of sending: nobody is asked again before four times that, ...
    assert fleet.wire.advance(STEP_US, began_s + 0.079) == list(range(1, 21))
    assert fleet.retries() == 0
    # ... but then all are.
    fleet.wire.advance(STEP_US, began_s + 0.120)
    assert fleet.retries() >= 20


def test_a_fleet_that_is_sent_to_at_once_is_asked_again_soon() -> None:
    fleet = SlowSends(20)
    assert fleet.wire.handshake(10.0) == []
    fleet.twin.paused = True
    fleet.wire.advance(STEP_US, fleet.net.now_s() + 1.5 * MAX_RETRY_S)
    assert fleet.retries() >= 20


def test_records_are_taken_in_turn_without_asking_again() -> None:
    fleet = SlowSends(3)
    assert fleet.wire.handshake(10.0) == []
    for step in range(1, 20):
        assert fleet.wire.advance(5 * step * STEP_US, fleet.net.now_s() + 1.0) == []
    assert fleet.retries() == 0
    assert fleet.twin.steps >= 5 * 19


def test_a_world_without_imu_samples_does_not_hold_a_step_for_ever() -> None:
    fleet = SlowSends(1)
    assert fleet.wire.handshake(10.0) == []
    link = fleet.twin.link()
    link.reply = lambda *_: b""  # type: ignore[assignment,method-assign]
    assert fleet.wire.advance(STEP_US, fleet.net.now_s() + 0.2) == [1]
