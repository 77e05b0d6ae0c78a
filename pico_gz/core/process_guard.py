"""Runs a program and ends it with all its children.

``GuardedProcess`` starts this file with the standard library only, so it is up in no time::

    python -I -S process_guard.py GRACE_S FOLDER FDS COMMAND...

Its stdin is a lifeline: end of file there, for whatever reason (``close``, exit, SIGKILL), ends
the program and everything that it started: SIGTERM, SIGKILL after ``GRACE_S``. Process groups
would not do: with a window, ``gz`` gives its server and its GUI a group each. Then ``FOLDER`` is
removed, unless it is empty text. The program inherits the file descriptors ``FDS``, numbers with
commas. Exits with the program's code, or 128 + N when signal N ended it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LOOK_PERIOD_S = 0.5
_POLL_S = 0.01
# Only what hangs in the kernel takes this long to die; it is not waited for.
_KILL_S = 2.0
_STDIN = 0
NOT_FOUND = 127


def main(arguments: Sequence[str]) -> int:
    """Run a command until it ends or the lifeline is cut."""
    grace_s, folder, command = float(arguments[0]), arguments[1], list(arguments[3:])
    inherited = [int(number) for number in arguments[2].split(",") if number]
    asker = os.getppid()
    # Children that lose their parent become ours, so that none is left over.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    wake = _wake_on_signals()
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            process_group=0,
            preexec_fn=_die_with_guard,
            pass_fds=inherited,
        )
    except OSError as exc:
        sys.stderr.write(f"{command[0]}: {exc.strerror}\n")
        _remove(folder)
        return NOT_FOUND
    for number in inherited:  # its end must be seen at the other side
        os.close(number)
    _wait(child, wake, asker)
    _end_all(child, grace_s)
    _remove(folder)
    code = child.returncode
    return 128 - code if code < 0 else code


def _remove(folder: str) -> None:
    if folder:
        shutil.rmtree(folder, ignore_errors=True)


def _die_with_guard() -> None:
    # The guard has one thread only, so its death cannot be mistaken for that of a thread.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _wake_on_signals() -> int:
    """Have SIGCHLD and SIGTERM noticed by ``select``; returns what to read."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    return reader


def _wait(child: subprocess.Popen[bytes], wake: int, asker: int) -> None:
    """Return when the program has ended or must end."""
    while child.poll() is None:
        readable, _, _ = select.select([_STDIN, wake], [], [], _LOOK_PERIOD_S)
        if wake in readable and signal.SIGTERM in os.read(wake, 64):
            return
        if _STDIN in readable and not os.read(_STDIN, 64):
            return
        # A copy of the lifeline in a forked child would hide that the asker is gone.
        if os.getppid() != asker:
            return


def _end_all(child: subprocess.Popen[bytes], grace_s: float) -> None:
    _signal_all(_living(child), signal.SIGTERM)
    _await_end(child, time.monotonic() + grace_s)
    deadline_s = time.monotonic() + _KILL_S
    # A process that is killed may have started another one meanwhile.
    while (living := _living(child)) and time.monotonic() < deadline_s:
        _signal_all(living, signal.SIGKILL)
        time.sleep(_POLL_S)
    child.wait()


def _await_end(child: subprocess.Popen[bytes], deadline_s: float) -> None:
    while _living(child) and time.monotonic() < deadline_s:
        time.sleep(_POLL_S)


def _living(child: subprocess.Popen[bytes]) -> set[int]:
    """Everything that came of the program and has not ended."""
    # Its own exit code must be read before those of orphans, else it would be lost among them.
    if child.poll() is not None:
        _reap_orphans()
    return _descendants_of(os.getpid())


def _descendants_of(ancestor: int) -> set[int]:
    """Pids of all living children of a process, and of theirs."""
    children: dict[int, list[int]] = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and (parent := _living_parent_of(process)):
            children.setdefault(parent, []).append(int(process.name))
    found: set[int] = set()
    unseen = [ancestor]
    while unseen:
        for pid in children.get(unseen.pop(), ()):
            if pid not in found:
                found.add(pid)
                unseen.append(pid)
    return found


def _living_parent_of(process: Path) -> int:
    """The parent of a process; 0 when the process has ended."""
    try:
        text = (process / "stat").read_bytes()
    except OSError:
        return 0
    # Its name stands in brackets and may hold anything, brackets too.
    state, parent = text.rpartition(b")")[2].split()[:2]
    return 0 if state in (b"Z", b"X") else int(parent)


def _signal_all(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _reap_orphans() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
