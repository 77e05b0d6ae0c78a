"""All links of a fleet: opening, polling, routing, flushing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from pico_gz.core.ports import Link, LinkKind, is_loopback
from pico_gz.mavlink import codec
from pico_gz.mavlink.endpoint import VehicleEndpoint
from pico_gz.mavlink.links import (
    FRAMES_PER_S,
    LinkCallbacks,
    MavlinkCounters,
    OpenLink,
    Peer,
)
from pico_gz.mavlink.signing import Signer
from pico_gz.mavlink.tcp_link import TcpServer
from pico_gz.mavlink.udp_link import UdpLink
from pico_gz.wire.datagrams import UdpPoller

_log = logging.getLogger(__name__)

Members = Mapping[int, VehicleEndpoint]

_DATAGRAMS_PER_POLL = 256
_TCP_FRAMES_PER_POLL = 64
# A client that commands the whole fleet over one connection needs a little more.
_FRAMES_PER_S_PER_EXTRA_VEHICLE = 20


class LinkRouter:
    """Links and the vehicles they carry; on the simulation thread, except ``totals``."""

    def __init__(
        self,
        counters: MavlinkCounters,
        signer: Signer | None,
        clock_us: Callable[[], int],
        *,
        is_own: Callable[[int], bool],
        bind: str,
        tcp_stall_us: int,
    ) -> None:
        """Start without links; a frame from a system that ``is_own`` is an echo."""
        self._counters = counters
        self._signer = signer
        self._clock_us = clock_us
        self._bind = bind
        self._tcp_stall_us = tcp_stall_us
        self._is_own = is_own
        self._servers: list[TcpServer] = []
        self._udp: dict[int, UdpLink] = {}
        self._dirty: list[Peer] = []
        self._poller = UdpPoller()
        self._opened = 0

    # --- opening and closing --------------------------------------------------------------------

    def open_link(self, spec: Link, who: str, members: Members) -> OpenLink:
        """Open a link that carries ``members``, also those that join them later.

        Raises:
            PortClashError: the port is in use.
            ConfigError: a host name is unknown.
        """
        # The address that the whole kit listens on was warned of with [net] bind.
        if spec.listens and not is_loopback(spec.host) and spec.host != self._bind:
            _log.warning("%s: %s can be reached from other machines.", who, spec)
        self._opened += 1
        link_id = self._opened & 0xFF
        callbacks = self._callbacks_for(who, members)
        if spec.kind is LinkKind.TCPIN:
            server = TcpServer(
                spec,
                who,
                link_id,
                callbacks,
                clock_us=self._clock_us,
                stall_us=self._tcp_stall_us,
            )
            server.open()
            self._servers.append(server)
            return server
        link = UdpLink(spec, who, link_id, callbacks, bind=self._bind)
        self._poller.add(link.open(self._clock_us()), self._opened)
        self._udp[self._opened] = link
        return link

    def close_link(self, link: OpenLink) -> None:
        """Close one link; its vehicles stop sending to its peers."""
        if isinstance(link, TcpServer):
            self._servers.remove(link)
        elif isinstance(link, UdpLink):
            if link.transport is not None:
                self._poller.remove(link.transport)
            self._udp = {key: one for key, one in self._udp.items() if one is not link}
        link.close()

    def close(self) -> None:
        """Close everything; closing twice is fine."""
        self.flush()
        for link in self.links:
            self.close_link(link)
        self._poller.close()

    def _callbacks_for(self, who: str, members: Members) -> LinkCallbacks:
        def joined(peer: Peer) -> None:
            _log.info("%s: sending to %s", who, peer.label)
            for endpoint in members.values():
                endpoint.attach(peer)

        def left(peer: Peer) -> None:
            _log.info("%s: %s is gone", who, peer.label)
            for endpoint in members.values():
                endpoint.detach(peer)

        def deliver(raw: bytes, peer: Peer) -> None:
            self._route(raw, peer, members)

        return LinkCallbacks(self._counters, self._dirty, self._admit, deliver, joined, left)

    # --- every turn -----------------------------------------------------------------------------

    def poll(self, now_us: int) -> None:
        """Take what has arrived, up to a limit; the rest waits for the next turn."""
        budget = _DATAGRAMS_PER_POLL
        for key in self._poller.wait(0.0):
            budget -= self._udp[key].poll(now_us, budget)
        for server in self._servers:
            server.poll(now_us, _TCP_FRAMES_PER_POLL)

    def flush(self) -> None:
        """Hand everything queued in this turn to the operating system."""
        if self._dirty:
            for peer in self._dirty:
                if not peer.closed:
                    peer.flush()
            self._dirty.clear()

    def expire(self, now_us: int) -> None:
        """Forget peers that have been silent for too long."""
        for link in self._udp.values():
            link.expire(now_us)

    def set_fleet_size(self, vehicles: int) -> None:
        """Let TCP clients, which may command the whole fleet, send accordingly more."""
        extra = max(0, vehicles - 1) * _FRAMES_PER_S_PER_EXTRA_VEHICLE
        for server in self._servers:
            server.frames_per_s = float(FRAMES_PER_S + extra)

    @property
    def links(self) -> tuple[OpenLink, ...]:
        """All open links."""
        return (*self._servers, *self._udp.values())

    def totals(self) -> dict[str, int]:
        """Return all counters by name, those of the network threads included."""
        sums = self._counters.as_dict()
        for server in tuple(self._servers):
            for name, count in server.network_counters.as_dict().items():
                sums[name] += count
        return sums

    # --- receiving ------------------------------------------------------------------------------

    def _admit(self, raw: bytes) -> bool:
        if self._signer is None:
            if codec.is_signed(raw):
                self._counters.signed_dropped += 1
                return False
            return True
        if self._signer.accepts(raw):
            return True
        self._counters.signature_refused += 1
        return False

    def _route(self, raw: bytes, peer: Peer, members: Members) -> None:
        """Bring a frame to the vehicles it is meant for."""
        self._counters.frames_in += 1
        sender, component = codec.source(raw)
        if component == codec.AUTOPILOT_COMPONENT and self._is_own(sender):
            self._counters.echoes += 1
            return
        if not members or codec.message_id(raw) not in next(iter(members.values())).handled_ids:
            return
        message = codec.decode(raw)
        if message is None:
            return
        # MANUAL_CONTROL alone calls it differently; 0 is the whole fleet.
        target = int(getattr(message, "target_system", getattr(message, "target", 0)))
        endpoints = tuple(members.values()) if target == 0 else (members.get(target),)
        for endpoint in endpoints:
            if endpoint is not None:
                endpoint.receive(raw, message, peer)
