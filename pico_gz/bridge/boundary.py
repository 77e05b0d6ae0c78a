"""Changes that wait for the moment between two steps."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from pico_gz.errors import ConfigError, LockstepError

log = logging.getLogger(__name__)

T = TypeVar("T")

_MAX_WAIT_S = 30.0


class BoundaryQueue:
    """Runs calls from other threads between steps, in order.

    A lock would not do: a loop that runs flat out takes it again before anybody else gets it.
    """

    def __init__(self) -> None:
        self._owner: int | None = None
        self._free = threading.Event()
        self._free.set()
        self._guard = threading.RLock()
        self._queued: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()

    def claim(self) -> None:
        """The calling thread runs the loop from now on."""
        with self._guard:
            if self._owner is not None:
                raise ConfigError("This bridge is running already.")
            self._owner = threading.get_ident()
            self._free.clear()

    def release(self) -> None:
        """The loop has ended; what is still queued is carried out."""
        with self._guard:
            self.run_queued()
            self._owner = None
            self._free.set()

    def is_foreign_thread(self) -> bool:
        """Whether another thread runs the loop."""
        return self._owner is not None and self._owner != threading.get_ident()

    def wait_until_released(self, timeout_s: float) -> bool:
        """Wait for the loop to end, unless this is its own thread."""
        return True if not self.is_foreign_thread() else self._free.wait(timeout_s)

    def call(self, change: Callable[[], T]) -> T:
        """Carry out ``change`` between two steps and return its result."""
        with self._guard:
            if not self.is_foreign_thread():
                return change()
            result: Future[T] = Future()
            self._queued.put((change, result))
        try:
            return result.result(_MAX_WAIT_S)
        except TimeoutError:
            result.cancel()  # told to have failed, it must not happen later
            raise LockstepError(
                f"The step under way has not ended for {_MAX_WAIT_S:.0f} s."
            ) from None

    def later(self, change: Callable[[], Any]) -> None:
        """Carry out ``change`` between two steps without waiting for it."""
        result: Future[Any] = Future()
        result.add_done_callback(_tell_failure)
        self._queued.put((change, result))

    def run_queued(self) -> None:
        """Carry out what is queued; called by the loop between steps."""
        while not self._queued.empty():
            change, result = self._queued.get()
            if not result.set_running_or_notify_cancel():
                continue
            try:
                result.set_result(change())
            except BaseException as exc:  # belongs to the thread that asked
                result.set_exception(exc)


def _tell_failure(result: Future[Any]) -> None:
    """Nobody waits for this result, so nobody else would say that there is none."""
    error = result.exception()
    if error is not None:
        log.error("A change between two steps failed: %s", error, exc_info=error)
