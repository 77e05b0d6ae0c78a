"""The control socket of a run: server and client.

A request is one line, ``{"command": "pause"}``; so is the answer, ``{"ok": true, "result": {...}}``
or ``{"ok": false, "error": {"code", "message", "hint"}}``. A connection may send many.
"""

from __future__ import annotations

import errno
import logging
import os
import socket
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from pico_gz.errors import ConfigError, PicoGzError

log = logging.getLogger(__name__)

MAX_LINE_BYTES = 65_536
IDLE_LIMIT_S = 60.0
MAX_CLIENTS = 16
_LAST_ANSWERS_S = 0.5
_LONGEST = f"A line has at most {MAX_LINE_BYTES} bytes."

Command = Callable[[Mapping[str, Any]], Any]


class ControlServer:
    """Answers control requests on threads of its own; commands go through the bridge."""

    def __init__(self, path: Path, commands: Mapping[str, Command]) -> None:
        self.path = path
        self._commands = commands
        self._closed = threading.Event()
        self._slots = threading.BoundedSemaphore(MAX_CLIENTS)
        self._asked = 0  # requests that are being answered
        self._answering = threading.Condition()
        self._socket = _bind(path)
        self._thread = threading.Thread(target=self._accept, name="pico-gz-control", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening, answer what was asked, remove the socket; harmless when called twice."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._socket.close()
        self.path.unlink(missing_ok=True)
        self._thread.join(timeout=1.0)
        with self._answering:
            self._answering.wait_for(lambda: not self._asked, timeout=_LAST_ANSWERS_S)

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                client, _ = self._socket.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            if self._slots.acquire(blocking=False):
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()
            else:
                client.close()

    def _serve(self, client: socket.socket) -> None:
        try:
            with client, client.makefile("rb") as lines:
                client.settimeout(IDLE_LIMIT_S)
                while line := lines.readline(MAX_LINE_BYTES):
                    if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
                        _skip_line(lines)
                        client.sendall(_error("ConfigError", "The request is too long.", _LONGEST))
                    else:
                        with self._counted():
                            client.sendall(self._answer(line))
        except OSError as exc:
            log.debug("control client left: %s", exc)
        finally:
            self._slots.release()

    @contextmanager
    def _counted(self) -> Iterator[None]:
        with self._answering:
            self._asked += 1
        try:
            yield
        finally:
            with self._answering:
                self._asked -= 1
                self._answering.notify_all()

    def _answer(self, line: bytes) -> bytes:
        try:
            return msgspec.json.encode({"ok": True, "result": self._call(line)}) + b"\n"
        except PicoGzError as exc:
            return _error(type(exc).__name__, exc.message, exc.hint)
        except Exception as exc:  # a client's request must never end the run
            log.exception("control request failed")
            return _error(type(exc).__name__, str(exc), "")

    def _call(self, line: bytes) -> Any:
        try:
            request = msgspec.json.decode(line)
        except msgspec.DecodeError as exc:
            raise ConfigError(f"Not a JSON line: {exc}") from exc
        if not isinstance(request, dict) or not isinstance(request.get("command"), str):
            raise ConfigError("A request is an object with a 'command'.")
        name = request["command"]
        if name not in self._commands:
            raise ConfigError(
                f"Unknown command {name!r}.", hint="Known: " + ", ".join(sorted(self._commands))
            )
        return self._commands[name](request)


def _skip_line(lines: BinaryIO) -> None:
    """Read on to the end of a line that is too long, so that it gets one answer."""
    while (part := lines.readline(MAX_LINE_BYTES)) and not part.endswith(b"\n"):
        pass


def _bind(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _make_private_folder(path.parent)
        path.unlink(missing_ok=True)
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen(MAX_CLIENTS)
        listener.settimeout(0.2)
    except OSError as exc:
        listener.close()
        raise ConfigError(
            f"The control socket {path} cannot be opened: {exc.strerror or exc}.",
            hint="Set XDG_RUNTIME_DIR to a short folder of your own.",
        ) from exc
    return listener


def _make_private_folder(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    problem = _not_private(folder)
    if problem:
        raise PermissionError(errno.EPERM, problem)


def _not_private(folder: Path) -> str | None:
    """Why this folder is not to be trusted: the shared /tmp may hold one that others prepared."""
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        return "its folder is a link or a file"
    if status.st_uid != os.getuid():
        return "its folder belongs to another user"
    return "other users may write to its folder" if status.st_mode & 0o022 else None


def _error(code: str, message: str, hint: str) -> bytes:
    error = {"code": code, "message": message, "hint": hint}
    return msgspec.json.encode({"ok": False, "error": error}) + b"\n"


_ANSWER_LIMIT_S = 10.0
_MAX_ANSWER_BYTES = 16 * 1024 * 1024
_PROBE_LIMIT_S = 1.0


def control_folder() -> Path:
    """Where this user's control sockets are; no other user may read it."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and Path(runtime).is_dir():
        return Path(runtime) / "pico_gz"
    return Path(tempfile.gettempdir()) / f"pico_gz-{os.getuid()}"


def socket_path(run_name: str) -> Path:
    """The control socket of a run."""
    return control_folder() / f"{run_name}.sock"


def running_runs() -> list[str]:
    """Names of the runs that answer; sockets of runs that died are removed.

    Sockets in a folder that other users can change are not looked at: they need not be runs.
    """
    names: list[str] = []
    folder = control_folder()
    if not folder.exists() or _not_private(folder):
        return names
    for path in sorted(folder.glob("*.sock")):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            continue
        probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        probe.settimeout(_PROBE_LIMIT_S)
        try:
            probe.connect(str(path))
            names.append(path.stem)
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
        except OSError:
            continue
        finally:
            probe.close()
    return names


def find_run(name: str | None = None, *, anywhere: bool = True) -> Path:
    """The socket of the run that is meant.

    Args:
        name: of the run, or of its fleet; ``None``: the only run there is.
        anywhere: whether that may be a run that was started in another folder. Without it, a
            run of this folder that has just ended is not mistaken for another one.

    Raises:
        ConfigError: there is none, or it is not clear which.
    """
    names = running_runs()
    if name is not None:
        found = [run for run in names if run == name or run.rpartition("-")[0] == name]
        if len(found) != 1:
            what = f"Several runs are called {name!r}." if found else f"There is no run {name!r}."
            raise ConfigError(what, hint=_listing(found or names))
        return socket_path(found[0])
    if not names:
        raise ConfigError("No run is going on.", hint="Start one: pico-gz run")
    here = [run for run in names if _folder_of(run) == str(Path.cwd())]
    candidates = here or (names if anywhere else [])
    if len(candidates) == 1:
        return socket_path(candidates[0])
    several = len(names) > 1
    what = "Several runs are going on." if several else "No run was started in this folder."
    raise ConfigError(what, hint=_listing(names))


def _folder_of(run: str) -> str:
    """The folder in which a run was started; empty when it does not say."""
    try:
        return str(ask(socket_path(run), "whoami").get("folder", ""))
    except PicoGzError:
        return ""


def ask(path: Path, command: str, /, **arguments: Any) -> Any:
    """Send one request and return its result.

    Raises:
        PicoGzError: the run refused, or did not answer.
    """
    request = msgspec.json.encode({"command": command, **arguments}) + b"\n"
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_ANSWER_LIMIT_S)
            connection.connect(str(path))
            connection.sendall(request)
            with connection.makefile("rb") as lines:
                line = lines.readline(_MAX_ANSWER_BYTES)
    except OSError as exc:
        raise PicoGzError(f"The run does not answer: {exc}.") from exc
    if not line:
        raise PicoGzError("The run ended before it answered.")
    try:
        answer = msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.DecodeError as exc:
        raise PicoGzError(f"What answers at {path} is no run: {exc}.") from exc
    if not answer.get("ok"):
        error = answer.get("error") or {}
        raise ConfigError(
            error.get("message", "The run gave no answer."), hint=error.get("hint", "")
        )
    return answer["result"]


def _listing(names: list[str]) -> str:
    return "Runs: " + ", ".join(names) + ". Choose with --run NAME." if names else ""
