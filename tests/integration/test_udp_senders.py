"""Whom a real UDP socket hears."""

from pico_gz.wire.datagrams import UdpNetwork

HOST = "127.0.0.1"


def test_a_sender_that_is_not_heard_is_dropped() -> None:
    net = UdpNetwork()
    friend, stranger = net.bind(HOST, 0), net.bind(HOST, 0)
    ours = net.bind(HOST, 0, accept_from=lambda sender: sender == friend.address)
    try:
        stranger.send_to(b"no", ours.address)
        assert ours.wait(5.0)
        assert ours.receive() is None
        friend.send_to(b"yes", ours.address)
        assert ours.wait(5.0)
        assert ours.receive_soon() == (b"yes", friend.address)
    finally:
        for transport in (friend, stranger, ours):
            transport.close()
