"""Signs and verifies frames.

Written here instead of using pymavlink's, which stores a stream's time before it has checked
the hash, so that one forged frame could lock a real sender out.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from pathlib import Path

from pico_gz.errors import ConfigError
from pico_gz.mavlink import codec

KEY_BYTES = 32
# 2015-01-01 in Unix seconds: where signature time starts; it counts in 10 us.
_EPOCH_UNIX_S = 1_420_070_400
_TICKS_PER_S = 100_000
_MAX_AGE_TICKS = 60 * _TICKS_PER_S
_HASH_BYTES = 6
_MAX_STREAMS = 256


def signature_time_now() -> int:
    """Return the current signature time from the system clock [10 us since 2015]."""
    return int((time.time() - _EPOCH_UNIX_S) * _TICKS_PER_S)


def load_key(path: Path) -> bytes:
    """Read a key file: 32 raw bytes or 64 hexadecimal digits, readable by its owner only.

    Raises:
        ConfigError: missing, readable by others, or not a key. The message never holds it.
    """
    try:
        mode = path.stat().st_mode
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"Cannot read the signing key {path}: {error.strerror}.") from error
    if mode & 0o077:
        raise ConfigError(
            f"The signing key {path} can be read by others.", hint=f"chmod 600 {path}"
        )
    if len(data) == KEY_BYTES:
        return data
    try:
        key = bytes.fromhex(data.decode("ascii").strip())
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise ConfigError(f"The signing key {path} is neither 32 bytes nor 64 hex digits.")
    return key


class Signer:
    """Signs what we send and checks what we receive; one object for all links.

    Attributes:
        refused: frames refused so far, for whatever reason.
    """

    def __init__(self, key: bytes, start_ticks: int) -> None:
        """Take the key and the signature time to start from [10 us since 2015].

        Raises:
            ConfigError: the key has not 32 bytes.
        """
        if len(key) != KEY_BYTES:
            raise ConfigError(f"A signing key has {KEY_BYTES} bytes, this one {len(key)}.")
        self._key = key
        self._ticks = start_ticks
        self._streams: dict[tuple[int, int, int], int] = {}
        self.refused = 0

    def __repr__(self) -> str:
        return "Signer(key hidden)"

    def advance_to(self, ticks: int) -> None:
        """Let the signature time follow a clock; it never goes back."""
        self._ticks = max(self._ticks, ticks)

    def sign(self, raw: bytes, link_id: int) -> bytes:
        """Append the signature to a frame that was made with ``FLAG_SIGNED``."""
        self._ticks += 1
        signed = raw + bytes((link_id & 0xFF,)) + self._ticks.to_bytes(6, "little")
        return signed + self._hash(signed)

    def accepts(self, raw: bytes) -> bool:
        """Return whether a received frame is signed with our key and not a repetition."""
        good = codec.is_signed(raw) and self._is_genuine(raw)
        self.refused += not good
        return good

    def _is_genuine(self, raw: bytes) -> bool:
        ticks = int.from_bytes(raw[-12:-6], "little")
        stream = (raw[-codec.SIGNATURE_BYTES], *codec.source(raw))
        newest = self._streams.get(stream)
        if newest is None:
            if ticks + _MAX_AGE_TICKS < self._ticks or len(self._streams) >= _MAX_STREAMS:
                return False
        elif ticks <= newest:
            return False
        if not hmac.compare_digest(self._hash(raw[:-_HASH_BYTES]), raw[-_HASH_BYTES:]):
            return False
        # Only a genuine frame may move a stream's time.
        self._streams[stream] = ticks
        self._ticks = max(self._ticks, ticks)
        return True

    def _hash(self, data: bytes) -> bytes:
        return hashlib.sha256(self._key + data).digest()[:_HASH_BYTES]
