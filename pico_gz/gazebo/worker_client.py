"""Requests and topics through the worker process."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from enum import StrEnum
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from pico_gz.errors import (
    LaunchError,
    MissingProgramError,
    SimulatorConnectionError,
    SimulatorError,
    SimulatorTimeoutError,
)
from pico_gz.gazebo import gz_worker
from pico_gz.gazebo.install import APT_PACKAGE, MODULE, find_bindings

_START_S = 20.0
_END_S = 2.0


class Role(StrEnum):
    """What a worker does."""

    REQUESTS = "requests"
    TOPICS = "topics"


class WorkerProcess:
    """Starts a worker on creation; ``connection`` talks to it. It ends with us.

    Args:
        role: what it does.
        environment: what differs from our own environment (``GZ_PARTITION``, ``GZ_IP``).

    Raises:
        MissingProgramError: no Python here has the bindings.
        LaunchError: the bindings do not load.
    """

    def __init__(self, role: Role, environment: Mapping[str, str]) -> None:
        python = find_bindings()
        if not python:
            raise MissingProgramError(
                f"Gazebo's Python bindings ({MODULE}) are not here.",
                hint=f"sudo apt install {APT_PACKAGE}; pico-gz doctor tells more.",
            )
        ours, theirs = socket.socketpair()
        command = [python, "-P", str(Path(gz_worker.__file__)), role, str(theirs.fileno())]
        with theirs:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={**_environment_for(python), **environment},
                pass_fds=(theirs.fileno(),),
                # Ctrl-C is for the kit, which ends its workers itself.
                start_new_session=True,
            )
        self.connection: Any = Connection(ours.detach())
        self._await_start(command)

    def close(self) -> None:
        """End it; harmless when called twice."""
        self.connection.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _await_start(self, command: list[str]) -> None:
        problem = "it does not start"
        with contextlib.suppress(EOFError, OSError):
            if self.connection.poll(_START_S):
                problem = self.connection.recv()
        if problem:
            self.close()
            raise LaunchError(
                f"Gazebo's Python bindings cannot be used: {problem}.",
                command=command,
                exit_code=self._process.returncode,
                hint="pico-gz doctor tells more.",
            )


def _environment_for(python: str) -> dict[str, str]:
    environment = dict(os.environ)
    if python == sys.executable:
        # The bindings may be on a path that only this process knows of.
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    return environment


TIMEOUT_MS = 1000
# A worker that takes longer than the time it was given is stuck.
_SLACK_S = 1.0


class Worker(Protocol):
    """What ``WorkerProcess`` offers."""

    connection: Any

    def close(self) -> None:
        """End it."""


class GzRequests:
    """Makes requests one after the other; a stuck worker is replaced. Safe from any thread."""

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        *,
        start: Callable[[], Worker] | None = None,
    ) -> None:
        given = dict(environment or {})
        self._start: Callable[[], Worker] = start or (lambda: WorkerProcess(Role.REQUESTS, given))
        self._lock = threading.Lock()
        self._worker: Worker | None = None
        self._number = 0
        self._closed = False

    def request(
        self,
        service: str,
        data: bytes,
        request_type: str,
        reply_type: str,
        timeout_ms: int = TIMEOUT_MS,
    ) -> bytes:
        """Make a request and return the reply.

        Raises:
            SimulatorTimeoutError: nobody answered in time.
            SimulatorError: it cannot be asked.
        """
        with self._lock:
            if self._closed:
                raise SimulatorError("Gazebo is not asked any more: closed.")
            ok, reply, problem = self._ask((service, data, request_type, reply_type, timeout_ms))
        if problem:
            raise SimulatorError(f"Gazebo's service {service} cannot be asked: {problem}")
        if not ok:
            raise SimulatorTimeoutError(
                f"Gazebo's service {service} did not answer within {timeout_ms} ms.",
                hint="Does the world run, and with the UserCommands system?",
            )
        return reply

    def close(self) -> None:
        """End the worker; harmless when called twice."""
        with self._lock:
            self._closed = True
            self._drop_worker()

    def _ask(self, question: tuple[str, bytes, str, str, int]) -> tuple[bool, bytes, str]:
        if self._worker is None:
            self._worker = self._start()
        self._number += 1
        connection = self._worker.connection
        try:
            connection.send((self._number, *question))
            if connection.poll(question[-1] / 1000.0 + _SLACK_S):
                _, ok, reply, problem = connection.recv()
                return ok, reply, problem
        except (EOFError, OSError):
            self._drop_worker()
            return False, b"", "the worker process ended"
        self._drop_worker()
        return False, b"", ""

    def _drop_worker(self) -> None:
        if self._worker is not None:
            self._worker.close()
        self._worker = None


class GzTopics:
    """Keeps the newest message of every topic that was asked for. Safe from any thread."""

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        *,
        start: Callable[[], Worker] | None = None,
    ) -> None:
        given = dict(environment or {})
        self._start: Callable[[], Worker] = start or (lambda: WorkerProcess(Role.TOPICS, given))
        self._lock = threading.Lock()
        self._worker: Worker | None = None
        self._topics: set[str] = set()
        self._newest: dict[str, tuple[int, bytes]] = {}

    def subscribe(self, topic: str, kind: str) -> None:
        """Read a topic from now on; asking twice is fine."""
        with self._lock:
            if topic not in self._topics:
                self._send("subscribe", topic, kind)
                self._topics.add(topic)

    def unsubscribe(self, topic: str) -> None:
        """Read it no more; harmless when it is not read."""
        with self._lock:
            if topic in self._topics:
                self._topics.discard(topic)
                self._newest.pop(topic, None)
                self._send("unsubscribe", topic)

    def publish(self, topic: str, kind: str, data: bytes) -> None:
        """Send a message."""
        with self._lock:
            self._send("publish", topic, kind, data)

    def newest(self, topic: str) -> tuple[int, bytes]:
        """How many messages there were so far, and the newest; never blocks.

        Raises:
            SimulatorConnectionError: the worker has ended.
        """
        with self._lock:
            self._drain(0.0)
            return self._newest.get(topic, (0, b""))

    def wait(self, topic: str, seen: int, timeout_s: float) -> tuple[int, bytes]:
        """As ``newest``, but waits until there were more than ``seen``, or for so long."""
        with self._lock:
            self._drain(0.0)
            if self._newest.get(topic, (0, b""))[0] <= seen:
                self._drain(timeout_s)
            return self._newest.get(topic, (0, b""))

    def close(self) -> None:
        """End the worker; harmless when called twice."""
        with self._lock:
            if self._worker is not None:
                self._worker.close()
            self._worker = None
            self._topics.clear()

    def _send(self, *message: object) -> None:
        if self._worker is None:
            self._worker = self._start()
        try:
            self._worker.connection.send(message)
        except OSError as exc:
            raise self._lost() from exc

    def _drain(self, timeout_s: float) -> None:
        """Take all that has been handed over; waits at most so long for the first of it."""
        if self._worker is None:
            return
        connection = self._worker.connection
        try:
            while connection.poll(timeout_s):
                timeout_s = 0.0
                for topic, (count, data) in connection.recv().items():
                    if topic in self._topics:
                        before = self._newest.get(topic, (0, b""))[0]
                        self._newest[topic] = (before + count, data)
        except (EOFError, OSError) as exc:
            raise self._lost() from exc

    def _lost(self) -> SimulatorConnectionError:
        return SimulatorConnectionError("The process that reads Gazebo's topics has ended.")
