"""A Docker engine for tests: the one that answers, or one of our own that ends with the tests.

Tests in several processes share the engine that one of them started: each holds a shared lock
while it uses it, and whoever leaves last ends it.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FOLDER = Path(tempfile.gettempdir()) / f"pico_gz_test_engine-{os.getuid()}"
_START_S = 60.0
_STOP_S = 30.0


class NoEngineError(Exception):
    """There is no engine, and none can be started; says why."""


def answers(environ=None):
    """Why the engine cannot be used, or an empty text."""
    if shutil.which("docker") is None:
        return "there is no docker program on the PATH"
    done = subprocess.run(
        ["docker", "version", "--format", "{{.Server.Version}}"],
        env=environ,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    return "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def compose_problem():
    """Why Compose cannot be used, or an empty text."""
    done = subprocess.run(
        ["docker", "compose", "version", "--short"], capture_output=True, text=True, check=False
    )
    if done.returncode == 0 and done.stdout.lstrip("v").startswith(("2.", "3.", "4.", "5.")):
        return ""
    return "there is no 'docker compose' (version 2)"


@contextlib.contextmanager
def engine():
    """Yield the environment variables that reach an engine.

    Raises:
        NoEngineError: there is none and none can be started.
    """
    problem = answers()
    if not problem:
        yield {}
        return
    if not sys.platform.startswith("linux") or os.getuid() != 0:
        raise NoEngineError(f"{problem}; only root can start one")
    if shutil.which("dockerd") is None:
        raise NoEngineError(f"{problem}; and there is no dockerd program to start one")
    FOLDER.mkdir(mode=0o700, exist_ok=True)
    found = {"DOCKER_HOST": f"unix://{FOLDER}/docker.sock"}
    with (FOLDER / "users").open("w") as users:
        with _exclusive("start"):
            fcntl.flock(users, fcntl.LOCK_SH)
            if answers({**os.environ, **found}):
                _start(found)
        try:
            yield found
        finally:
            fcntl.flock(users, fcntl.LOCK_UN)
            _stop_if_last(users)


@contextlib.contextmanager
def _exclusive(name):
    with (FOLDER / name).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _start(environ):
    # Its images stay where an engine of this machine keeps them, so a second run is quick.
    command = ["dockerd", "--host", environ["DOCKER_HOST"], "--pidfile", str(FOLDER / "pid")]
    # It may outlive this process, if another one uses it then: nobody's child.
    script = 'log=$1; shift; setsid "$@" >"$log" 2>&1 </dev/null & echo $!'
    words = ["sh", "-c", script, "sh", str(FOLDER / "log"), *command]
    pid = int(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    deadline_s = time.monotonic() + _START_S
    while answers({**os.environ, **environ}):
        if not Path(f"/proc/{pid}").exists() or time.monotonic() > deadline_s:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            tail = (FOLDER / "log").read_text().splitlines()[-1:]
            raise NoEngineError(f"dockerd does not start: {' '.join(tail)}")
        time.sleep(0.2)


def _stop_if_last(users):
    with _exclusive("start"):
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        with contextlib.suppress(OSError, ValueError):
            pid = int((FOLDER / "pid").read_text())
            os.kill(pid, signal.SIGTERM)
            _wait_for_end(pid)


def _wait_for_end(pid):
    deadline_s = time.monotonic() + _STOP_S
    while time.monotonic() < deadline_s:
        if not Path(f"/proc/{pid}").exists():
            return
        time.sleep(0.1)
