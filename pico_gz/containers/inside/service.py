"""How every service starts: an error becomes one or two lines in the container's log."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from pico_gz.errors import PicoGzError

BAD_SETTINGS = 2


def run_service(main: Callable[[Sequence[str]], int], arguments: Sequence[str]) -> int:
    """Run a service and return its exit code."""
    try:
        return main(arguments)
    except PicoGzError as error:
        hint = f"\n{error.hint}" if error.hint else ""
        sys.stderr.write(f"Error: {error.message}{hint}\n")
        return BAD_SETTINGS
