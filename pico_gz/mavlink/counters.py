"""What the MAVLink side counts, for status lines and for tests of abuse."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from pico_gz.mavlink.splitter import SplitCounters


@dataclass(slots=True)
class MavlinkCounters:
    """Totals since ``open``; plain integers, read from any thread.

    Attributes:
        frames_in: good frames taken.
        frames_out: frames handed to a link.
        rate_limited: frames refused because their sender is over its rate.
        signed_dropped: signed frames refused because we have no key.
        signature_refused: unsigned or wrongly signed frames refused because we have one.
        oversized: datagrams longer than any sensible bundle.
        echoes: frames that carry our own vehicle's id.
        peers_refused: senders refused because all places are taken by live peers.
        send_dropped: datagrams the kernel would not take at once.
        send_errors: datagrams that could not be sent at all.
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
    send_errors: int = 0
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
