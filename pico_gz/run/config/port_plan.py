"""Every port of a fleet on one page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from pico_gz.core.ports import (
    FDM_BASE,
    FDM_STRIDE,
    GcsMode,
    Link,
    PortPlan,
    PortRole,
    PortRules,
    PortUse,
    VehiclePorts,
    is_loopback,
    parse_address,
    rc_port,
    vehicle_ports,
)
from pico_gz.core.vehicle_config import VehicleConfig
from pico_gz.run.config.settings import GazeboSection, NetSection


class SimWire(msgspec.Struct, frozen=True, kw_only=True):
    """The wire between the kit and the simulator behind one adapter.

    Attributes:
        adapter: the adapter's name.
        sensor_port: first port of vehicle 1, with the offset.
        actuator_port: its second port.
        stride: distance between the pairs of two vehicles.
        server_host: where the simulator is.
        bind_host: our own address.
        ardupilot_compat: the plugin listens on the first port; otherwise we do.
        shared: one pair for all vehicles.
        own_world: whether the kit generated the world, and so chose the plugin's ports; None: as
            for the rest of the fleet.
    """

    adapter: str = "gazebo"
    sensor_port: int = FDM_BASE
    actuator_port: int = FDM_BASE + 1
    stride: int = FDM_STRIDE
    server_host: str = "127.0.0.1"
    bind_host: str = "127.0.0.1"
    ardupilot_compat: bool = True
    shared: bool = False
    own_world: bool | None = None

    def fdm_port(self, vehicle_id: int) -> int:
        """First port of a vehicle that has none of its own, as ``PortRules`` says it."""
        return self.sensor_port + self.stride * (vehicle_id - 1)

    def uses(self, first: int, second: int, ports: VehiclePorts | None) -> Iterator[PortUse]:
        """The lines of one pair; ``ports`` is None for a pair that all vehicles share."""
        roles = (PortRole.PEER, PortRole.BIND)
        purposes = ("Gazebo plugin", "Gazebo client")
        if not self.ardupilot_compat:
            roles = (PortRole.BIND, PortRole.PEER)
            purposes = ("sensors, JSON dialect", "simulator, JSON dialect")
        hosts = {PortRole.PEER: self.server_host, PortRole.BIND: self.bind_host}
        for port, role, purpose in zip((first, second), roles, purposes, strict=True):
            owner = None if ports else self.adapter
            yield _use("udp", port, hosts[role], role, purpose, ports, owner=owner)


def sim_wire(
    name: str, gazebo: GazeboSection, rules: PortRules, options: Mapping[str, Any]
) -> SimWire:
    """The wire of the adapter ``name``.

    Args:
        name: of the adapter.
        gazebo: what holds for every Gazebo.
        rules: where ports start; the offset moves the ports of ``options`` as well.
        options: what ``[adapters.NAME]`` says, which wins. A value of a wrong type counts as not
            given: it is reported elsewhere.
    """
    sensor_port = _given(options, "sensor_port", rules.fdm_base)
    actuator_port = _given(options, "actuator_port", sensor_port + 1)
    server_addr = _given(options, "server_addr", gazebo.server_addr)
    server_host = server_addr.partition(":")[0]
    return SimWire(
        adapter=name,
        sensor_port=sensor_port + rules.offset,
        actuator_port=actuator_port + rules.offset,
        stride=_given(options, "fdm_stride", rules.fdm_stride),
        server_host=server_host,
        bind_host=_given(options, "bind_addr", "")
        or ("127.0.0.1" if is_loopback(server_host) else "0.0.0.0"),
        ardupilot_compat=_given(options, "ardupilot_compat", gazebo.ardupilot_compat),
        # Only the JSON dialect says whose record it is.
        shared=_given(options, "shared_socket", False)
        and not _given(options, "ardupilot_compat", gazebo.ardupilot_compat),
        own_world=options.get("own_world") if isinstance(options.get("own_world"), bool) else None,
    )


def _given(options: Mapping[str, Any], key: str, default: Any) -> Any:
    value = options.get(key)
    return value if type(value) is type(default) else default


def plan_ports(
    vehicles: Sequence[VehicleConfig],
    rules: PortRules,
    *,
    wires: Mapping[int, SimWire] | None = None,
    net: NetSection | None = None,
    dashboard: bool = False,
    links: Sequence[tuple[Link, int | None]] = (),
    radio: bool = False,
) -> PortPlan:
    """Plan the ports of a fleet, in id order; nothing is checked yet.

    Args:
        vehicles: the fleet.
        rules: the numbers to start from.
        wires: how each vehicle that Gazebo simulates reaches it, by id.
        net: where the kit listens and where the ground station is; default: loopback.
        dashboard: whether the browser view is on.
        links: further MAVLink links, each with its vehicle or None for the fleet.
        radio: whether to name the ports of ``--rc udp``, which other runs leave alone.
    """
    wires, net = wires or {}, net or NetSection()
    vehicles = sorted(vehicles, key=lambda vehicle: vehicle.id)
    planned = tuple(_ports_of(vehicle, rules, wires.get(vehicle.id)) for vehicle in vehicles)
    tcp_port = rules.tcp_port(any_external=any(ports.server for ports in planned))
    names = {ports.vehicle_id: ports.name for ports in planned}
    shared = [
        use
        for wire in {wire.adapter: wire for wire in wires.values() if wire.shared}.values()
        for use in wire.uses(wire.sensor_port, wire.actuator_port, None)
    ]
    uses = [
        use
        for ports in planned
        for use in _vehicle_uses(ports, rules, wires.get(ports.vehicle_id), net)
    ]
    # An unused wire still belongs to its vehicle: another adapter must not clash.
    shared_ports = {use.port for use in shared}
    for vehicle, ports in zip(vehicles, planned, strict=True):
        wire = wires.get(vehicle.id)
        if wire is None or not wire.shared:
            used = {ports.plugin, ports.plugin_socket, ports.server, *shared_ports}
            pair = vehicle.fdm_port or rules.fdm_port(vehicle.id)
            uses += [
                _use("udp", port, net.bind, PortRole.RESERVED, "simulator wire", ports)
                for port in (pair, pair + 1)
                if port not in used
            ]
    if radio:
        uses += [
            _use(
                "udp",
                rc_port(ports.vehicle_id, external=bool(ports.server)) + rules.offset,
                net.bind,
                PortRole.RESERVED,
                "radio control, with --rc udp",
                ports,
            )
            for ports in planned
        ]
    uses += shared
    uses += [link.use(names.get(owner or 0, "fleet"), owner) for link, owner in links]
    if tcp_port:
        uses.append(_use("tcp", tcp_port, net.bind, PortRole.BIND, "MAVLink server", None))
    if dashboard:
        host, port = parse_address(net.dashboard)
        uses.append(_use("tcp", port + rules.offset, host, PortRole.BIND, "browser view", None))
    return PortPlan(vehicles=planned, uses=tuple(uses), tcp_port=tcp_port)


def _ports_of(vehicle: VehicleConfig, rules: PortRules, wire: SimWire | None) -> VehiclePorts:
    if wire is None:
        return vehicle_ports(vehicle, rules, on_gazebo=False)
    own_world, distance = wire.own_world is not False, wire.actuator_port - wire.sensor_port
    return vehicle_ports(
        vehicle, rules, on_gazebo=True, own_world=own_world, pair_distance=distance
    )


def _vehicle_uses(
    ports: VehiclePorts, rules: PortRules, wire: SimWire | None, net: NetSection
) -> Iterator[PortUse]:
    if wire is not None and not wire.shared:
        yield from wire.uses(ports.plugin, ports.plugin_socket, ports)
    if ports.server:
        yield _use("udp", ports.server, net.bind, PortRole.BIND, "FDM server", ports)
    if ports.mavlink:
        share = rules.gcs is GcsMode.SHARED
        purpose = "MAVLink to the ground station"
        yield _use("udp", ports.mavlink, net.gcs_host, PortRole.PEER, purpose, ports, share=share)
    for port in ports.ardurover_tcp:
        yield _use("tcp", port, net.bind, PortRole.PEER, "external ArduRover", ports)
    if ports.ardurover_rc:
        purpose = "external ArduRover RC"
        yield _use("udp", ports.ardurover_rc, net.bind, PortRole.PEER, purpose, ports)


def _use(
    protocol: str,
    port: int,
    host: str,
    role: PortRole,
    purpose: str,
    ports: VehiclePorts | None,
    *,
    owner: str | None = None,
    share: bool = False,
) -> PortUse:
    return PortUse(
        protocol=protocol,
        port=port,
        host=host,
        role=role,
        purpose=purpose,
        owner=owner or (ports.name if ports else "fleet"),
        vehicle_id=ports.vehicle_id if ports else None,
        may_share=share,
    )
