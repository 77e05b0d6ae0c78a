"""Gazebo as a viewer of another simulator's run."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping

from pico_gz.bridge.published import FleetView
from pico_gz.core.frames import enu_from_ned, quat_enu_flu_from_ned_frd
from pico_gz.core.log_limit import RateLimitedLog
from pico_gz.core.messages import VehicleTruth
from pico_gz.errors import PicoGzError
from pico_gz.gazebo.gz_messages import GzPose
from pico_gz.gazebo.world_control import GzControl

log = logging.getLogger(__name__)

PERIOD_S = 1.0 / 30.0
_JOIN_S = 3.0
_LOG_PERIOD_S = 10.0


def gazebo_pose(name: str, truth: VehicleTruth) -> GzPose:
    """A vehicle's true place, as Gazebo says it."""
    east, north, up = enu_from_ned(truth.north_m, truth.east_m, truth.down_m)
    return GzPose(name, (east, north, up), quat_enu_flu_from_ned_frd(truth.quat_wxyz))


class GazeboViewer:
    """An observer of a run that moves Gazebo's models, at most 30 times a second.

    It only notes the newest view; a thread of its own moves the models, so that a slow or dead
    Gazebo never delays a step.

    Args:
        names: of the models, by vehicle id; other vehicles are not shown.
        open_mover: reaches the world; called on the thread.
        problem: why Gazebo is gone, ``None`` while it is there.
        on_close: called at the end.
        clock: monotonic wall clock [s].
    """

    def __init__(
        self,
        names: Mapping[int, str],
        open_mover: Callable[[], GzControl],
        *,
        problem: Callable[[], str | None] = lambda: None,
        on_close: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._names = dict(names)
        self._open_mover = open_mover
        self._problem = problem
        self._on_close = on_close
        self._clock = clock
        self._view: FleetView | None = None
        self._shown: FleetView | None = None
        self._log_limit = RateLimitedLog(log, _LOG_PERIOD_S)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="gazebo-viewer", daemon=True)

    def start(self) -> GazeboViewer:
        """Start the thread that moves the models."""
        self._thread.start()
        return self

    def __call__(self, view: FleetView) -> None:
        """Take a step's result; never blocks."""
        self._view = view

    def close(self) -> None:
        """Show no more; harmless when called twice."""
        if self._stop.is_set():
            return
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(_JOIN_S)
        self._on_close()

    def show(self, mover: GzControl) -> bool:
        """Send the newest poses, if they are new; returns whether they were."""
        view = self._view
        if view is None or view is self._shown:
            return False
        self._shown = view
        mover.set_poses(
            [
                gazebo_pose(self._names[vehicle_id], truth)
                for vehicle_id, truth in view.truth.items()
                if vehicle_id in self._names
            ]
        )
        return True

    def _run(self) -> None:
        mover: GzControl | None = None
        try:
            mover = self._open_mover()
            while not self._stop.wait(PERIOD_S):
                if problem := self._problem():
                    log.warning("The view is gone, the run continues: %s", problem)
                    return
                self._show_or_log(mover)
        except PicoGzError as exc:
            log.warning("There is no view: %s", exc.message)
        finally:
            if mover is not None:
                mover.close()

    def _show_or_log(self, mover: GzControl) -> None:
        try:
            self.show(mover)
        except PicoGzError as exc:
            self._log_limit.warn("show", self._clock(), f"Gazebo does not show: {exc.message}")
