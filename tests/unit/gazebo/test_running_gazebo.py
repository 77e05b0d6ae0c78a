"""Whose ports may be driven on."""

import threading

import pytest

from pico_gz.core.ports import PortProblem, PortRole, PortUse
from pico_gz.errors import PortClashError
from pico_gz.gazebo.install import HOST, require_gazebo
from pico_gz.testing.plugin_twin import PluginTwin
from pico_gz.wire.memory_network import MemoryNetwork
from pico_gz.wire.servo import encode_servo

PORTS = (9002, 9012)


def held(port, owner):
    use = PortUse(protocol="udp", port=port, host=HOST, role=PortRole.BIND,
                  purpose="Gazebo plugin", owner="rover", vehicle_id=1)  # fmt: skip
    return PortProblem(use, f"is in use by {owner}")


def require(network, owner, ports=PORTS):
    require_gazebo([held(port, owner) for port in ports], owner=lambda *_: owner, network=network)


class Listener:
    """Somebody on a port who answers each datagram with ``answer(data)``."""

    def __init__(self, network, port, answer):
        self.heard = 0
        self._socket = network.bind(HOST, port)
        self._socket.on_arrival = self._take
        self._answer = answer

    def _take(self):
        while (item := self._socket.receive()) is not None:
            self.heard += 1
            reply = self._answer(item[0])
            if reply is not None:
                self._socket.send_to(reply, item[1])


@pytest.mark.parametrize("owner", ["ruby (pid 7)", "gz sim server (pid 7)", "gz (pid 7)", ""])
def test_gazebo_and_who_cannot_be_seen_are_left_in_peace(owner):
    """A paused Gazebo does not answer, and is one all the same."""
    network = MemoryNetwork()
    listeners = [Listener(network, port, lambda data: None) for port in PORTS]
    require(network, owner)
    assert [listener.heard for listener in listeners] == [0, 0]


@pytest.mark.parametrize(
    "answer",
    [lambda data: None, lambda data: data, lambda data: b"hello", lambda data: b'{"mode": 1}'],
    ids=["silence", "echo", "text", "json"],
)
def test_any_other_program_is_refused_by_name(answer):
    network = MemoryNetwork()
    listener = Listener(network, 9002, answer)
    with pytest.raises(PortClashError, match=r"python3 \(pid 7\). It does not answer") as caught:
        require(network, "python3 (pid 7)", ports=(9002,))
    assert "--port-offset auto" in caught.value.hint
    assert listener.heard > 2
    assert network.now_s() < 5.0


def test_only_the_program_that_does_not_answer_is_named():
    network = MemoryNetwork()
    Listener(network, 9002, lambda data: b'\n{"timestamp":1.0,"imu":{}}\n')
    Listener(network, 9012, lambda data: None)
    owners = {9002: "socat (pid 7)", 9012: "socat (pid 8)"}
    with pytest.raises(PortClashError) as caught:
        require_gazebo(
            [held(port, name) for port, name in owners.items()],
            owner=lambda _, port: owners[port],
            network=network,
        )
    assert "socat (pid 8)" in caught.value.message
    assert "socat (pid 7)" not in caught.value.message


def test_a_twin_that_waits_for_another_rover_answers_too():
    network = MemoryNetwork()
    twin = PluginTwin(PORTS, network=network)
    before = network.bind(HOST, 0)
    for port in PORTS:
        before.send_to(encode_servo(100, 77, [1500] * 16), (HOST, port))
    while network.advance_to(1.0):
        pass
    assert twin.try_step()
    before.send_to(encode_servo(100, 78, [1500] * 16), (HOST, PORTS[0]))
    while network.advance_to(2.0):
        pass
    assert not twin.try_step(), "the first rover has its packet, the second has none"
    for vehicle in twin._vehicles:
        vehicle.socket.on_arrival = twin.try_step
    require(network, "python3 (pid 7)")


@pytest.mark.parametrize("wide", [False, True])
def test_a_twin_answers_and_is_used(wide):
    """Its world may have stepped with the first rover before the second was spoken to."""
    network = MemoryNetwork()
    twin = PluginTwin(PORTS, network=network, have_32_channels=wide)
    for vehicle in twin._vehicles:
        vehicle.socket.on_arrival = twin.try_step
    require(network, "python3 (pid 7)")
    assert set(twin.link(0).pwm_us) == {1500}, "it was asked to stand still"


def test_a_plugin_that_looks_seldom_answers_too():
    """It takes the newest packet only, so a question must not hide behind the other size."""
    twin = PluginTwin([0])
    stop = threading.Event()

    def look_seldom():
        while not stop.wait(0.03):
            twin.try_step()

    world = threading.Thread(target=look_seldom)
    world.start()
    try:
        require(None, "python3 (pid 7)", ports=twin.ports)
    finally:
        stop.set()
        world.join()
        twin.stop()


def test_a_plugin_without_imu_is_a_plugin():
    network = MemoryNetwork()
    Listener(network, 9002, lambda data: b"")
    require(network, "python3 (pid 7)", ports=(9002,))
