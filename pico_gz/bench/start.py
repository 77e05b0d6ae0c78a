"""How long a user waits: import, and a whole run from a cold start."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from pico_gz.bench.figure import Figure


def figures() -> list[Figure]:
    """Import time and a run of one simulated second."""
    run = ["run", "--duration", "1", "--speed", "max", "--json", "--adapter", "lightweight"]
    return [
        Figure(
            name="import",
            what="import pico_gz (without starting Python)",
            value=max(0.0, _fastest_s(["-c", "import pico_gz"]) - _fastest_s(["-c", "pass"])),
            unit="s",
            goal=0.2,
        ),
        Figure(
            name="cold_run",
            what="pico-gz run --duration 1 --speed max, from cold",
            value=_fastest_s(["-m", "pico_gz", *run, "--port-offset", "auto"]),
            unit="s",
            goal=1.0,
        ),
    ]


def _fastest_s(arguments: list[str], rounds: int = 4) -> float:
    times_s = []
    with tempfile.TemporaryDirectory() as compiled:
        for _ in range(rounds):
            started_s = time.perf_counter()
            subprocess.run(
                [sys.executable, *arguments],
                check=True,
                capture_output=True,
                timeout=60.0,
                env=_keeping_bytecode(compiled),
            )
            times_s.append(time.perf_counter() - started_s)
    return min(times_s)


def _keeping_bytecode(folder: str) -> dict[str, str]:
    """The environment in which modules are compiled once, as those of an installation are."""
    environ = {name: v for name, v in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**environ, "PYTHONPYCACHEPREFIX": folder}
