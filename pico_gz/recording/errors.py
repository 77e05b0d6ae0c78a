"""What can be wrong with a recording."""

from __future__ import annotations

from pico_gz.errors import ConfigError


class RecordingError(ConfigError):
    """A recording that is not there, or is no recording."""
