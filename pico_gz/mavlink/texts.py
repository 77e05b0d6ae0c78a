"""Status texts: cut into the chunks that STATUSTEXT can hold."""

from __future__ import annotations

from itertools import count

from pico_gz.mavlink.codec import Message, mav

_CHUNK_BYTES = 50
_MAX_CHUNKS = 5
_text_numbers = count(1)


def status_messages(severity: int, text: str) -> list[Message]:
    """Build STATUSTEXT messages; a long text gets an id and numbered chunks.

    Control characters become "?": a terminal at the other end may obey them.
    """
    clean = "".join(letter if letter.isprintable() else "?" for letter in text)
    data = clean.encode("ascii", "replace")[: _CHUNK_BYTES * _MAX_CHUNKS]
    level = min(max(severity, 0), 7)
    if len(data) <= _CHUNK_BYTES:
        return [mav.MAVLink_statustext_message(level, data)]
    number = next(_text_numbers) % 0xFFFF + 1
    chunks = [data[at : at + _CHUNK_BYTES] for at in range(0, len(data), _CHUNK_BYTES)]
    if len(chunks[-1]) == _CHUNK_BYTES:
        # The receiver knows the end by a chunk that is not full.
        chunks.append(b"")
    return [
        mav.MAVLink_statustext_message(level, chunk, number, index)
        for index, chunk in enumerate(chunks)
    ]
