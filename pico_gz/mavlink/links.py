"""Receivers of frames: rate limits, sequence numbers and counters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields

from pico_gz.core.ports import Link
from pico_gz.mavlink import codec
from pico_gz.mavlink.codec import Outgoing, SplitCounters
from pico_gz.mavlink.signing import Signer

FRAMES_PER_S = 500
# How many of them may come at once: each costs a decode in the step that takes it.
FRAMES_BURST = 100
PEER_TIMEOUT_US = 10_000_000
# A peer on another machine must keep sending before it gets a stream: one small forged frame
# would otherwise buy ten seconds of telemetry for its victim.
_FAR_PEER_MIN_FRAMES = 2
_FAR_PEER_MIN_AGE_US = 1_000_000


class TokenBucket:
    """Lets ``rate_per_s`` through on average, and bursts up to ``burst``."""

    __slots__ = ("_filled_us", "_tokens", "burst", "rate_per_s")

    def __init__(self, rate_per_s: float, burst: float, now_us: int = 0) -> None:
        self.rate_per_s = rate_per_s
        self.burst = burst
        self._tokens = burst
        self._filled_us = now_us

    def take(self, now_us: int, count: float = 1.0) -> bool:
        """Take ``count`` tokens at wall time ``now_us``, or none and return False."""
        elapsed_us = now_us - self._filled_us
        if elapsed_us > 0:
            self._tokens = min(self.burst, self._tokens + elapsed_us * self.rate_per_s * 1e-6)
            self._filled_us = now_us
        if self._tokens < count:
            return False
        self._tokens -= count
        return True


@dataclass(slots=True)
class MavlinkCounters:
    """Totals since ``open``; plain integers, written by one thread and read from any.

    Attributes:
        frames_in: good frames taken.
        frames_out: frames handed to a link.
        rate_limited: frames refused because their sender is over its rate.
        signed_dropped: signed frames refused because we have no key.
        signature_refused: unsigned or wrongly signed frames refused because we have one.
        oversized: datagrams longer than any sensible bundle.
        echoes: frames that carry our own vehicle's id.
        peers_refused: senders refused because all places are taken by live peers.
        send_dropped: datagrams that could not be handed to the kernel at once.
        tcp_refused: connections beyond the limit.
        tcp_dropped: telemetry frames dropped from a full queue.
        tcp_cut: clients cut because they took nothing for too long.
        handler_errors: messages whose handling raised.
        encode_errors: messages that could not be packed.
        split: what was found between good frames.
    """

    frames_in: int = 0
    frames_out: int = 0
    rate_limited: int = 0
    signed_dropped: int = 0
    signature_refused: int = 0
    oversized: int = 0
    echoes: int = 0
    peers_refused: int = 0
    send_dropped: int = 0
    tcp_refused: int = 0
    tcp_dropped: int = 0
    tcp_cut: int = 0
    handler_errors: int = 0
    encode_errors: int = 0
    split: SplitCounters = field(default_factory=SplitCounters)

    def as_dict(self) -> dict[str, int]:
        """Return all totals by name."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "split"}
        return own | {f.name: getattr(self.split, f.name) for f in fields(self.split)}


class Peer(ABC):
    """A receiver of our frames.

    Attributes:
        label: for people, e.g. ``udp 127.0.0.1:14550``.
        near: on this machine, or chosen by configuration: streams start at once.
        permanent: chosen by configuration: never timed out or evicted.
        link_id: which link it is on, for signatures (0..255).
        v1: it has only ever sent MAVLink 1, so we answer in kind.
        closed: it is gone; nothing is sent any more.
    """

    def __init__(self, label: str, *, near: bool, permanent: bool, link_id: int) -> None:
        self.label = label
        self.near = near
        self.permanent = permanent
        self.link_id = link_id
        self.v1 = False
        self.closed = False
        self.first_heard_us = -1
        self.last_heard_us = -1
        self._frames_heard = 0
        self._sent_v2 = False

    @abstractmethod
    def write(self, raw: bytes, *, keep: bool) -> None:
        """Queue one frame; never blocks. ``keep``: telemetry is dropped before this one."""

    @abstractmethod
    def flush(self) -> None:
        """Hand what is queued to the operating system; never blocks."""

    @property
    def is_congested(self) -> bool:
        """Whether long lists should wait, because it takes less than we send."""
        return False

    @property
    def was_heard(self) -> bool:
        """Whether a good frame ever came from it."""
        return self._frames_heard > 0

    def forget_heard(self) -> None:
        """Treat it as a peer that has not sent anything yet."""
        self._frames_heard = 0
        self._sent_v2 = self.v1 = False

    def heard(self, raw: bytes, now_us: int) -> None:
        """Note a good frame from it at wall time ``now_us``."""
        if self._frames_heard == 0:
            self.first_heard_us = now_us
        self._frames_heard += 1
        self.last_heard_us = now_us
        if not self._sent_v2:
            self._sent_v2 = not codec.is_v1(raw)
            self.v1 = not self._sent_v2

    def may_stream(self, now_us: int) -> bool:
        """Return whether it may have streams: near, or it has been sending for a while."""
        return self.near or (
            self._frames_heard >= _FAR_PEER_MIN_FRAMES
            and now_us - self.first_heard_us >= _FAR_PEER_MIN_AGE_US
        )

    def is_silent(self, now_us: int) -> bool:
        """Return whether it has been silent for so long that it counts as gone."""
        return not self.permanent and now_us - self.last_heard_us > PEER_TIMEOUT_US


@dataclass(frozen=True, slots=True)
class LinkCallbacks:
    """What a link reports to.

    Attributes:
        counters: where to count.
        dirty: peers that have something to send at the end of the turn.
        admit: whether a good frame may be handled (signatures).
        deliver: takes an admitted frame and its sender.
        joined: a peer is there; start sending to it.
        left: a peer is gone.
    """

    counters: MavlinkCounters
    dirty: list[Peer]
    admit: Callable[[bytes], bool]
    deliver: Callable[[bytes, Peer], None]
    joined: Callable[[Peer], None]
    left: Callable[[Peer], None]


class OpenLink(ABC):
    """A socket that carries one vehicle, or the whole fleet; each kind has its ``open``.

    Attributes:
        spec: what it opens.
        who: its owner, for messages to people.
        link_id: its number, for signatures.
        callbacks: where frames and peers are reported.
    """

    def __init__(self, spec: Link, who: str, link_id: int, callbacks: LinkCallbacks) -> None:
        self.spec = spec
        self.who = who
        self.link_id = link_id
        self.callbacks = callbacks

    @property
    @abstractmethod
    def peers(self) -> tuple[Peer, ...]:
        """The receivers it has now."""

    @abstractmethod
    def local_port(self) -> int:
        """Return the port of the socket; 0 while closed."""

    @abstractmethod
    def poll(self, now_us: int, budget: int) -> int:
        """Handle at most ``budget`` of what has arrived; return how many there were."""

    @abstractmethod
    def close(self) -> None:
        """Close the socket and drop the peers; closing twice is fine."""


class Channel:
    """Frames messages of one vehicle for one receiver.

    Every receiver has its own sequence, so an answer to one leaves no gap for the others.
    """

    __slots__ = ("_counters", "_sequence", "_signer", "_system_id", "peer")

    def __init__(
        self, system_id: int, peer: Peer, counters: MavlinkCounters, signer: Signer | None = None
    ) -> None:
        self.peer = peer
        self._system_id = system_id
        self._counters = counters
        self._signer = signer
        self._sequence = 0

    def send(self, out: Outgoing) -> None:
        """Frame and queue a message; one that MAVLink 1 lacks is left out for such a peer."""
        peer = self.peer
        if peer.closed:
            return
        if peer.v1:
            if not codec.fits_v1(out.msg_id):
                return
            raw = codec.frame(out, self._sequence, self._system_id, v1=True)
        elif self._signer is None:
            raw = codec.frame(out, self._sequence, self._system_id)
        else:
            raw = codec.frame(out, self._sequence, self._system_id, flags=codec.FLAG_SIGNED)
            raw = self._signer.sign(raw, peer.link_id)
        self._sequence = (self._sequence + 1) & 0xFF
        self._counters.frames_out += 1
        peer.write(raw, keep=out.keep)
