"""The live status of a run: a table of rovers on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pico_gz.frames import yaw_from_quat
from pico_gz.session.session import Session

if TYPE_CHECKING:
    from rich.console import Group

TABLE_LIMIT = 20
_TERMINAL_PERIOD_S = 0.25
_PLAIN_PERIOD_S = 5.0


class LiveStatus:
    """Shows how a run goes while the block lasts; reads published views, disturbs nothing."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._closed = threading.Event()
        self._on_terminal = sys.stdout.isatty()
        target = self._loop_terminal if self._on_terminal else self._loop_plain
        self._thread = threading.Thread(target=target, name="pico-gz-status", daemon=True)

    def __enter__(self) -> LiveStatus:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._thread.join(timeout=1.0)

    def _loop_plain(self) -> None:
        while not self._closed.wait(_PLAIN_PERIOD_S):
            try:
                print(headline(self._session), flush=True)
            except OSError:  # nobody reads any more; the run goes on
                return

    def _loop_terminal(self) -> None:
        from rich.live import Live

        with Live(picture(self._session), refresh_per_second=4, transient=True) as live:
            while not self._closed.wait(_TERMINAL_PERIOD_S):
                live.update(picture(self._session))


def picture(session: Session) -> Group:
    """The headline and, for a fleet that fits, a table; texts of rovers are no markup."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    shown = [Text(headline(session))]
    table = Table("rover", "north m", "east m", "yaw", "mode", "armed", "wp", "message")
    for row in rows(session):
        table.add_row(*map(Text, row))
    return Group(*shown, table) if table.rows else Group(*shown)


def headline(session: Session) -> str:
    """One line: time, progress, speed, state."""
    bridge = session.bridge
    time_s = bridge.view.time_us / 1e6
    duration_s = session.options.duration_s
    progress = f" of {duration_s:g} s ({100.0 * time_s / duration_s:.0f} %)" if duration_s else " s"
    vehicles = bridge.vehicles()
    armed = sum(vehicle.status().armed for vehicle in vehicles)
    return (
        f"{time_s:8.1f}{progress}  {bridge.stats.real_time_factor:.2f}x  {bridge.state.value}  "
        f"{len(vehicles)} rovers, {armed} armed, {bridge.stats.lost_steps} lost steps"
    )


def rows(session: Session) -> Iterator[tuple[str, ...]]:
    """One row per rover, up to the limit; above it the headline says enough."""
    view = session.bridge.view
    vehicles = session.bridge.vehicles()
    if len(vehicles) > TABLE_LIMIT:
        return
    for vehicle in vehicles:
        truth, status = view.truth.get(vehicle.id), vehicle.status()
        if truth is None:
            continue
        yield (
            vehicle.config.label,
            f"{truth.north_m:.2f}",
            f"{truth.east_m:.2f}",
            f"{math.degrees(yaw_from_quat(truth.quat_wxyz)):.0f}",
            status.mode,
            "yes" if status.armed else "no",
            str(status.waypoint) if status.waypoint >= 0 else "-",
            status.last_message,
        )
