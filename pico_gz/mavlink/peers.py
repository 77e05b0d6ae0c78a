"""Receivers of frames: what is common to UDP peers, TCP clients and recordings."""

from __future__ import annotations

from abc import ABC, abstractmethod

from pico_gz.mavlink import codec, limits


class Peer(ABC):
    """Somebody our frames go to.

    Attributes:
        label: for people, e.g. ``udp 127.0.0.1:14550``.
        near: on this machine, or chosen by configuration: streams start at once.
        permanent: chosen by configuration: never timed out or evicted.
        link_id: which link it is on, for signatures (0..255).
        v1: it has only ever spoken MAVLink 1, so we answer in kind.
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
        self._spoke_v2 = False

    @abstractmethod
    def write(self, raw: bytes, *, keep: bool) -> None:
        """Queue one frame; never blocks. ``keep``: telemetry is dropped before this one."""

    @abstractmethod
    def flush(self) -> None:
        """Hand what is queued to the operating system; never blocks."""

    @property
    def was_heard(self) -> bool:
        """Whether a good frame ever came from it."""
        return self._frames_heard > 0

    def forget_heard(self) -> None:
        """Take it for somebody who has not spoken yet."""
        self._frames_heard = 0
        self._spoke_v2 = self.v1 = False

    def heard(self, raw: bytes, now_us: int) -> None:
        """Note a good frame from it at wall time ``now_us``."""
        if self._frames_heard == 0:
            self.first_heard_us = now_us
        self._frames_heard += 1
        self.last_heard_us = now_us
        if not self._spoke_v2:
            self._spoke_v2 = not codec.is_v1(raw)
            self.v1 = not self._spoke_v2

    def may_stream(self, now_us: int) -> bool:
        """Return whether it may have streams: near, or it kept talking for a while."""
        return self.near or (
            self._frames_heard >= limits.FAR_PEER_MIN_FRAMES
            and now_us - self.first_heard_us >= limits.FAR_PEER_MIN_AGE_US
        )

    def is_silent(self, now_us: int) -> bool:
        """Return whether it has been silent for so long that it is taken for gone."""
        return not self.permanent and now_us - self.last_heard_us > limits.PEER_TIMEOUT_US
