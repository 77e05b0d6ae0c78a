"""Radio control: from its sources straight into the platforms, at step boundaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pico_gz.bridge.fleet import VehicleInstance
from pico_gz.errors import PortClashError
from pico_gz.port_owner import owner_of
from pico_gz.vehicle.platform import SitlPlatform
from pico_gz.vehicle.rc import RcSource, check_rc_spec, open_rc_source, rc_port

# One pair of hands: keys and sticks drive the first vehicle, the others have no transmitter.
_FOR_ONE_VEHICLE = ("keyboard", "joystick")


class RcFeeder:
    """Polls every vehicle's RC source before each step."""

    def __init__(self, links: Sequence[tuple[SitlPlatform, RcSource]]) -> None:
        self._links = list(links)
        self._lost: set[int] = set()

    def set_lost(self, vehicle_id: int, lost: bool) -> None:
        """Take a vehicle's radio link away, or give it back: loss is no updates."""
        (self._lost.add if lost else self._lost.discard)(vehicle_id)

    def __call__(self, now_us: int) -> None:
        """Hand new frames to the platforms."""
        for platform, source in self._links:
            channels_us = source.poll(now_us)
            if channels_us is not None and platform.vehicle_id not in self._lost:
                platform.inject_rc(channels_us, now_us)

    def save_state(self) -> dict[str, Any]:
        """What every source and the lost links stand at, as plain values."""
        return {
            "lost": sorted(self._lost),
            "sources": [source.save_state() for _, source in self._links],
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``save_state`` gave."""
        self._lost = set(state["lost"])
        for (_, source), saved in zip(self._links, state["sources"], strict=True):
            source.load_state(saved)

    def close(self) -> None:
        """Let go of sockets, devices and the terminal."""
        links, self._links = self._links, []
        for _, source in links:
            source.close()


def open_rc(
    spec: str, vehicles: Sequence[VehicleInstance], *, host: str, port_offset: int
) -> RcFeeder | None:
    """Open the RC source of every vehicle that has a platform; ``None`` without any."""
    kind, _ = check_rc_spec(spec)
    if kind == "none":
        return None
    links: list[tuple[SitlPlatform, RcSource]] = []
    try:
        for vehicle in vehicles:
            if vehicle.platform is None:
                continue
            source = _open(spec, vehicle, host, port_offset)
            if source is not None:
                links.append((vehicle.platform, source))
            if kind in _FOR_ONE_VEHICLE:
                break
    except BaseException:
        RcFeeder(links).close()
        raise
    return RcFeeder(links)


def _open(spec: str, vehicle: VehicleInstance, host: str, port_offset: int) -> RcSource | None:
    try:
        return open_rc_source(spec, vehicle.id, host=host, port_offset=port_offset)
    except PortClashError as exc:
        port = rc_port(vehicle.id) + port_offset
        owner = owner_of("udp", port) or "another program"
        raise PortClashError(
            f"UDP {port} ({vehicle.config.label}, radio control) is in use by {owner}.",
            hint="End that program, or move the whole fleet with --port-offset N.",
        ) from exc
