"""The supervisor of child programs, which cannot outlive the kit."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pico_gz.core import process_guard

GRACE_S = 2.0
# In the environment of everything that comes of one program.
MARK = "PICO_GZ_GUARDED"
# The guard needs this long at most to notice, kill and report, also on a busy machine.
_GUARD_SLACK_S = 5.0
_JOIN_S = 1.0


class GuardedProcess:
    """A program that is ended with all its children, and with theirs, when we are gone.

    That holds for ``stop``, for the end of this process, and for SIGKILL to it: the program
    runs under ``guard``, which sees the end of our pipe. (The kernel's own parent-death signal
    would come when the *thread* that started the program ends.)

    Args:
        command: the program and its arguments.
        environment: all of its environment.
        output: takes every line that it writes, on a thread; or a file that they are added to.
        grace_s: how long it may take to end after SIGTERM.
        remove_folder: what to remove when it has ended, also when we are gone by then.
        cwd: where it runs; default: here.
        pass_fds: our file descriptors that it inherits.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        output: Callable[[str], None] | Path,
        *,
        grace_s: float = GRACE_S,
        remove_folder: Path | None = None,
        cwd: Path | None = None,
        pass_fds: Sequence[int] = (),
    ) -> None:
        self.command = tuple(command)
        self._grace_s = grace_s
        self._remove_folder = remove_folder
        self._mark = secrets.token_hex(8)
        folder = str(remove_folder) if remove_folder else ""
        options = [str(grace_s), folder, ",".join(map(str, pass_fds))]
        with contextlib.ExitStack() as opened:
            to_file = opened.enter_context(output.open("ab")) if isinstance(output, Path) else None
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(Path(process_guard.__file__)), *options, *command],
                stdin=subprocess.PIPE,
                stdout=to_file or subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**environment, MARK: self._mark},
                start_new_session=True,
                cwd=cwd,
                pass_fds=pass_fds,
            )
        self._reader: threading.Thread | None = None
        if not isinstance(output, Path):
            self._reader = threading.Thread(
                target=self._read, args=(output,), name="guarded-output", daemon=True
            )
            self._reader.start()

    @property
    def exit_code(self) -> int | None:
        """The program's exit code, 128 + N for signal N; ``None`` while it runs."""
        return self._process.poll()

    def stop(self) -> int:
        """End the program and everything that it started; returns its exit code."""
        process = self._process
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        try:
            code = process.wait(self._grace_s + _GUARD_SLACK_S)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        if code < 0:  # the guard was killed and cannot do its work any more
            _kill_marked(self._mark)
            if self._remove_folder is not None:
                shutil.rmtree(self._remove_folder, ignore_errors=True)
        if self._reader is not None:
            self._reader.join(_JOIN_S)
            if process.stdout is not None and not self._reader.is_alive():
                process.stdout.close()
        return code

    def _read(self, on_line: Callable[[str], None]) -> None:
        stream = self._process.stdout
        if stream is None:
            return
        for line in stream:
            on_line(line.decode("utf-8", "replace").rstrip("\r\n"))


def _kill_marked(mark: str) -> None:
    """End what is left of a program whose family tree is lost."""
    wanted = f"{MARK}={mark}".encode()
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with contextlib.suppress(OSError):
                if wanted in (process / "environ").read_bytes().split(b"\0"):
                    os.kill(int(process.name), signal.SIGKILL)
