"""Lines out of the engine's log streams, and several streams as one."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class LogLine:
    """A line that a service wrote; ``time`` sorts as text."""

    time: str
    service: str
    text: str


def lines_of(service: str, pieces: Iterable[bytes]) -> Iterator[LogLine]:
    """Put the pieces of a stream together to lines; the engine puts the time in front."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from (_line(service, data) for data in whole)
    if rest:
        yield _line(service, rest)


def merged(streams: Iterable[Iterable[LogLine]]) -> Iterator[LogLine]:
    """All lines in the order of their time."""
    return heapq.merge(*streams, key=lambda line: line.time)


def _line(service: str, data: bytes) -> LogLine:
    time, _, text = data.decode("utf-8", "replace").rstrip("\r").partition(" ")
    return LogLine(_sortable(time), service, text)


def _sortable(time: str) -> str:
    """The engine drops zeros at the end of the fraction, so pad to nanoseconds."""
    whole, dot, fraction = time.rstrip("Z").partition(".")
    return f"{whole}.{fraction:0<9}Z" if dot else f"{whole}.000000000Z"
