"""The plugin's twin as a process that can be frozen and killed."""

from __future__ import annotations

import select
import signal
import subprocess
import sys
from collections.abc import Sequence

from pico_gz.errors import LaunchError

_READY_S = 20.0


class TwinProcess:
    """Runs ``python -m pico_gz.testing.plugin_twin`` until it is closed."""

    def __init__(
        self, port: int, *, vehicles: int = 1, stride: int = 10, step_us: int = 2000
    ) -> None:
        self._arguments = (
            *("--port", str(port), "--vehicles", str(vehicles)),
            *("--stride", str(stride), "--step-us", str(step_us), "--with-parent"),
        )
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> TwinProcess:
        """Start it and wait until it listens."""
        command: Sequence[str] = (
            sys.executable, "-m", "pico_gz.testing.plugin_twin", *self._arguments,
        )  # fmt: skip
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        stdout = self._process.stdout
        ready = stdout is not None and select.select([stdout], [], [], _READY_S)[0]
        if stdout is None or not ready or not stdout.readline().startswith("ready"):
            self.kill()
            raise LaunchError("The plugin's twin did not start.", command=command)
        return self

    def freeze(self) -> None:
        """Stop it in its tracks, as a debugger would."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it at once; harmless when it has ended."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(5.0)
            if self._process.stdout is not None:
                self._process.stdout.close()
            self._process = None

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def __enter__(self) -> TwinProcess:
        """Start on entry."""
        return self.start()

    def __exit__(self, *_: object) -> None:
        """End on exit."""
        self.kill()
