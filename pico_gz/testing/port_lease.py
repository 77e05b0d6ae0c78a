"""Ports leased for tests with file locks.

Ports are locked in hundreds. A lock belongs to an open file, so the kernel gives it back when
the process ends, however it ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from pico_gz.core.port_owner import MAX_OFFSET, OFFSET_STEP, find_busy
from pico_gz.core.ports import PortPlan, PortRole, PortUse
from pico_gz.errors import PortClashError

_HUNDRED = 100
# The low ones last: runs of people, and those with --port-offset auto, take them without asking.
_LOW_OFFSETS = range(0, 2_000, OFFSET_STEP)
_OFFSETS: tuple[int, ...] = (*range(_LOW_OFFSETS.stop, MAX_OFFSET + 1, OFFSET_STEP), *_LOW_OFFSETS)
# Below the range from which the kernel takes ports by itself.
_OWN_PORTS = range(20_000, 32_000, _HUNDRED)

_FOLDER_NAME = "pico_gz-ports"
# Not what TMPDIR says: that differs between users and services, the ports do not.
HOST_TMP = Path("/tmp")


def lock_folders() -> list[Path]:
    """Where the locks of this machine are, shared by all its users; each lock is in all of them.

    The second one, where TMPDIR leads elsewhere, is for meeting those who cannot use the first.
    """
    parents = dict.fromkeys([HOST_TMP, Path(tempfile.gettempdir())])
    folders = [parent / _FOLDER_NAME for parent in parents if os.access(parent, os.W_OK | os.X_OK)]
    # Whoever puts a link there chooses where files of ours are made; this user then has its own.
    own = f"{_FOLDER_NAME}-{os.getuid()}"
    return [folder.with_name(own) if folder.is_symlink() else folder for folder in folders]


class PortLeases:
    """The ports that this process has leased. Use it in a ``with`` block."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folders = [folder] if folder else lock_folders()
        self._held: dict[int, list[int]] = {}  # hundred -> file descriptors of its locks

    def __enter__(self) -> PortLeases:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Give everything back; harmless when called twice."""
        while self._held:
            _, locks = self._held.popitem()
            _close(locks)

    def offset_for(self, plan_at: Callable[[int], PortPlan]) -> int:
        """Lease the first offset at which a whole port plan is possible, free and ours.

        Raises:
            PortClashError: there is none.
        """
        for offset in _OFFSETS:
            plan = plan_at(offset)
            if not plan.impossible() and self._lease(_movable(plan)):
                return offset
        raise PortClashError(
            f"No offset up to {MAX_OFFSET} has all ports of this fleet free.",
            hint=f"Use fewer rovers, or fewer test workers; locks are in {self._places()}.",
        )

    def take(self, count: int = 1) -> range:
        """Lease ``count`` ports in a row, free for UDP and for TCP, at most a hundred.

        Raises:
            PortClashError: there are no more.
        """
        for first in _OWN_PORTS:
            uses = [
                loopback_use(protocol, port)
                for port in range(first, first + count)
                for protocol in ("udp", "tcp")
            ]
            if first // _HUNDRED not in self._held and self._lease(uses):
                return range(first, first + count)
        raise PortClashError(
            f"There are no {count} free ports in a row left.",
            hint=f"Locks are in {self._places()}.",
        )

    def take_set(self, ports_at: Callable[[int], Iterable[PortUse]], tries: int) -> int:
        """Lease the ports of the first number below ``tries`` whose ports are free and ours."""
        for number in range(tries):
            if self._lease(list(ports_at(number))):
                return number
        raise PortClashError("There are no free ports left.")

    def _lease(self, uses: Iterable[PortUse]) -> bool:
        """Take all of it or nothing."""
        uses = list(uses)
        hundreds = sorted({use.port // _HUNDRED for use in uses if _is_here(use)})
        taken: dict[int, list[int]] = {}
        for hundred in hundreds:
            locks = [] if hundred in self._held else self._lock(hundred)
            if not locks:
                break
            taken[hundred] = locks
        if len(taken) == len(hundreds) and not find_busy(uses):
            self._held |= taken
            return True
        for locks in taken.values():
            _close(locks)
        return False

    def _lock(self, hundred: int) -> list[int]:
        """Lock a hundred in every folder; empty when another process has one of them."""
        locks: list[int] = []
        for folder in self._folders:
            lock = _lock_file(folder, f"{hundred * _HUNDRED}.lock")
            if lock is None:
                _close(locks)
                return []
            locks.append(lock)
        return locks

    def _places(self) -> str:
        return " and ".join(map(str, self._folders))


def _lock_file(folder: Path, name: str) -> int | None:
    """Lock a file, which is made if need be; ``None`` when another process has it."""
    _make_folder(folder)
    try:
        lock = _open(folder / name)
    except OSError:  # another user's, made at this moment, or no file at all
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def _open(path: Path) -> int:
    # Without waiting: somebody may have put a pipe there.
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        # Not in one call: a shared folder may refuse to "create" another user's file.
        lock = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o644)
    os.fchmod(lock, 0o644)  # for all users, whatever the umask is
    return lock


def _make_folder(folder: Path) -> None:
    if folder.is_dir():
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        folder.mkdir()
        folder.chmod(0o1777)


def _close(locks: Iterable[int]) -> None:
    for lock in locks:
        os.close(lock)


def _is_here(use: PortUse) -> bool:
    """Ports of ground stations are leased too, so that no test hears the rovers of another."""
    return use.role is not PortRole.RESERVED


def _movable(plan: PortPlan) -> list[PortUse]:
    """All but the ports that external ArduRovers open: no offset moves those, they lease theirs."""
    fixed = {
        port for vehicle in plan.vehicles for port in (*vehicle.ardurover_tcp, vehicle.ardurover_rc)
    }
    return [use for use in plan.uses if use.port not in fixed]


def loopback_use(protocol: str, port: int) -> PortUse:
    """A port that a test, or a program that it starts, will open."""
    return PortUse(
        owner="test",
        protocol=protocol,
        port=port,
        host="127.0.0.1",
        role=PortRole.BIND,
        purpose="test",
    )
