"""The port rules, by number."""

import pytest

from pico_gz.core.ports import (
    GcsMode,
    Link,
    LinkKind,
    PortRole,
    PortRules,
    is_loopback,
    parse_address,
    rc_port,
    vehicle_ports,
)
from pico_gz.core.vehicle_config import VehicleConfig
from pico_gz.errors import ConfigError, PortClashError, UnknownVehicleError
from pico_gz.run.config.port_plan import SimWire, plan_ports
from pico_gz.run.config.settings import NetSection

RULES = PortRules()


def vehicle(number, **fields):
    return VehicleConfig(id=number, **fields)


def external(number):
    return vehicle(number, autopilot="external")


def gazebo_wires(ids, **changes):
    return {number: SimWire(**changes) for number in ids}


def numbers(plan, role, protocol):
    return sorted(use.port for use in plan.uses if (use.role, use.protocol) == (role, protocol))


@pytest.mark.parametrize(("number", "port"), [(1, 9002), (2, 9012), (132, 10312), (255, 11542)])
def test_the_wire_of_vehicle_n(number, port):
    assert RULES.fdm_port(number) == port


@pytest.mark.parametrize(("number", "port"), [(1, 14550), (2, 14551), (255, 14804)])
def test_the_ground_station_of_vehicle_n(number, port):
    assert RULES.mavlink_port(number) == port


def test_a_shared_ground_station_has_one_port():
    rules = PortRules(gcs=GcsMode.SHARED)
    assert {rules.mavlink_port(number) for number in range(1, 256)} == {14550}


def test_the_tcp_server_makes_room_for_ardurover():
    assert RULES.tcp_port(any_external=False) == 5760
    assert RULES.tcp_port(any_external=True) == 5761
    assert PortRules(mavlink_tcp=7000).tcp_port(any_external=True) == 7000
    assert PortRules(mavlink_tcp=0).tcp_port(any_external=False) == 0
    assert PortRules(mavlink_tcp=0, offset=100).tcp_port(any_external=False) == 0


def test_builtin_on_lightweight_opens_no_wire():
    ports = vehicle_ports(vehicle(2), RULES, on_gazebo=False)
    assert (ports.plugin, ports.plugin_socket, ports.server, ports.mavlink) == (0, 0, 0, 14551)


def test_builtin_on_gazebo_drives_the_plugin():
    ports = vehicle_ports(vehicle(3), RULES, on_gazebo=True)
    assert (ports.plugin, ports.plugin_socket, ports.server) == (9022, 9023, 0)


def test_external_on_lightweight_is_served():
    ports = vehicle_ports(external(3), RULES, on_gazebo=False)
    assert (ports.plugin, ports.server, ports.mavlink) == (0, 9022, 0)
    assert ports.ardurover_tcp == (5780, 5782, 5783)
    assert ports.ardurover_rc == 5521


def test_external_on_our_gazebo_world_moves_the_plugin():
    ports = vehicle_ports(external(2), RULES, on_gazebo=True)
    assert (ports.plugin, ports.plugin_socket, ports.server) == (19012, 19013, 9012)


def test_external_on_a_foreign_gazebo_world_moves_the_server():
    ports = vehicle_ports(external(2), RULES, on_gazebo=True, own_world=False)
    assert (ports.plugin, ports.plugin_socket, ports.server) == (9012, 9013, 29012)


def test_radio_control_stays_clear_of_what_ardurover_opens():
    assert rc_port(3) == vehicle_ports(external(3), RULES, on_gazebo=False).ardurover_rc
    assert rc_port(3, external=True) == 25521


def test_own_ports_win_over_the_rules():
    ports = vehicle_ports(vehicle(1, fdm_port=9500, mavlink_port=15000), RULES, on_gazebo=True)
    assert (ports.plugin, ports.plugin_socket, ports.mavlink) == (9500, 9501, 15000)


def test_an_offset_moves_everything_but_what_ardurover_opens():
    plan = plan_ports(
        [vehicle(1), external(2)],
        PortRules(offset=1000),
        wires=gazebo_wires([1, 2]),
        dashboard=True,
    )
    assert numbers(plan, PortRole.BIND, "udp") == [10003, 10012, 20013]
    assert numbers(plan, PortRole.BIND, "tcp") == [6761, 9085]
    assert numbers(plan, PortRole.PEER, "udp") == [5511, 10002, 15550, 20012]
    assert numbers(plan, PortRole.PEER, "tcp") == [5770, 5772, 5773]


@pytest.mark.parametrize("autopilot", ["builtin", "external"])
@pytest.mark.parametrize("on_gazebo", [(), range(1, 256)], ids=["lightweight", "gazebo"])
@pytest.mark.parametrize("own_world", [True, False])
def test_255_vehicles_fit(autopilot, on_gazebo, own_world):
    fleet = [vehicle(number, autopilot=autopilot) for number in range(1, 256)]
    plan = plan_ports(
        fleet, RULES, wires=gazebo_wires(on_gazebo, own_world=own_world), dashboard=True
    )
    plan.check()
    assert [ports.vehicle_id for ports in plan.vehicles] == list(range(1, 256))


def test_mixed_fleet_fits():
    fleet = [vehicle(n, autopilot="external" if n % 2 else "builtin") for n in range(1, 255)]
    plan_ports(fleet, RULES, wires=gazebo_wires(range(1, 128)), dashboard=True).check()


def test_the_kit_sends_no_mavlink_for_an_external_vehicle():
    plan = plan_ports([external(1)], RULES)
    assert not [use for use in plan.uses if "MAVLink to" in use.purpose]


def test_an_idle_wire_is_kept_free():
    plan = plan_ports([vehicle(1)], RULES)
    assert numbers(plan, PortRole.RESERVED, "udp") == [9002, 9003]
    with pytest.raises(PortClashError):
        plan_ports([vehicle(1), vehicle(2, fdm_port=9003)], RULES).check()


@pytest.mark.parametrize(
    "fleet",
    [
        [vehicle(1, fdm_port=9500), vehicle(2, fdm_port=9500)],
        [vehicle(1, fdm_port=9500), vehicle(2, fdm_port=9501)],
        [vehicle(1, mavlink_port=14600), vehicle(2, mavlink_port=14600)],
        [vehicle(1, mavlink_port=9012), vehicle(2)],
        [vehicle(1, autopilot="external", fdm_port=5501)],
    ],
)
def test_clashes_name_both_users(fleet):
    with pytest.raises(PortClashError) as caught:
        plan_ports(fleet, RULES).check()
    assert "is also wanted by rover_" in caught.value.message
    assert "--port-offset auto" in caught.value.hint


def test_a_ground_station_elsewhere_shares_no_port_with_us():
    fleet = [vehicle(1, mavlink_port=9012), vehicle(2)]
    plan_ports(fleet, RULES, net=NetSection(gcs_host="192.168.1.5")).check()


def test_udp_and_tcp_do_not_clash():
    plan_ports([vehicle(1, fdm_port=5760)], RULES).check()


def test_ports_beyond_the_end_are_refused():
    plan = plan_ports([vehicle(255)], PortRules(fdm_base=65000))
    with pytest.raises(ConfigError, match="outside 1"):
        plan.check()


def test_gazebo_discovery_is_never_hit_by_the_defaults():
    fleet = [vehicle(number) for number in range(1, 256)]
    assert plan_ports(fleet, RULES).impossible() == []


@pytest.mark.parametrize(("base", "number"), [(9007, 132), (9008, 132), (9006, 132)])
def test_gazebo_discovery_is_refused(base, number):
    plan = plan_ports([vehicle(number)], PortRules(fdm_base=base))
    with pytest.raises(ConfigError, match="discovery"):
        plan.check()


def test_tcp_10317_is_nobodys():
    plan_ports([vehicle(1)], PortRules(mavlink_tcp=10317)).check()


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("udpout:10.0.0.1:14550", Link(LinkKind.UDPOUT, "10.0.0.1", 14550)),
        ("udpin:0.0.0.0:14560", Link(LinkKind.UDPIN, "0.0.0.0", 14560)),
        ("tcpin:[::1]:5770", Link(LinkKind.TCPIN, "::1", 5770)),
    ],
)
def test_links(text, link):
    assert Link.parse(text) == link
    assert Link.parse(str(Link.parse(text))) == link
    assert Link.parse(text).listens is not text.startswith("udpout")


@pytest.mark.parametrize(
    "text", ["", "udpout", "udpout:", "udpout:h", "udp:h:1", "tcpin:h:0", "tcpin:h:70000", "a:b:c"]
)
def test_what_is_no_link(text):
    with pytest.raises(ConfigError, match="no MAVLink link"):
        Link.parse(text)


def test_links_are_part_of_the_plan():
    links = [
        (Link(LinkKind.TCPIN, "127.0.0.1", 5760), None),
        (Link(LinkKind.UDPOUT, "127.0.0.1", 9), 1),
    ]
    plan = plan_ports([vehicle(1)], RULES, links=links)
    with pytest.raises(PortClashError, match="MAVLink link tcpin"):
        plan.check()
    plan_ports([vehicle(1)], RULES, links=[links[1], links[1]]).check()


def test_addresses():
    assert parse_address("[::1]:80") == ("::1", 80)
    for text in ("8085", "host:", ":80", "host:x", "host:99999"):
        with pytest.raises(ConfigError):
            parse_address(text)


@pytest.mark.parametrize(
    ("host", "answer"),
    [
        ("127.0.0.1", True),
        ("127.1.2.3", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("127.evil", False),
        ("127.0.0.300", False),
        ("localhost", True),
    ],
)
def test_loopback(host, answer):
    assert is_loopback(host) is answer


def test_unknown_vehicle():
    with pytest.raises(UnknownVehicleError):
        plan_ports([vehicle(1)], RULES).vehicle(2)
