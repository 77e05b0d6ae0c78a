"""The control socket of a run: server and client.

A request is one line, ``{"command": "pause"}``; so is the answer, ``{"ok": true, "result": {...}}``
or ``{"ok": false, "error": {"code", "message", "hint"}}``. A connection may send many.
"""

from __future__ import annotations

import errno
import logging
import os
import socket
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from pico_gz.errors import ConfigError, PicoGzError

log = logging.getLogger(__name__)

MAX_LINE_BYTES = 65_536
IDLE_LIMIT_S = 60.0
MAX_CLIENTS = 16
_LONGEST = f"A line has at most {MAX_LINE_BYTES} bytes."

Command = Callable[[Mapping[str, Any]], Any]


class ControlServer:
    """Answers control requests on threads of its own; commands go through the bridge."""

    def __init__(self, path: Path, commands: Mapping[str, Command]) -> None:
        self.path = path
        self._commands = commands
        self._closed = threading.Event()
        self._slots = threading.BoundedSemaphore(MAX_CLIENTS)
        self._socket = _bind(path)
        self._thread = threading.Thread(target=self._accept, name="pico-gz-control", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening and remove the socket; harmless when called twice."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._socket.close()
        self.path.unlink(missing_ok=True)
        self._thread.join(timeout=1.0)

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
                        answer = _error("ConfigError", "The request is too long.", _LONGEST)
                    else:
                        answer = self._answer(line)
                    client.sendall(answer + b"\n")
        except OSError as exc:
            log.debug("control client left: %s", exc)
        finally:
            self._slots.release()

    def _answer(self, line: bytes) -> bytes:
        try:
            return msgspec.json.encode({"ok": True, "result": self._call(line)})
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
    """The shared /tmp may hold a folder of this name that another user has prepared."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise PermissionError(errno.EPERM, "its folder belongs to another user")


def _error(code: str, message: str, hint: str) -> bytes:
    return msgspec.json.encode(
        {"ok": False, "error": {"code": code, "message": message, "hint": hint}}
    )


_ANSWER_LIMIT_S = 10.0
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
    """Names of the runs that answer; sockets of runs that died are removed."""
    names = []
    for path in sorted(control_folder().glob("*.sock")):
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


def find_run(name: str | None = None) -> Path:
    """The socket of the run of this name, or of the only one there is."""
    names = running_runs()
    if name is not None and name not in names:
        raise ConfigError(f"There is no run {name!r}.", hint=_listing(names))
    if name is None and len(names) != 1:
        what = "Several runs are going on." if names else "No run is going on."
        raise ConfigError(what, hint=_listing(names) if names else "Start one: pico-gz run")
    return socket_path(name or names[0])


def ask(path: Path, command: str, **arguments: Any) -> Any:
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
                answer = msgspec.json.decode(lines.readline() or b"{}")
    except OSError as exc:
        raise PicoGzError(f"The run does not answer: {exc}.") from exc
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
