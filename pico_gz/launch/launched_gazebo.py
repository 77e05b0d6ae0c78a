"""The Gazebo adapter that brings its own Gazebo."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pico_gz.adapters.gazebo import GazeboAdapter, GazeboConfig
from pico_gz.errors import PicoGzError, SimulatorConnectionError, SimulatorError
from pico_gz.launch.gazebo_server import GazeboServer
from pico_gz.launch.steered_gazebo import SteeredGazeboAdapter
from pico_gz.messages import SensorData

log = logging.getLogger(__name__)

ATTEMPTS = 2
_LOOK_PERIOD_S = 0.05


class LaunchedGazeboAdapter(SteeredGazeboAdapter):
    """Starts Gazebo on ``connect`` and stops it on ``disconnect``.

    It is ready when the plugin of every vehicle answers. One start in a few dozen never gets
    there, so after ``connect_timeout_s`` Gazebo is ended and started once more.

    Args:
        config: the wire; ``connect_timeout_s`` is the deadline of one start.
        start: starts a Gazebo, anew at each call.
        **others: as for ``SteeredGazeboAdapter``.
    """

    def __init__(
        self, config: GazeboConfig, *, start: Callable[[], GazeboServer], **others: Any
    ) -> None:
        super().__init__(config, **others)
        self._start = start
        self._server: GazeboServer | None = None
        self._cancelled = False

    @property
    def server(self) -> GazeboServer | None:
        """The Gazebo of this connection."""
        return self._server

    def cancel_connect(self) -> None:
        """Make a ``connect`` that waits in another thread give up."""
        self._cancelled = True
        super().cancel_connect()

    def _connect(self) -> None:
        self._cancelled = False
        for attempt in range(1, ATTEMPTS + 1):
            server = self._server = self._start()
            try:
                with self._giving_up_on_trouble(server):
                    super()._connect()
            except SimulatorConnectionError as exc:
                failure = self._judge(server, exc, is_last=attempt == ATTEMPTS)
                self._stop_server()
                if failure is not None:
                    raise failure from exc
                log.warning("Gazebo does not get ready; it is started once more.")
            except BaseException:
                self._stop_server()
                raise
            else:
                return

    def _judge(
        self, server: GazeboServer, waited: SimulatorConnectionError, *, is_last: bool
    ) -> PicoGzError | None:
        """Why there is no point in another attempt; ``None`` when there is."""
        if self._cancelled:
            return waited
        if server.problem():
            return server.failure()
        if is_last:
            text = f"Gazebo was started {ATTEMPTS} times and never got ready: {waited.message}"
            return server.failure(text)
        return None

    def _disconnect(self) -> None:
        try:
            super()._disconnect()
        finally:
            self._stop_server()

    def _step(self, dt_us: int) -> Mapping[int, SensorData]:
        try:
            return super()._step(dt_us)
        except SimulatorError as exc:
            if self._server is not None and self._server.exit_code is not None:
                failure = self._server.failure()
                raise SimulatorError(failure.message, adapter=self.name, hint=failure.hint) from exc
            raise

    def _stop_server(self) -> None:
        if self._server is not None:
            self._server.stop()

    @contextmanager
    def _giving_up_on_trouble(self, server: GazeboServer) -> Iterator[None]:
        """Cut the wait short as soon as Gazebo has ended or complains."""
        done = threading.Event()

        def look() -> None:
            while not done.wait(_LOOK_PERIOD_S):
                if server.problem() or self._cancelled:
                    GazeboAdapter.cancel_connect(self)

        looker = threading.Thread(target=look, name="gazebo-start", daemon=True)
        looker.start()
        try:
            yield
        finally:
            done.set()
            looker.join()
