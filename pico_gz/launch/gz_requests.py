"""Requests to Gazebo's services, through a worker."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from pico_gz.errors import SimulatorError, SimulatorTimeoutError
from pico_gz.launch.gz_worker_process import Role, WorkerProcess

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
