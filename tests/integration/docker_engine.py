"""A Docker engine for tests: the one that answers, or one of our own that ends with the tests.

Tests in several processes share the engine that one of them started: each holds a shared lock
while it uses it, and whoever leaves last ends it. Our own keeps its images in the tests' cache,
away from those of an engine of this machine, and leaves nothing in the machine's network.
"""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import docker_traces
from external_programs import COMPOSE, COMPOSE_ANSWER, DOCKER_ENGINE, path_of, problem_of

CACHE = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "pico_gz_tests"
FOLDER = Path(tempfile.gettempdir()) / f"pico_gz_test_engine-{os.getuid()}"
_HOST = f"unix://{FOLDER}/docker.sock"
_START_S = 60.0
_STOP_S = 30.0


class NoEngineError(Exception):
    """There is no engine, and none can be started; says why."""


def answers(environ=None):
    """Why the engine cannot be used, or an empty text."""
    return problem_of(*DOCKER_ENGINE, environ=environ)


def compose_problem():
    """Why Compose cannot be used, or an empty text."""
    return problem_of(*COMPOSE, answer=COMPOSE_ANSWER)


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
    if path_of("dockerd") is None:
        raise NoEngineError(f"{problem}; and there is no dockerd program to start one")
    FOLDER.mkdir(mode=0o700, exist_ok=True)
    found = {"DOCKER_HOST": _HOST}
    with (FOLDER / "users").open("w") as users:
        with _exclusive("start"):
            fcntl.flock(users, fcntl.LOCK_SH)
            if answers(found):
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
    if not (FOLDER / "traces").exists():  # else one was killed, and its traces are still here
        (FOLDER / "traces").write_text(json.dumps(docker_traces.remember()))
    command = ["dockerd", "--host", environ["DOCKER_HOST"], "--pidfile", str(FOLDER / "pid")]
    command += ["--data-root", str(CACHE / "engine"), "--exec-root", str(FOLDER / "exec")]
    # It may outlive this process, if another one uses it then: nobody's child.
    script = 'log=$1; shift; setsid "$@" >"$log" 2>&1 </dev/null & echo $!'
    words = ["sh", "-c", script, "sh", str(FOLDER / "log"), *command]
    pid = int(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    deadline_s = time.monotonic() + _START_S
    while answers(environ):
        if not Path(f"/proc/{pid}").exists() or time.monotonic() > deadline_s:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            _wait_for_end(pid)
            _remove_traces()
            tail = (FOLDER / "log").read_text().splitlines()[-1:]
            raise NoEngineError(f"dockerd does not start: {' '.join(tail)}")
        time.sleep(0.2)
    _remove_leftovers()


def _remove_leftovers():
    """Containers of tests that were killed: nobody else uses this engine."""
    containers = _own("ps", "-a", "-q").split()
    if containers:
        _own("rm", "-f", "-v", *containers)
    _own("network", "prune", "-f")
    _own("volume", "prune", "-f")


def _own(*words):
    done = subprocess.run(
        ["docker", "--host", _HOST, *words], capture_output=True, text=True, timeout=60, check=False
    )
    return done.stdout


def _stop_if_last(users):
    with _exclusive("start"):
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        with contextlib.suppress(OSError, ValueError):
            pid = int((FOLDER / "pid").read_text())
            _remove_leftovers()
            os.kill(pid, signal.SIGTERM)
            _wait_for_end(pid)
        _remove_traces()


def _remove_traces():
    with contextlib.suppress(OSError):
        docker_traces.remove(json.loads((FOLDER / "traces").read_text()))
        (FOLDER / "traces").unlink()


def _wait_for_end(pid):
    deadline_s = time.monotonic() + _STOP_S
    while time.monotonic() < deadline_s:
        if not Path(f"/proc/{pid}").exists():
            return
        time.sleep(0.1)
