"""Ports that are really in use."""

import os
import socket
import sys

import pytest

from pico_gz.core.port_owner import OFFSET_STEP, find_busy, free_offset, owner_of, require_free
from pico_gz.core.ports import PortPlan, PortRole, PortUse
from pico_gz.errors import ConfigError, PortClashError
from pico_gz.run.config import default_fleet

LINUX = sys.platform == "linux"


def use_of(protocol, port, host="127.0.0.1", role=PortRole.BIND):
    return PortUse(
        protocol=protocol,
        port=port,
        host=host,
        role=role,
        purpose="FDM server",
        owner="rover_7",
        vehicle_id=7,
    )


def plan_of(*uses):
    return PortPlan(vehicles=(), uses=uses, tcp_port=0)


@pytest.fixture(params=["udp", "tcp"])
def taken(request):
    """A protocol and a port that this process holds."""
    kind = socket.SOCK_DGRAM if request.param == "udp" else socket.SOCK_STREAM
    with socket.socket(socket.AF_INET, kind) as holder:
        holder.bind(("127.0.0.1", 0))
        if request.param == "tcp":
            holder.listen()
        yield request.param, holder.getsockname()[1]


def test_a_port_in_use_names_port_vehicle_and_owner(taken):
    protocol, port = taken
    with pytest.raises(PortClashError) as caught:
        require_free(plan_of(use_of(protocol, port)))
    message = caught.value.message
    assert f"{protocol.upper()} {port}" in message
    assert "rover_7" in message
    assert "--port-offset auto" in caught.value.hint
    if LINUX:
        assert f"(pid {os.getpid()})" in message


@pytest.mark.skipif(not LINUX, reason="only Linux shows who holds a port")
def test_the_owner_of_a_port(taken):
    protocol, port = taken
    assert owner_of(protocol, port).endswith(f"(pid {os.getpid()})")


def test_a_free_port_stays_free():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    require_free(plan_of(use_of("udp", port)))
    require_free(plan_of(use_of("udp", port)))
    assert owner_of("udp", port) == ""


def test_only_our_own_ports_are_tried(taken):
    protocol, port = taken
    assert find_busy([use_of(protocol, port, role=PortRole.PEER)]) == []
    assert find_busy([use_of(protocol, port, role=PortRole.RESERVED)]) == []


def test_all_busy_ports_are_named(taken):
    protocol, port = taken
    busy = find_busy([use_of(protocol, port), use_of(protocol, port)])
    assert len(busy) == 2


@pytest.mark.parametrize("host", ["203.0.113.1", "no-such-host.invalid"])
def test_an_address_that_is_not_ours_is_a_mistake_in_the_configuration(host):
    with pytest.raises(ConfigError, match="no address of this machine") as caught:
        find_busy([use_of("udp", 45454, host=host)])
    assert not isinstance(caught.value, PortClashError)


def test_an_offset_is_found_around_what_is_taken():
    fleet = default_fleet(2, environ={})
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]

        def plan_at(offset):
            use = use_of("tcp", port if offset == 0 else port + offset)
            return plan_of(*([use] if offset == 0 else []))

        assert free_offset(plan_at) == OFFSET_STEP
        assert free_offset(lambda _: plan_of()) == 0
    assert fleet.with_port_offset(OFFSET_STEP).port_plan().impossible() == []


def test_no_free_offset_is_said():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
        holder.bind(("127.0.0.1", 0))
        plan = plan_of(use_of("udp", holder.getsockname()[1]))
        with pytest.raises(PortClashError, match="No offset"):
            free_offset(lambda _: plan)
