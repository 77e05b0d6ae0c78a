"""Limits that protect a run from ground stations."""

from __future__ import annotations

MAX_PEERS = 8
PEER_TIMEOUT_US = 10_000_000
# Only a peer that has been silent this long makes room: a ground station speaks every second.
PEER_EVICT_SILENCE_US = 3_000_000
FRAMES_PER_S = 500
# How many of them may come at once: each costs a decode in the step that takes it.
FRAMES_BURST = 100
# A client that commands the whole fleet over one connection needs a little more.
FRAMES_PER_S_PER_EXTRA_VEHICLE = 20
# A peer from elsewhere must keep talking before it is worth a stream: one small forged frame
# would otherwise buy ten seconds of telemetry for its victim.
FAR_PEER_MIN_FRAMES = 2
FAR_PEER_MIN_AGE_US = 1_000_000

MAX_DATAGRAM_BYTES = 4096
MAX_SEND_BYTES = 1200
DATAGRAMS_PER_POLL = 256
TCP_FRAMES_PER_POLL = 64
DATAGRAMS_PER_SOCKET = 32

TCP_CLIENTS = 8
TCP_QUEUE_BYTES = 256 * 1024
TCP_INBOX_FRAMES = 1024
TCP_STALL_US = 30_000_000
TCP_FALSE_STARTS_PER_S = 5_000

PARAMS_PER_S = 100
PARAMS_PER_S_FLEET = 1_000


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
