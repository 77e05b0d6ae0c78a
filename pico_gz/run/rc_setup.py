"""Radio control: from its sources to platforms and external autopilots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from pico_gz.bridge.fleet import VehicleInstance
from pico_gz.core.port_owner import owner_of
from pico_gz.core.ports import RC_BESIDE_ARDUROVER, rc_port
from pico_gz.core.snapshot import Snapshot
from pico_gz.errors import PortClashError
from pico_gz.vehicle.external.records import ExternalRadio
from pico_gz.vehicle.rc import check_rc_spec, open_rc_source
from pico_gz.vehicle.rc.rc_source import RcSource

# One pair of hands: keys and sticks drive the first vehicle, the others have no transmitter.
_FOR_ONE_VEHICLE = ("keyboard", "joystick")
# All neutral but the throttle, which is lower than any stick can be.
_FALLBACK_US = (1500, 1500, 950, 1500, 1500, 1500, 1500, 1500)


class RcReceiver(Protocol):
    """Takes the radio frames of one vehicle: a platform, or the radio of an external one."""

    @property
    def vehicle_id(self) -> int:
        """Id of the vehicle."""

    def inject_rc(self, channels_us: Sequence[int], now_us: int) -> None:
        """Take a frame."""


class RcFeeder(Snapshot):
    """Polls every vehicle's RC source before each step."""

    _state_fields = ("_fallen_back", "_lost", "_radios", "_sources")

    def __init__(self, links: Sequence[tuple[RcReceiver, RcSource]]) -> None:
        self._links = list(links)
        self._sources = [source for _, source in links]
        self._radios = [radio for radio, _ in links if isinstance(radio, ExternalRadio)]
        self._lost: set[int] = set()
        self._fallen_back: set[int] = set()

    def set_lost(self, vehicle_id: int, lost: bool) -> None:
        """Take a vehicle's radio link away, or give it back: loss is no updates."""
        (self._lost.add if lost else self._lost.discard)(vehicle_id)

    def set_fallen_back(self, vehicle_id: int, fallen_back: bool) -> None:
        """Let a receiver say its failsafe values, as many do without a transmitter."""
        (self._fallen_back.add if fallen_back else self._fallen_back.discard)(vehicle_id)

    def __call__(self, now_us: int) -> None:
        """Hand new frames to the receivers."""
        for receiver, source in self._links:
            channels_us = source.poll(now_us)
            if channels_us is None or receiver.vehicle_id in self._lost:
                continue
            if receiver.vehicle_id in self._fallen_back:
                channels_us = _FALLBACK_US
            receiver.inject_rc(channels_us, now_us)
        for radio in self._radios:
            radio.check(now_us)

    def close(self) -> None:
        """Let go of sockets, devices and the terminal."""
        self._links = []
        for source in self._sources:
            source.close()


def open_rc(
    spec: str,
    vehicles: Sequence[VehicleInstance],
    *,
    host: str,
    port_offset: int,
    external: Callable[[int], RcReceiver] | None = None,
) -> RcFeeder | None:
    """Open the RC source of every vehicle; ``None`` without any.

    Args:
        spec: the words of ``--rc``.
        vehicles: whose.
        host: where sources listen.
        port_offset: how far their ports are moved.
        external: the receiver of a vehicle that has no platform, by its id; None: it has none.
    """
    kind, _ = check_rc_spec(spec)
    if kind == "none":
        return None
    links: list[tuple[RcReceiver, RcSource]] = []
    try:
        for vehicle in vehicles:
            receiver: RcReceiver | None = vehicle.platform
            if receiver is None and external is not None:
                receiver = external(vehicle.id)
            if receiver is None:
                continue
            source = _open(spec, vehicle, host, port_offset)
            if source is not None:
                links.append((receiver, source))
            if kind in _FOR_ONE_VEHICLE:
                break
    except BaseException:
        RcFeeder(links).close()
        raise
    return RcFeeder(links)


def _open(spec: str, vehicle: VehicleInstance, host: str, port_offset: int) -> RcSource | None:
    external = vehicle.platform is None
    shift = port_offset + (RC_BESIDE_ARDUROVER if external else 0)
    try:
        return open_rc_source(spec, vehicle.id, host=host, port_offset=shift)
    except PortClashError as exc:
        port = rc_port(vehicle.id, external=external) + port_offset
        owner = owner_of("udp", port) or "another program"
        raise PortClashError(
            f"UDP {port} ({vehicle.config.label}, radio control) is in use by {owner}.",
            hint="End that program, or move the whole fleet with --port-offset N.",
        ) from exc
