"""One vehicle towards one receiver: sequence numbers, protocol version, signature."""

from __future__ import annotations

from pico_gz.mavlink import codec
from pico_gz.mavlink.codec import Outgoing
from pico_gz.mavlink.counters import MavlinkCounters
from pico_gz.mavlink.peers import Peer
from pico_gz.mavlink.signing import Signer


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
