"""Every port of a fleet on one page."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

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
    vehicle_ports,
)
from pico_gz.core.vehicle_config import VehicleConfig


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
        own_world: whether the kit generated the world; None: as the rest of the fleet.
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

    @property
    def pair_distance(self) -> int:
        """Second minus first port."""
        return self.actuator_port - self.sensor_port

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
            use = _use("udp", port, hosts[role], role, purpose, ports)
            yield use if ports else msgspec.structs.replace(use, owner=self.adapter)


def plan_ports(
    vehicles: Sequence[VehicleConfig],
    rules: PortRules,
    *,
    on_gazebo: Collection[int] = (),
    wires: Mapping[int, SimWire] | None = None,
    own_world: bool = True,
    bind: str = "127.0.0.1",
    gcs_host: str = "127.0.0.1",
    dashboard: tuple[str, int] | None = None,
    links: Sequence[tuple[Link, int | None]] = (),
) -> PortPlan:
    """Plan the ports of a fleet, in id order; nothing is checked yet.

    Args:
        vehicles: the fleet.
        rules: the numbers to start from.
        on_gazebo: ids of the vehicles that Gazebo simulates.
        wires: how each of them reaches it; default: the plugin's wire on this machine.
        own_world: whether the kit generated Gazebo's world, and so chose the plugin's ports.
        bind: where the kit listens.
        gcs_host: where the ground station is.
        dashboard: host and port of the browser view, before the offset; None is off.
        links: further MAVLink links, each with its vehicle or None for the fleet.
    """
    wires = {i: (wires or {}).get(i) or SimWire(bind_host=bind) for i in on_gazebo}
    planned = tuple(
        _ports_of(vehicle, rules, wires.get(vehicle.id), own_world=own_world)
        for vehicle in sorted(vehicles, key=lambda vehicle: vehicle.id)
    )
    tcp_port = rules.tcp_port(any_external=any(ports.server for ports in planned))
    names = {ports.vehicle_id: ports.name for ports in planned}
    shared = list(_shared_uses(wires))
    uses = [use for ports in planned for use in _vehicle_uses(ports, rules, wires, bind, gcs_host)]
    # A wire that nobody uses today is still the vehicle's: another adapter must not clash.
    alone = [ports for ports in planned if not _is_shared(wires.get(ports.vehicle_id))]
    uses += _idle_wires(vehicles, alone, rules, bind, {use.port for use in shared})
    uses += shared
    uses += [link.use(names.get(owner or 0, "fleet"), owner) for link, owner in links]
    if tcp_port:
        uses.append(_use("tcp", tcp_port, bind, PortRole.BIND, "MAVLink server", None))
    if dashboard is not None:
        host, port = dashboard
        uses.append(_use("tcp", port + rules.offset, host, PortRole.BIND, "browser view", None))
    return PortPlan(vehicles=planned, uses=tuple(uses), tcp_port=tcp_port)


def _ports_of(
    vehicle: VehicleConfig, rules: PortRules, wire: SimWire | None, *, own_world: bool
) -> VehiclePorts:
    if wire is None:
        return vehicle_ports(vehicle, rules, on_gazebo=False)
    if wire.own_world is not None:
        own_world = wire.own_world
    return vehicle_ports(
        vehicle, rules, on_gazebo=True, own_world=own_world, pair_distance=wire.pair_distance
    )


def _is_shared(wire: SimWire | None) -> bool:
    return wire is not None and wire.shared


def _shared_uses(wires: Mapping[int, SimWire]) -> Iterator[PortUse]:
    for wire in {wire.adapter: wire for wire in wires.values() if wire.shared}.values():
        yield from wire.uses(wire.sensor_port, wire.actuator_port, None)


def _vehicle_uses(
    ports: VehiclePorts,
    rules: PortRules,
    wires: Mapping[int, SimWire],
    bind: str,
    gcs_host: str,
) -> Iterator[PortUse]:
    wire = wires.get(ports.vehicle_id)
    if wire is not None and not wire.shared:
        yield from wire.uses(ports.plugin, ports.plugin_socket, ports)
    if ports.server:
        yield _use("udp", ports.server, bind, PortRole.BIND, "FDM server", ports)
    if ports.mavlink:
        share = rules.gcs is GcsMode.SHARED
        purpose = "MAVLink to the ground station"
        yield _use("udp", ports.mavlink, gcs_host, PortRole.PEER, purpose, ports, share=share)
    for port in ports.ardurover_tcp:
        yield _use("tcp", port, bind, PortRole.PEER, "external ArduRover", ports)
    if ports.ardurover_rc:
        yield _use("udp", ports.ardurover_rc, bind, PortRole.PEER, "external ArduRover RC", ports)


def _idle_wires(
    vehicles: Sequence[VehicleConfig],
    planned: Sequence[VehiclePorts],
    rules: PortRules,
    bind: str,
    shared: Collection[int],
) -> Iterator[PortUse]:
    pairs = {vehicle.id: vehicle.fdm_port or rules.fdm_port(vehicle.id) for vehicle in vehicles}
    for ports in planned:
        pair = pairs[ports.vehicle_id]
        used = (ports.plugin, ports.plugin_socket, ports.server, *shared)
        for port in (pair, pair + 1):
            if port not in used:
                yield _use("udp", port, bind, PortRole.RESERVED, "simulator wire", ports)


def _use(
    protocol: str,
    port: int,
    host: str,
    role: PortRole,
    purpose: str,
    ports: VehiclePorts | None,
    *,
    share: bool = False,
) -> PortUse:
    return PortUse(
        protocol=protocol,
        port=port,
        host=host,
        role=role,
        purpose=purpose,
        owner=ports.name if ports else "fleet",
        vehicle_id=ports.vehicle_id if ports else None,
        may_share=share,
    )
