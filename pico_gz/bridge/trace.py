"""The digest of a run: every step of every vehicle's truth, sensors and actuators, in id order."""

from __future__ import annotations

import hashlib

import msgspec

from pico_gz.bridge.view import FleetView


class TraceDigest:
    """SHA-256 over all that happened. Same seed, fleet and version give the same digest.

    Numbers go in as IEEE 754 bytes (MessagePack), never as rounded text.
    """

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._encoder = msgspec.msgpack.Encoder()
        self._buffer = bytearray()

    def __call__(self, view: FleetView) -> None:
        """Add one step."""
        sensors = view.sensors
        # Column by column: a third of the time of a comprehension for a large fleet.
        truths, commands = map(view.truth.get, sensors), map(view.commands.get, sensors)
        step = list(zip(truths, sensors.values(), commands, strict=True))
        self._encoder.encode_into(step, self._buffer)
        self._hash.update(self._buffer)

    def hexdigest(self) -> str:
        """The digest so far."""
        return self._hash.hexdigest()
