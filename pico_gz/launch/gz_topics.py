"""Gazebo's topics, through a worker: the newest message of each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from pico_gz.errors import SimulatorConnectionError
from pico_gz.launch.gz_requests import Worker
from pico_gz.launch.gz_worker_process import Role, WorkerProcess


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
