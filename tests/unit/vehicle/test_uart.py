from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pico_gz.errors import ConfigError
from pico_gz.vehicle.platform.peripherals import UART_BUFFER_BYTES, ByteFifo
from pico_gz.vehicle.platform.platform import SitlPlatform

pushes_and_pops = st.lists(
    st.one_of(st.binary(max_size=20), st.integers(min_value=-1, max_value=20)), max_size=40
)


@given(capacity=st.integers(min_value=1, max_value=32), actions=pushes_and_pops)
def test_a_fifo_is_a_bounded_queue_that_counts_its_losses(
    capacity: int, actions: list[bytes | int]
) -> None:
    ring = ByteFifo(capacity)
    model: list[int] = []
    lost = 0
    for action in actions:
        if isinstance(action, bytes):
            fits = action[: capacity - len(model)]
            assert ring.push(action) == len(fits)
            model += fits
            lost += len(action) - len(fits)
        else:
            expected, model = model[: max(0, action)], model[max(0, action) :]
            assert ring.pop(action) == bytes(expected)
        assert len(ring.data) == len(model) <= capacity
        assert ring.overrun_bytes == lost


@given(capacity=st.integers(min_value=1, max_value=32), data=st.binary(max_size=64))
def test_restored_ring_buffer_holds_the_same(capacity: int, data: bytes) -> None:
    ring, other = ByteFifo(capacity), ByteFifo(capacity)
    ring.push(data)
    other.load_state(ring.save_state())
    assert other.overrun_bytes == ring.overrun_bytes
    assert other.pop(99) == ring.pop(99)


def test_a_buffer_without_room_is_refused() -> None:
    with pytest.raises(ConfigError):
        ByteFifo(0)


def test_both_directions_cross_over() -> None:
    platform = SitlPlatform(1)
    uart, peer = platform.create_uart(0, baud=9600), platform.uart_peer(0)
    assert uart.write(b"ping") == 4
    assert peer.available() == 4
    assert peer.read(2) == b"pi"
    assert peer.read() == b"ng"
    assert peer.read() == b""
    assert peer.write(b"pong") == 4
    assert uart.available() == 4
    assert uart.read() == b"pong"
    assert (uart.port, uart.baud) == (0, 9600)


def test_overruns_are_counted_on_the_side_that_did_not_read() -> None:
    platform = SitlPlatform(1)
    uart, peer = platform.create_uart(1), platform.uart_peer(1)
    assert peer.write(bytes(UART_BUFFER_BYTES + 10)) == UART_BUFFER_BYTES
    assert (uart.rx_overrun_bytes, uart.tx_overrun_bytes) == (10, 0)
    assert (peer.rx_overrun_bytes, peer.tx_overrun_bytes) == (0, 10)
    assert len(uart.read()) == UART_BUFFER_BYTES
    assert uart.write(bytes(UART_BUFFER_BYTES + 3)) == UART_BUFFER_BYTES
    assert uart.tx_overrun_bytes == 3


def test_ports_do_not_hear_each_other() -> None:
    platform = SitlPlatform(1)
    platform.create_uart(0).write(b"x")
    assert platform.uart_peer(1).read() == b""


def test_a_closed_port_can_neither_read_nor_write_and_is_free_again() -> None:
    platform = SitlPlatform(1)
    uart = platform.create_uart(0)
    uart.close()
    uart.close()
    for call in (lambda: uart.read(1), lambda: uart.write(b"x")):
        with pytest.raises(ConfigError, match="UART 0 is closed"):
            call()
    platform.create_uart(0)


def test_a_refused_baud_rate_claims_nothing() -> None:
    platform = SitlPlatform(1)
    with pytest.raises(ConfigError, match="baud"):
        platform.create_uart(0, baud=0)
    platform.create_uart(0)
