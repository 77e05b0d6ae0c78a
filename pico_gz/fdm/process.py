"""An external autopilot as a child process, ended even when it does not want to.

ArduRover ignores SIGTERM and SIGINT while its simulator is silent, so it is ended before the
server that it talks to, and killed after a second. When this process is killed, the kernel kills
the autopilot; a script around an autopilot should ``exec`` it, or only the script is killed then.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from pico_gz.errors import LaunchError, MissingProgramError

GRACE_S = 1.0
LOG_FILE = "autopilot.log"
_TAIL_LINES = 20
_POLL_S = 0.01
_PR_SET_PDEATHSIG = 1


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
                    preexec_fn=_tie_to_this_process(),
                )
            except FileNotFoundError as exc:
                raise MissingProgramError(
                    f"There is no program {self._command[0]!r}.",
                    hint="Build ArduRover SITL and put it on the PATH, or name it in full.",
                ) from exc
        return self

    def is_running(self) -> bool:
        """Whether it has been started and has not ended."""
        return self._process is not None and not _has_ended(self._process)

    def require_running(self) -> None:
        """Raise what it said last if it has ended by itself.

        Raises:
            LaunchError: with its exit code and last lines.
        """
        if self._process is not None and _has_ended(self._process):
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
        """Ask it and its children to end, then make them; harmless when it has ended."""
        process, self._process = self._process, None
        if process is None or _has_ended(process):
            return
        _signal_group(process, signal.SIGTERM)
        deadline_s = time.monotonic() + GRACE_S
        while not _has_ended(process):
            if time.monotonic() >= deadline_s:
                _signal_group(process, signal.SIGKILL)
            time.sleep(_POLL_S)

    def __enter__(self) -> AutopilotProcess:
        """Start on entry."""
        return self.start()

    def __exit__(self, *_: object) -> None:
        """Stop on exit."""
        self.stop()


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether it has; what it has left running is killed."""
    if process.returncode is None:
        if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            return False
        # While its exit code waits to be read, nobody else can get the number of its group.
        _signal_group(process, signal.SIGKILL)
        process.wait()
    return True


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _tie_to_this_process() -> Callable[[], None] | None:
    """What a new process does to be killed when this one is gone."""
    # The kernel watches the thread, not the process: of threads that end, it would be told too.
    if sys.platform != "linux" or threading.current_thread() is not threading.main_thread():
        return None
    # Found before the fork: a child of a process with threads must not wait for any lock.
    prctl, kill_signal, parent = ctypes.CDLL(None).prctl, int(signal.SIGKILL), os.getpid()

    def tie() -> None:
        prctl(_PR_SET_PDEATHSIG, kill_signal, 0, 0, 0)
        if os.getppid() != parent:  # it was gone before
            os._exit(1)

    return tie
