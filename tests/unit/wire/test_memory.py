"""The in-process network: order, clock, exclusivity, disturbance."""

import pytest

from pico_gz.errors import PortClashError
from pico_gz.wire.datagrams import SOON_S, Address
from pico_gz.wire.memory_network import MemoryNetwork

HOST = "127.0.0.1"


def test_datagrams_arrive_in_order_after_the_latency() -> None:
    net = MemoryNetwork(latency_s=0.5)
    a, b = net.bind(HOST, 1), net.bind(HOST, 2)
    poller = net.poller()
    poller.add(b, 7)
    a.send_to(b"x", b.address)
    a.send_to(b"y", b.address)
    assert b.receive() is None
    assert list(poller.wait(0.4)) == []
    assert list(poller.wait(1.0)) == [7]
    assert poller.now_s() == pytest.approx(0.5)
    assert b.receive() == (b"x", (HOST, 1))
    assert list(poller.wait(1.0)) == [7]
    assert b.receive() == (b"y", (HOST, 1))
    assert b.receive() is None


def test_waiting_for_nothing_takes_the_whole_time_out() -> None:
    net = MemoryNetwork()
    poller = net.poller()
    assert list(poller.wait(3.0)) == []
    assert net.now_s() == 3.0


def test_a_connected_endpoint_hears_its_peer_only() -> None:
    net = MemoryNetwork()
    a, stranger = net.bind(HOST, 1), net.bind(HOST, 3)
    b = net.bind(HOST, 2, peer=a.address)
    stranger.send_to(b"no", b.address)
    a.send_to(b"yes", b.address)
    while net.advance_to(1.0):
        pass
    assert b.receive() == (b"yes", a.address)
    assert b.receive() is None
    assert b.send(b"back")
    assert not a.send(b"no peer")


def test_binding_is_exclusive_until_closed() -> None:
    net = MemoryNetwork()
    first = net.bind(HOST, 9002)
    with pytest.raises(PortClashError):
        net.bind(HOST, 9002)
    first.close()
    first.close()
    net.bind(HOST, 9002)
    assert net.bind(HOST, 0).address != net.bind(HOST, 0).address


def test_disturbance_loses_doubles_and_delays() -> None:
    def disturb(sender: Address, receiver: Address, data: bytes, now: float):  # type: ignore[no-untyped-def]
        return {b"lost": [], b"twice": [(0, data)] * 2, b"late": [(1.0, data)]}[data]

    net = MemoryNetwork(disturb=disturb)
    a, b = net.bind(HOST, 1), net.bind(HOST, 2)
    for data in (b"lost", b"late", b"twice"):
        a.send_to(data, b.address)
    got = []
    poller = net.poller()
    poller.add(b, 1)
    while poller.wait(2.0):
        while (item := b.receive()) is not None:
            got.append(item[0])
    assert got == [b"twice", b"twice", b"late"]


def test_a_peer_can_answer_on_arrival() -> None:
    net = MemoryNetwork(latency_s=0.1)
    a, b = net.bind(HOST, 1), net.bind(HOST, 2)

    def answer() -> None:
        item = b.receive()
        assert item is not None
        b.send_to(item[0].upper(), item[1])

    b.on_arrival = answer
    poller = net.poller()
    poller.add(a, 1)
    a.send_to(b"ping", b.address)
    assert list(poller.wait(1.0)) == [1]
    assert a.receive() == (b"PING", b.address)
    poller.remove(a)
    poller.remove(a)
    a.send_to(b"ping", b.address)
    assert list(poller.wait(1.0)) == []
    poller.close()


def test_waiting_for_one_endpoint_ends_with_its_datagram() -> None:
    net = MemoryNetwork(latency_s=0.5)
    a, b = net.bind(HOST, 1), net.bind(HOST, 2)
    a.send_to(b"x", b.address)
    assert not b.wait(0.4)
    assert b.wait(1.0)
    assert net.now_s() == pytest.approx(0.5)
    assert b.receive_soon() == (b"x", a.address)
    assert b.receive_soon() is None
    assert net.now_s() == pytest.approx(0.5 + SOON_S)


def test_a_sender_that_is_not_heard_is_dropped() -> None:
    net = MemoryNetwork()
    asked: list[Address] = []
    friend, stranger = net.bind(HOST, 1), net.bind(HOST, 3)
    b = net.bind(HOST, 2, accept_from=lambda sender: asked.append(sender) or sender[1] == 1)  # type: ignore[func-returns-value]
    stranger.send_to(b"no", b.address)
    friend.send_to(b"yes", b.address)
    assert b.wait(1.0)
    assert b.receive_soon() is None
    assert b.receive_soon() == (b"yes", friend.address)
    assert asked == [stranger.address, friend.address]
