"""All links of a fleet: opening, polling, routing, flushing."""

from __future__ import annotations

import logging
import selectors
from collections.abc import Callable, Mapping

from pico_gz.core.ports import Link, LinkKind, is_loopback
from pico_gz.mavlink import codec, limits
from pico_gz.mavlink.codec import Message
from pico_gz.mavlink.endpoint import VehicleEndpoint
from pico_gz.mavlink.framing import MavlinkCounters
from pico_gz.mavlink.links import LinkCallbacks, Peer
from pico_gz.mavlink.signing import Signer
from pico_gz.mavlink.tcp_link import TcpServer
from pico_gz.mavlink.udp_link import UdpLink

_log = logging.getLogger(__name__)

OpenLink = UdpLink | TcpServer
Members = Mapping[int, VehicleEndpoint]


class LinkRouter:
    """Links and the vehicles they carry; on the simulation thread, except ``totals``."""

    def __init__(
        self,
        counters: MavlinkCounters,
        signer: Signer | None,
        clock_us: Callable[[], int],
        *,
        bind: str,
        tcp_stall_us: int,
    ) -> None:
        self._counters = counters
        self._signer = signer
        self._clock_us = clock_us
        self._bind = bind
        self._tcp_stall_us = tcp_stall_us
        self._links: list[OpenLink] = []
        self._servers: list[TcpServer] = []
        self._dirty: list[Peer] = []
        self._selector = selectors.DefaultSelector()
        self._next_link_id = 0
        self._is_own: Callable[[int], bool] = lambda _: False

    def know_own_ids(self, is_own: Callable[[int], bool]) -> None:
        """Learn which system ids are ours: frames from them are echoes."""
        self._is_own = is_own

    # --- opening and closing --------------------------------------------------------------------

    def open_link(self, spec: Link, who: str, members: Members) -> OpenLink:
        """Open a link that carries ``members``, also those that join them later.

        Raises:
            PortClashError: the port is in use.
            ConfigError: a host name is unknown.
        """
        if spec.listens and not is_loopback(spec.host):
            _log.warning("%s: %s can be reached from other machines.", who, spec)
        self._next_link_id += 1
        link_id = self._next_link_id & 0xFF
        host = self._host_for(who, members)
        if spec.kind is LinkKind.TCPIN:
            server = TcpServer(
                spec,
                who,
                link_id=link_id,
                host=host,
                clock_us=self._clock_us,
                stall_us=self._tcp_stall_us,
            )
            server.open()
            self._servers.append(server)
            self._links.append(server)
            return server
        link = UdpLink(spec, who, bind=self._bind, link_id=link_id, host=host)
        link.open(self._clock_us())
        assert link.socket is not None
        self._selector.register(link.socket, selectors.EVENT_READ, link)
        self._links.append(link)
        return link

    def close_link(self, link: OpenLink) -> None:
        """Close one link and tell its vehicles that the peers are gone."""
        self._links.remove(link)
        if isinstance(link, TcpServer):
            self._servers.remove(link)
        elif link.socket is not None:
            self._selector.unregister(link.socket)
        link.close()

    def close(self) -> None:
        """Close everything; closing twice is fine."""
        self.flush()
        for link in tuple(self._links):
            self.close_link(link)
        self._selector.close()

    def _host_for(self, who: str, members: Members) -> LinkCallbacks:
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
        budget = limits.DATAGRAMS_PER_POLL
        for key, _ in self._selector.select(0):
            budget -= key.data.poll(now_us, budget)
        for server in self._servers:
            server.poll(now_us, limits.TCP_FRAMES_PER_POLL)

    def flush(self) -> None:
        """Hand everything queued in this turn to the operating system."""
        if self._dirty:
            for peer in self._dirty:
                if not peer.closed:
                    peer.flush()
            self._dirty.clear()

    def expire(self, now_us: int) -> None:
        """Forget peers that have been silent for too long."""
        for link in self._links:
            if isinstance(link, UdpLink):
                link.expire(now_us)

    def set_fleet_size(self, vehicles: int) -> None:
        """Let TCP clients, which may command the whole fleet, send accordingly more."""
        extra = max(0, vehicles - 1) * limits.FRAMES_PER_S_PER_EXTRA_VEHICLE
        for server in self._servers:
            server.frames_per_s = float(limits.FRAMES_PER_S + extra)

    @property
    def links(self) -> tuple[OpenLink, ...]:
        """All open links."""
        return tuple(self._links)

    def totals(self) -> dict[str, int]:
        """Return what the network threads counted."""
        sums = {"rate_limited": 0, "tcp_refused": 0, "tcp_cut": 0}
        for server in tuple(self._servers):
            sums["rate_limited"] += server.rate_limited
            sums["tcp_refused"] += server.refused
            sums["tcp_cut"] += server.cut
            for name, count in server.split_totals().items():
                sums[name] = sums.get(name, 0) + count
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
        target = _target_system(message)
        if target:
            endpoint = members.get(target)
            if endpoint is not None:
                endpoint.receive(raw, message, peer)
            return
        for endpoint in tuple(members.values()):
            endpoint.receive(raw, message, peer)


def _target_system(message: Message) -> int:
    """Return whom a message is for; 0 is everybody."""
    target = getattr(message, "target_system", None)
    # MANUAL_CONTROL alone calls it differently.
    return int(getattr(message, "target", 0) if target is None else target)
