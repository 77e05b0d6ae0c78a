"""Real sockets on loopback."""

import os
import time

import pytest

from pico_gz.errors import PortClashError
from pico_gz.wire.datagrams import SOON_S, UdpNetwork, UdpPoller, UdpTransport

pytestmark = pytest.mark.alone

HOST = "127.0.0.1"


def test_a_second_binding_fails_loudly_and_names_the_owner() -> None:
    first = UdpTransport(HOST, 0)
    with pytest.raises(PortClashError, match=rf"{first.address[1]}.*pid {os.getpid()}"):
        UdpTransport(HOST, first.address[1])
    first.close()


def test_a_connected_socket_survives_a_peer_that_is_not_there() -> None:
    placeholder = UdpTransport(HOST, 0)
    peer_address = placeholder.address
    placeholder.close()
    client = UdpNetwork().bind(HOST, 0, peer=peer_address)
    poller = UdpPoller()
    poller.add(client, 1)
    for _ in range(5):
        client.send(b"anyone?")
        poller.wait(0.05)
        assert client.receive() is None
    assert client.refused > 0
    peer = UdpTransport(*peer_address)
    assert client.send(b"hello")
    assert wait_for(peer) == (b"hello", client.address)
    peer.send_to(b"back", client.address)
    assert list(poller.wait(1.0)) == [1]
    assert client.receive() == (b"back", peer_address)
    for item in (client, peer, poller):
        item.close()


def test_a_connected_socket_hears_its_peer_only() -> None:
    peer, stranger = UdpTransport(HOST, 0), UdpTransport(HOST, 0)
    client = UdpTransport(HOST, 0, peer=peer.address)
    stranger.send_to(b"spoof", client.address)
    peer.send_to(b"real", client.address)
    assert wait_for(client) == (b"real", peer.address)
    assert client.receive() is None
    for item in (client, peer, stranger):
        item.close()


def test_poller_tells_who_is_ready_and_forgets() -> None:
    a, b = UdpTransport(HOST, 0), UdpTransport(HOST, 0)
    poller = UdpPoller()
    poller.add(a, 10)
    poller.add(b, 20)
    a.send_to(b"x", b.address)
    assert list(poller.wait(1.0)) == [20]
    poller.remove(b)
    poller.remove(b)
    assert list(poller.wait(0.0)) == []
    poller.close()
    a.close()
    a.close()
    b.close()


def test_an_oversize_datagram_fills_the_buffer_and_empty_ones_arrive() -> None:
    a, b = UdpTransport(HOST, 0), UdpTransport(HOST, 0)
    a.send_to(bytes(65507), b.address)
    a.send_to(b"", b.address)
    assert len(wait_for(b)[0]) == 4097
    assert wait_for(b)[0] == b""
    a.close()
    b.close()


def wait_for(transport: UdpTransport) -> tuple[bytes, tuple[str, int]]:
    poller = UdpPoller()
    poller.add(transport, 0)
    assert poller.wait(1.0)
    item = transport.receive()
    poller.close()
    assert item is not None
    return item


def test_what_must_come_next_is_waited_for_but_not_for_long() -> None:
    here, there = UdpTransport(HOST, 0), UdpTransport(HOST, 0)
    started_s = time.monotonic()
    assert here.receive_soon() is None
    # The kernel rounds up to its tick; a second is a machine that does something else.
    assert SOON_S / 2 < time.monotonic() - started_s < 1.0
    assert not here.wait(0.0)
    there.send_to(b"x", here.address)
    assert here.wait(1.0)
    assert here.receive_soon() == (b"x", there.address)
    for item in (here, there):
        item.close()
