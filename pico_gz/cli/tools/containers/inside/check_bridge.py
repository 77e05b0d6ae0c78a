"""The bridge's health check.

Usage: python3 -m pico_gz.cli.tools.containers.inside.check_bridge
"""

from __future__ import annotations

import os
import sys
import time
import urllib.error
import urllib.request
from typing import Any

from pico_gz.cli.tools.containers.inside.settings import ServiceSettings
from pico_gz.cli.tools.containers.inside.watch import watch
from pico_gz.core.ports import parse_address
from pico_gz.run.control_socket import ask, find_run

# Below Compose's own timeout, so that the reason is seen.
_TIMEOUT_S = 3.0
_PERIOD_S = 0.3


def main() -> int:
    """Print what is wrong, if anything, and return 0 or 1."""
    return watch(examine)


def examine() -> tuple[bool, str]:
    """Whether the run is well, and one line about it."""
    settings = ServiceSettings.read(os.environ)
    problem = problem_of_view() if settings.dashboard else problem_of_run()
    return not problem, problem or "ok"


def problem_of_run() -> str | None:
    """What is wrong with the run, asked twice; ``None`` when it steps."""
    run = find_run()
    before = ask(run, "status")
    time.sleep(_PERIOD_S)
    return judge(before, ask(run, "status"))


def judge(before: dict[str, Any], after: dict[str, Any]) -> str | None:
    """What two answers of a run, a moment apart, say is wrong."""
    silent = [name for name, vehicle in after["vehicles"].items() if vehicle["north_m"] is None]
    if silent:
        return f"vehicles without any state: {', '.join(silent)}"
    if after["state"] == "paused":
        return None
    if after["state"] != "running":
        return f"the run is {after['state']}"
    if after["steps"] <= before["steps"]:
        return f"the run stands still at {after['sim_time_s']:.1f} s"
    return None


def problem_of_view() -> str | None:
    """What is wrong with the browser view; ``None`` when it says that all is well."""
    _, port = parse_address(os.environ.get("PICO_GZ_DASHBOARD", "127.0.0.1:8085"))
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=_TIMEOUT_S):
            return None
    except urllib.error.HTTPError as error:
        return f"/healthz: {error.code} {error.read(200).decode(errors='replace')}"
    except OSError as error:
        return f"/healthz: {error}"


if __name__ == "__main__":
    sys.exit(main())
