"""Requests and topics of a Gazebo, through worker processes."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from enum import StrEnum
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from pico_gz.core.guarded_process import GuardedProcess
from pico_gz.errors import (
    LaunchError,
    MissingProgramError,
    SimulatorConnectionError,
    SimulatorError,
    SimulatorTimeoutError,
)
from pico_gz.gazebo import gz_worker
from pico_gz.gazebo.install import APT_PACKAGE, MODULE, find_bindings

TIMEOUT_MS = 1000
_START_S = 20.0
_END_S = 2.0
# A worker that takes longer than the time it was given is stuck.
_SLACK_S = 1.0
_NOTHING = (0, b"")


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
                hint=f"sudo apt install {APT_PACKAGE}; pico-gz doctor says more.",
            )
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = GuardedProcess(
                [python, "-P", str(Path(gz_worker.__file__)), role, str(theirs.fileno())],
                {**_environment_for(python), **environment},
                _pass_on,
                grace_s=_END_S,
                pass_fds=(theirs.fileno(),),
            )
        self.connection: Any = Connection(ours.detach())
        problem = "it does not start"
        with contextlib.suppress(EOFError, OSError):
            if self.connection.poll(_START_S):
                problem = self.connection.recv()
        if problem:
            self.close()
            raise LaunchError(
                f"Gazebo's Python bindings cannot be used: {problem}.",
                command=self._process.command,
                exit_code=self._process.exit_code,
                hint="pico-gz doctor says more.",
            )

    def close(self) -> None:
        """End it; harmless when called twice."""
        self.connection.close()
        self._process.stop()


def _pass_on(line: str) -> None:
    """Show what the bindings print where they would print it."""
    sys.stderr.write(f"{line}\n")


def _environment_for(python: str) -> dict[str, str]:
    environment = dict(os.environ)
    if python == sys.executable:
        # The bindings may be on a path that only this process has.
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    return environment


class GzTransport:
    """Requests and topics of one Gazebo. Safe from any thread.

    The bindings cannot do both in one process, so each has a worker, started when it is first
    needed. Requests are made one after the other, and a stuck worker is replaced. Of each
    subscribed topic the newest message is kept.

    Args:
        environment: ``GZ_PARTITION`` and ``GZ_IP`` of the Gazebo; default: our own.
        start: starts a worker.
    """

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        *,
        start: Callable[[Role], WorkerProcess] | None = None,
    ) -> None:
        given = dict(environment or {})
        self._start: Callable[[Role], WorkerProcess] = start or (
            lambda role: WorkerProcess(role, given)
        )
        self._workers: dict[Role, WorkerProcess] = {}
        # One lock each: a request that waits must not delay a topic.
        self._request_lock, self._topic_lock = threading.Lock(), threading.Lock()
        self._closed = False
        self._number = 0
        self._newest: dict[str, tuple[int, bytes]] = {}  # of all subscribed topics

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
            SimulatorTimeoutError: there was no answer in time.
            SimulatorError: the request cannot be made.
        """
        with self._request_lock:
            question = (service, data, request_type, reply_type)
            ok, reply, problem = self._ask(question, timeout_ms)
        if problem:
            raise SimulatorError(f"Gazebo's service {service} cannot be asked: {problem}")
        if not ok:
            raise SimulatorTimeoutError(
                f"Gazebo's service {service} did not answer within {timeout_ms} ms.",
                hint="Does the world run, and with the UserCommands system?",
            )
        return reply

    def subscribe(self, topic: str, kind: str) -> None:
        """Read a topic from now on; asking twice is fine."""
        with self._topic_lock:
            if topic not in self._newest:
                self._send("subscribe", topic, kind)
                self._newest[topic] = _NOTHING

    def unsubscribe(self, topic: str) -> None:
        """Read it no more; harmless when it is not read."""
        with self._topic_lock:
            if self._newest.pop(topic, None) is not None:
                self._send("unsubscribe", topic)

    def publish(self, topic: str, kind: str, data: bytes) -> None:
        """Send a message."""
        with self._topic_lock:
            self._send("publish", topic, kind, data)

    def newest(self, topic: str) -> tuple[int, bytes]:
        """How many messages there were so far, and the newest; never blocks.

        Raises:
            SimulatorConnectionError: the worker has ended.
        """
        with self._topic_lock:
            self._drain(0.0)
            return self._newest.get(topic, _NOTHING)

    def wait(self, topic: str, seen: int, timeout_s: float) -> tuple[int, bytes]:
        """As ``newest``, but waits until there were more than ``seen``, or for so long."""
        with self._topic_lock:
            self._drain(0.0)
            if self._newest.get(topic, _NOTHING)[0] <= seen:
                self._drain(timeout_s)
            return self._newest.get(topic, _NOTHING)

    def close(self) -> None:
        """End the workers; harmless when called twice."""
        self._closed = True
        with self._request_lock:
            self._drop(Role.REQUESTS)
        with self._topic_lock:
            self._drop(Role.TOPICS)
            self._newest.clear()

    def _connection(self, role: Role) -> Any:
        if self._closed:
            raise SimulatorError("Gazebo is not asked any more: closed.")
        if role not in self._workers:
            self._workers[role] = self._start(role)
        return self._workers[role].connection

    def _drop(self, role: Role) -> None:
        worker = self._workers.pop(role, None)
        if worker is not None:
            worker.close()

    def _ask(
        self, question: tuple[str, bytes, str, str], timeout_ms: int
    ) -> tuple[bool, bytes, str]:
        connection = self._connection(Role.REQUESTS)
        self._number += 1
        problem = ""
        try:
            connection.send((self._number, *question, timeout_ms))
            if connection.poll(timeout_ms / 1000.0 + _SLACK_S):
                _, ok, reply, problem = connection.recv()
                return ok, reply, problem
        except (EOFError, OSError):
            problem = "the worker process ended"
        self._drop(Role.REQUESTS)
        return False, b"", problem

    def _send(self, *message: object) -> None:
        try:
            self._connection(Role.TOPICS).send(message)
        except OSError as exc:
            raise self._lost() from exc

    def _drain(self, timeout_s: float) -> None:
        """Take all that has been handed over; waits at most so long for the first of it."""
        if Role.TOPICS not in self._workers:
            return
        connection = self._workers[Role.TOPICS].connection
        try:
            while connection.poll(timeout_s):
                timeout_s = 0.0
                for topic, (count, data) in connection.recv().items():
                    if topic in self._newest:
                        self._newest[topic] = (self._newest[topic][0] + count, data)
        except (EOFError, OSError) as exc:
            raise self._lost() from exc

    def _lost(self) -> SimulatorConnectionError:
        return SimulatorConnectionError("The process that reads Gazebo's topics has ended.")
