"""The bridge service.

Usage: python3 -m pico_gz.cli.tools.containers.inside.bridge lightweight|gazebo|as_written
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from pico_gz.cli.tools.containers.inside.settings import ServiceSettings, require_runs, run_service
from pico_gz.run.config.overrides import ATTACH_VARIABLE


def main(arguments: Sequence[str]) -> int:
    """Become ``pico-gz run``."""
    adapter = arguments[0]
    settings = ServiceSettings.read(os.environ)
    if settings.record:
        require_runs()
    command = [sys.executable, "-m", "pico_gz", "run", *settings.run_arguments(adapter)]
    # Gazebo has a container of its own, so it is never the bridge's to start.
    os.environ[ATTACH_VARIABLE] = "1"
    # The process stays the same, so signals reach the run itself.
    os.execv(command[0], command)


if __name__ == "__main__":
    sys.exit(run_service(main, sys.argv[1:]))
