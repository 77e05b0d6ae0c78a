"""Finding a running run and asking it something."""

from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from pico_gz.errors import ConfigError, PicoGzError

_ANSWER_LIMIT_S = 10.0
_PROBE_LIMIT_S = 1.0


def control_folder() -> Path:
    """Where this user's control sockets are; nobody else may look into it."""
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
