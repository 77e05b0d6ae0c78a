"""Radio frames over real loopback sockets."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator

import pytest

from pico_gz import SitlBridge, VehicleConfig
from pico_gz.core.messages import SensorData
from pico_gz.core.ports import rc_port
from pico_gz.errors import ConfigError, PortClashError
from pico_gz.run.rc_setup import open_rc
from pico_gz.testing import ScriptedAdapter
from pico_gz.vehicle.platform.platform import SitlPlatform
from pico_gz.vehicle.rc import open_rc_source
from pico_gz.vehicle.rc.feeds import MAX_DATAGRAMS_PER_POLL, UdpRcSource


@pytest.fixture
def source() -> Iterator[UdpRcSource]:
    rc = UdpRcSource(0)
    yield rc
    rc.close()


@pytest.fixture
def sender(source: UdpRcSource) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", source.port))
        yield sock


def frame(*channels_us: int) -> bytes:
    return struct.pack(f"<{len(channels_us)}H", *channels_us)


def test_sixteen_channels_reach_the_platform(source: UdpRcSource, sender: socket.socket) -> None:
    platform = SitlPlatform(1)
    assert source.poll(0) is None
    sent = tuple(range(1100, 1900, 50))
    sender.send(frame(*sent))
    channels = source.poll(10_000)
    assert channels is not None
    platform.inject_rc(channels, 10_000)
    received = platform.rc_read()
    assert received is not None
    assert received.channels_us == sent
    assert received.timestamp_us == 10_000
    assert source.poll(20_000) is None


def test_silence_is_a_lost_link(source: UdpRcSource, sender: socket.socket) -> None:
    platform = SitlPlatform(1)
    sender.send(frame(*([1500] * 16)))
    for now_us in range(0, 1_000_001, 20_000):
        platform.inject_sensors(SensorData(timestamp_us=now_us, vehicle_id=1))
        channels = source.poll(now_us)
        if channels is not None:
            platform.inject_rc(channels, now_us)
    received = platform.rc_read()
    assert received is not None
    assert platform.timer.elapsed_us(received.timestamp_us) >= 980_000


def test_eight_channels_and_zeros_leave_the_rest_alone(
    source: UdpRcSource, sender: socket.socket
) -> None:
    sender.send(frame(*([1200] * 16)))
    sender.send(frame(1600, 0, 1700, 0, 0, 0, 0, 0))
    assert source.poll(0) == (1600, 1200, 1700, *([1200] * 13))


def test_the_newest_datagram_wins_and_a_flood_is_bounded(
    source: UdpRcSource, sender: socket.socket
) -> None:
    for number in range(MAX_DATAGRAMS_PER_POLL + 6):
        sender.send(frame(*([1000 + number] * 16)))
    first = source.poll(0)
    second = source.poll(0)
    assert first is not None
    assert second is not None
    assert (first[0], second[0]) == (
        1000 + MAX_DATAGRAMS_PER_POLL - 1,
        1005 + MAX_DATAGRAMS_PER_POLL,
    )
    assert source.poll(0) is None


def test_datagrams_of_other_sizes_are_counted_and_dropped(
    source: UdpRcSource, sender: socket.socket, caplog: pytest.LogCaptureFixture
) -> None:
    for data in (b"", b"x", bytes(15), bytes(31), bytes(33), bytes(1400)):
        sender.send(data)
    assert source.poll(0) is None
    assert source.bad_datagrams == 6
    assert caplog.text.count("dropped") == 1


def test_a_restored_source_remembers_its_channels(
    source: UdpRcSource, sender: socket.socket
) -> None:
    sender.send(frame(*([1300] * 16)))
    source.poll(0)
    other = UdpRcSource(0)
    try:
        other.load_state(source.save_state())
        assert other.save_state() == source.save_state()
    finally:
        other.close()


def test_a_port_in_use_is_named(source: UdpRcSource) -> None:
    with pytest.raises(PortClashError, match=str(source.port)):
        UdpRcSource(source.port)
    with pytest.raises(ConfigError, match="outside"):
        UdpRcSource(70_000)
    with pytest.raises(ConfigError, match="cannot be opened"):
        UdpRcSource(0, host="192.0.2.1")


def test_vehicles_listen_on_the_ports_of_ardupilot(source: UdpRcSource) -> None:
    vehicle_id = 3
    offset = source.port - rc_port(vehicle_id)
    with pytest.raises(PortClashError, match=str(source.port)):
        open_rc_source("udp", vehicle_id, port_offset=offset)
    source.close()
    source.close()
    opened = open_rc_source("udp", vehicle_id, port_offset=offset)
    assert isinstance(opened, UdpRcSource)
    assert opened.port == source.port
    opened.close()
    with pytest.raises(ConfigError, match="closed"):
        opened.poll(0)


def test_a_run_names_vehicle_port_and_process(source: UdpRcSource) -> None:
    bridge = SitlBridge()
    bridge.register_adapter(ScriptedAdapter())
    bridge.spawn_vehicle(VehicleConfig(id=1, name="scout"))
    with pytest.raises(PortClashError) as caught:
        open_rc(
            "udp", list(bridge.vehicles), host="127.0.0.1", port_offset=source.port - rc_port(1)
        )
    bridge.close()
    for word in (str(source.port), "scout", f"pid {os.getpid()}"):
        assert word in caught.value.message
