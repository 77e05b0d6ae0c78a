"""An external autopilot as a child process, ended even when it does not want to.

ArduRover ignores SIGTERM and SIGINT while its simulator is silent, so it is ended before the
server that it talks to, and killed after a second.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from pico_gz.errors import LaunchError, MissingProgramError

GRACE_S = 1.0
LOG_FILE = "autopilot.log"
_TAIL_LINES = 20


class AutopilotProcess:
    """Runs one autopilot in a folder of its own; its output goes to ``autopilot.log`` there."""

    def __init__(self, command: Sequence[str], run_dir: Path) -> None:
        self._command = tuple(command)
        self._run_dir = run_dir
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> AutopilotProcess:
        """Start it.

        Raises:
            MissingProgramError: there is no such program.
        """
        self._run_dir.mkdir(parents=True, exist_ok=True)
        with (self._run_dir / LOG_FILE).open("ab") as output:
            try:
                self._process = subprocess.Popen(
                    self._command,
                    cwd=self._run_dir,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except FileNotFoundError as exc:
                raise MissingProgramError(
                    f"There is no program {self._command[0]!r}.",
                    hint="Build ArduRover SITL and put it on the PATH, or name it in full.",
                ) from exc
        return self

    def is_running(self) -> bool:
        """Whether it has been started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def require_running(self) -> None:
        """Raise what it said last if it has ended by itself.

        Raises:
            LaunchError: with its exit code and last lines.
        """
        if self._process is not None and self._process.poll() is not None:
            raise LaunchError(
                f"{self._command[0]} has ended.",
                command=self._command,
                exit_code=self._process.returncode,
                output_tail=self.last_lines(),
            )

    def last_lines(self) -> list[str]:
        """The end of its output."""
        try:
            text = (self._run_dir / LOG_FILE).read_text(errors="replace")
        except OSError:
            return []
        return text.splitlines()[-_TAIL_LINES:]

    def stop(self) -> None:
        """Ask it to end, then make it; harmless when it has ended."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def __enter__(self) -> AutopilotProcess:
        """Start on entry."""
        return self.start()

    def __exit__(self, *_: object) -> None:
        """Stop on exit."""
        self.stop()
