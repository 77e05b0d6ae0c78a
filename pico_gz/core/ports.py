"""The port rules of single vehicles, addresses and links.

No other module computes a port.

==========================  =====================================================================
simulator wire (UDP)        ``fdm_base + fdm_stride * (id - 1)`` and the port after it: servo
                            packets go to the first, our socket is bound to the second
external autopilot          the kit binds the first of the pair and serves the autopilot there
  on a Gazebo world of ours the plugin moves to +10000 (19002, 19012, ...), our socket to +10001
  on a foreign Gazebo world the plugin keeps the pair, the server moves to +20000 (29002, ...)
JSON dialect (UDP)          the same pair the other way round: our socket is bound to the first,
                            actuators go to the second; or one pair for all vehicles
MAVLink (UDP)               sent to ``mavlink_base + (id - 1)`` of the ground station, or all to
                            ``mavlink_base`` when it is shared
MAVLink (TCP)               one server for the fleet: 5760, or 5761 if a vehicle is external
external ArduRover          TCP 5760, 5762, 5763 and UDP 5501, each + 10 * (id - 1): kept free
radio control (UDP)         5501 + 10 * (id - 1), with ``--rc udp``; 20000 more beside an external
                            ArduRover, which opens 5501 itself
browser view (TCP)          8085
Gazebo discovery (UDP)      10317 and 10318 are never used
==========================  =====================================================================

``offset`` moves all but ArduRover's own, so that several fleets live on one machine.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from pico_gz.core.vehicle_config import VehicleConfig, is_ardurover
from pico_gz.errors import ConfigError, PortClashError, UnknownVehicleError

MAX_PORT = 65535
FDM_BASE = 9002
FDM_STRIDE = 10
MAVLINK_BASE = 14550
MAVLINK_TCP = 5760
MAVLINK_TCP_BESIDE_EXTERNAL = 5761
DASHBOARD_PORT = 8085
GAZEBO_DISCOVERY_PORTS = (10317, 10318)
PLUGIN_BEHIND_SERVER = 10_000
SERVER_BEFORE_FOREIGN_PLUGIN = 20_000
ARDUROVER_TCP = (5760, 5762, 5763)
ARDUROVER_RC = 5501
ARDUROVER_STRIDE = 10
RC_BESIDE_ARDUROVER = 20_000

_HOST_NAME = re.compile(r"[\w-]+(\.[\w-]+)*\.?")
_ONLY_NUMBERS = re.compile(r"[0-9.]+")
_LOCAL_HOSTS = frozenset({"0.0.0.0", "::", ""})


class GcsMode(StrEnum):
    """Where the vehicles of a fleet send MAVLink."""

    PER_VEHICLE = "per_vehicle"  # each to a port of its own
    SHARED = "shared"  # all to one port, the one ground stations open by themselves


class PortRole(StrEnum):
    """Who opens a port."""

    BIND = "bind"  # the kit
    PEER = "peer"  # another program: a ground station, the Gazebo plugin
    RESERVED = "reserved"  # unused now; it belongs to the vehicle all the same


class PortRules(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers that the rules start from; ``mavlink_tcp`` None is by rule, 0 is off."""

    fdm_base: int = FDM_BASE
    fdm_stride: int = FDM_STRIDE
    mavlink_base: int = MAVLINK_BASE
    mavlink_tcp: int | None = None
    gcs: GcsMode = GcsMode.PER_VEHICLE
    offset: int = 0

    def fdm_port(self, vehicle_id: int) -> int:
        """First port of the vehicle's simulator wire."""
        return self.fdm_base + self.fdm_stride * (vehicle_id - 1) + self.offset

    def mavlink_port(self, vehicle_id: int) -> int:
        """The ground station's UDP port that the vehicle sends to."""
        shared = self.gcs is GcsMode.SHARED
        return self.mavlink_base + (0 if shared else vehicle_id - 1) + self.offset

    def tcp_port(self, *, any_external: bool) -> int:
        """The fleet's MAVLink TCP server; 0 is off. ArduRover owns 5760 when one is external."""
        port = self.mavlink_tcp
        if port is None:
            port = MAVLINK_TCP_BESIDE_EXTERNAL if any_external else MAVLINK_TCP
        return port + self.offset if port else 0


class VehiclePorts(msgspec.Struct, frozen=True, kw_only=True):
    """The ports of one vehicle; 0 is "not used".

    Attributes:
        vehicle_id: whose they are.
        name: its name.
        plugin: first port of the wire to Gazebo: its plugin listens there, or we do in the JSON
            dialect.
        plugin_socket: its second port: our client socket, or the simulator in the JSON dialect.
        server: where the kit serves an external autopilot.
        mavlink: the ground station's port; 0 for an external autopilot, which has its own.
        ardurover_tcp: what an external ArduRover opens for ground stations.
        ardurover_rc: what an external ArduRover opens for radio control.
    """

    vehicle_id: int
    name: str
    plugin: int = 0
    plugin_socket: int = 0
    server: int = 0
    mavlink: int = 0
    ardurover_tcp: tuple[int, ...] = ()
    ardurover_rc: int = 0


class PortUse(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the plan: who uses which port for what."""

    protocol: str
    port: int
    host: str
    role: PortRole
    purpose: str
    owner: str
    vehicle_id: int | None = None
    may_share: bool = False

    def __str__(self) -> str:
        return f"{self.protocol.upper()} {self.port} ({self.owner}, {self.purpose})"


class PortProblem(msgspec.Struct, frozen=True):
    """A line of the plan that cannot work, and why; ``other`` wants the same port."""

    use: PortUse
    reason: str
    other: PortUse | None = None

    def __str__(self) -> str:
        return f"{self.use} {self.reason}."


class LinkKind(StrEnum):
    """The three ways to reach a ground station."""

    UDPOUT = "udpout"  # we send to it, from a port of our own, and receive every answer
    UDPIN = "udpin"  # we listen, and answer every sender
    TCPIN = "tcpin"  # we listen, ground stations connect


class Link(msgspec.Struct, frozen=True):
    """A MAVLink link; ``host`` is the target of a udpout and the bind address of the others."""

    kind: LinkKind
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.kind.value}:{self.host}:{self.port}"

    @property
    def listens(self) -> bool:
        """Whether this link claims its port on this machine."""
        return self.kind is not LinkKind.UDPOUT

    @classmethod
    def parse(cls, text: str) -> Link:
        """Read ``udpout:HOST:PORT``, ``udpin:HOST:PORT`` or ``tcpin:HOST:PORT``."""
        kind, _, address = text.partition(":")
        host, _, port = address.rpartition(":")
        if kind not in list(LinkKind) or not is_host(host.strip("[]")) or not _is_port(port):
            raise ConfigError(
                f"{text!r} is no MAVLink link.", hint="udpout:, udpin: or tcpin:, then HOST:PORT."
            )
        return cls(LinkKind(kind), host.strip("[]"), int(port))

    def use(self, owner: str, vehicle_id: int | None) -> PortUse:
        """Its line in the plan."""
        return PortUse(
            protocol=self.kind[:3],
            port=self.port,
            host=self.host,
            role=PortRole.BIND if self.listens else PortRole.PEER,
            purpose=f"MAVLink link {self.kind}",
            owner=owner,
            vehicle_id=vehicle_id,
            may_share=not self.listens,
        )


def rc_port(vehicle_id: int, *, external: bool = False) -> int:
    """The UDP port on which the kit takes a vehicle's radio frames, before the offset."""
    beside = RC_BESIDE_ARDUROVER if external else 0
    return ARDUROVER_RC + ARDUROVER_STRIDE * (vehicle_id - 1) + beside


def parse_address(text: str) -> tuple[str, int]:
    """Read ``HOST:PORT``; an IPv6 host stands in square brackets."""
    host, _, port = text.rpartition(":")
    if not is_host(host.strip("[]")) or not _is_port(port):
        raise ConfigError(f"{text!r} is no address.", hint="Write HOST:PORT, as 127.0.0.1:8085.")
    return host.strip("[]"), int(port)


def is_host(text: str) -> bool:
    """Whether ``text`` can be a host name or an address; it is not looked up."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return bool(_HOST_NAME.fullmatch(text)) and not _ONLY_NUMBERS.fullmatch(text)
    return True


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine reach ``host``."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def vehicle_ports(
    vehicle: VehicleConfig,
    rules: PortRules,
    *,
    on_gazebo: bool,
    own_world: bool = True,
    pair_distance: int = 1,
) -> VehiclePorts:
    """The ports of one vehicle; its ``fdm_port`` and ``mavlink_port`` win over the rules.

    Args:
        vehicle: the vehicle.
        rules: the numbers to start from.
        on_gazebo: whether Gazebo simulates it.
        own_world: whether the kit generated Gazebo's world.
        pair_distance: second minus first port of the wire to Gazebo.
    """
    pair = vehicle.fdm_port or rules.fdm_port(vehicle.id)
    if not vehicle.is_external:
        return VehiclePorts(
            vehicle_id=vehicle.id,
            name=vehicle.label,
            plugin=pair if on_gazebo else 0,
            plugin_socket=pair + pair_distance if on_gazebo else 0,
            mavlink=vehicle.mavlink_port or rules.mavlink_port(vehicle.id),
        )
    plugin = (pair + PLUGIN_BEHIND_SERVER if own_world else pair) if on_gazebo else 0
    foreign = on_gazebo and not own_world
    # ArduRover numbers its own ports by its instance; an offset reaches those that we start.
    shift = ARDUROVER_STRIDE * (vehicle.id - 1)
    if is_ardurover(vehicle.autopilot):
        shift += rules.offset
    return VehiclePorts(
        vehicle_id=vehicle.id,
        name=vehicle.label,
        plugin=plugin,
        plugin_socket=plugin + pair_distance if plugin else 0,
        server=pair + SERVER_BEFORE_FOREIGN_PLUGIN if foreign else pair,
        ardurover_tcp=tuple(port + shift for port in ARDUROVER_TCP),
        ardurover_rc=ARDUROVER_RC + shift,
    )


class PortPlan(msgspec.Struct, frozen=True, kw_only=True):
    """All ports of a fleet: per vehicle, and as lines for tables and checks."""

    vehicles: tuple[VehiclePorts, ...]
    uses: tuple[PortUse, ...]
    tcp_port: int

    def vehicle(self, vehicle_id: int) -> VehiclePorts:
        """The ports of one vehicle."""
        for ports in self.vehicles:
            if ports.vehicle_id == vehicle_id:
                return ports
        raise UnknownVehicleError(vehicle_id, (ports.vehicle_id for ports in self.vehicles))

    def impossible(self) -> list[PortProblem]:
        """Ports that do not exist or that must not be used."""
        found = []
        for use in self.uses:
            if not 1 <= use.port <= MAX_PORT:
                found.append(PortProblem(use, f"is outside 1..{MAX_PORT}"))
            elif use.protocol == "udp" and use.port in GAZEBO_DISCOVERY_PORTS:
                found.append(PortProblem(use, "belongs to Gazebo's discovery"))
        return found

    def clashes(self) -> list[PortProblem]:
        """Ports that two users want."""
        first: dict[tuple[str, str, int], PortUse] = {}
        found = []
        for use in self.uses:
            host = "here" if use.host in _LOCAL_HOSTS or is_loopback(use.host) else use.host
            other = first.setdefault((host, use.protocol, use.port), use)
            if other is not use and not (other.may_share and use.may_share):
                reason = f"is also wanted by {other.owner} ({other.purpose})"
                found.append(PortProblem(use, reason, other))
        return found

    def check(self) -> None:
        """Refuse a plan that cannot work.

        Raises:
            ConfigError: a port does not exist or belongs to Gazebo.
            PortClashError: two users of one port.
        """
        impossible = self.impossible()
        if impossible:
            raise ConfigError(_listed(impossible), hint="Change [ports] or --port-offset.")
        clashes = self.clashes()
        if clashes:
            raise PortClashError(_listed(clashes), hint=CLASH_HINT)


CLASH_HINT = (
    "Give one of them another port in [ports] or [[vehicle]];"
    " when another program holds it, --port-offset auto moves the whole fleet."
)


def _listed(problems: Sequence[PortProblem]) -> str:
    return "\n".join(str(problem) for problem in problems)


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and 1 <= int(text) <= MAX_PORT
