"""The terminal: tables, log lines, live status, signals."""

from __future__ import annotations

import logging
import math
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO

from pico_gz.bridge.clock import FreeRunning, speed_of
from pico_gz.cli.output import ExitCode, print_progress, print_table
from pico_gz.core.frames import yaw_from_quat
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.result import RunResult

if TYPE_CHECKING:
    from rich.console import Group


# The same sentence again within this time is not news.
_REPEAT_S = 10.0


class _NotAgain(logging.Filter):
    """Lets a sentence through once per ten seconds."""

    def __init__(self) -> None:
        super().__init__()
        self._last_s: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if record.created - self._last_s.get(text, -_REPEAT_S) < _REPEAT_S:
            return False
        if len(self._last_s) > 1000:
            self._last_s.clear()
        self._last_s[text] = record.created
        return True


def show_warnings(stream: TextIO) -> None:
    """Write warnings and errors of the kit to ``stream``, one line each."""
    root = logging.getLogger("pico_gz")
    if any(getattr(handler, "is_pico_gz", False) for handler in root.handlers):
        return
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    handler.addFilter(_NotAgain())
    handler.is_pico_gz = True  # type: ignore[attr-defined]
    handler.setLevel(logging.WARNING)
    root.addHandler(handler)


TABLE_LIMIT = 20
_TERMINAL_PERIOD_S = 0.25
_PLAIN_PERIOD_S = 5.0


class LiveStatus:
    """Shows how a run goes while the block lasts; reads published views, disturbs nothing."""

    def __init__(self, session: FleetRun) -> None:
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
            except OSError:  # stdout was closed; the run continues
                return

    def _loop_terminal(self) -> None:
        from rich.live import Live

        with Live(picture(self._session), refresh_per_second=4, transient=True) as live:
            while not self._closed.wait(_TERMINAL_PERIOD_S):
                live.update(picture(self._session))


def picture(session: FleetRun) -> Group:
    """The headline and, for a fleet that fits, a table; texts of rovers are no markup."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    shown = [Text(headline(session))]
    table = Table("rover", "north m", "east m", "yaw", "mode", "armed", "wp", "message")
    for row in rows(session):
        table.add_row(*map(Text, row))
    return Group(*shown, table) if table.rows else Group(*shown)


def headline(session: FleetRun) -> str:
    """One line: time, progress, speed, state."""
    bridge = session.bridge
    time_s = bridge.view.time_us / 1e6
    duration_s = session.options.duration_s
    progress = f" of {duration_s:g} s ({100.0 * time_s / duration_s:.0f} %)" if duration_s else " s"
    vehicles = list(bridge.vehicles)
    armed = sum(vehicle.status().armed for vehicle in vehicles)
    return (
        f"{time_s:8.1f}{progress}  {bridge.stats.real_time_factor:.2f}x  {bridge.state.value}  "
        f"{len(vehicles)} rovers, {armed} armed, {bridge.stats.lost_steps} lost steps"
    )


def rows(session: FleetRun) -> Iterator[tuple[str, ...]]:
    """One row per rover, up to the limit; above it the headline says enough."""
    view = session.bridge.view
    vehicles = list(session.bridge.vehicles)
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


MAX_ROWS = 20


def print_start(session: FleetRun) -> None:
    """Say what runs, where to connect, and how to control it."""
    fleet, mode = session.fleet, session.bridge.time_mode
    for note in session.notes:
        print(note, file=sys.stderr)
    speed = speed_of(mode)
    pace = "as fast as possible" if speed is None else f"at {speed:g}x"
    kind = "free-running" if isinstance(mode, FreeRunning) else "lockstep"
    print(
        f"{fleet.name}: {len(fleet.vehicles)} rover{'s' * (len(fleet.vehicles) > 1)} on "
        f"{', '.join(session.bridge.list_adapters())}, {kind} {pace}, seed {fleet.seed}"
    )
    for line in session.connection_lines():
        print(line)
    if session.control_path is not None:
        ctl = fleet.outside.ctl if fleet.outside else "pico-gz ctl"
        print(f"Control it from another terminal: {ctl} status|pause|step 10|speed 5")
    sys.stdout.flush()


def print_summary(result: RunResult) -> None:
    """Print the figures of a finished run."""
    print(
        f"\n{result.sim_time_s:.1f} s simulated in {result.wall_s:.1f} s "
        f"({result.rtf:.1f}x real time), {result.steps} steps, {result.lost_steps} lost"
    )
    latency = result.latency_ms
    print(
        f"Sensor to actuator: p50 {latency.p50:.3f} ms, p99 {latency.p99:.3f} ms, "
        f"max {latency.max:.1f} ms"
    )
    rows = [
        (
            vehicle_id,
            f"{vehicle.north_m:.2f}",
            f"{vehicle.east_m:.2f}",
            f"{vehicle.yaw_deg:.0f}",
            vehicle.mode,
            "armed" if vehicle.armed else "disarmed",
            vehicle.last_message,
        )
        for vehicle_id, vehicle in list(result.final.items())[:MAX_ROWS]
    ]
    print_table(("rover", "north m", "east m", "yaw deg", "mode", "state", "last message"), rows)
    if len(result.final) > MAX_ROWS:
        print(f"... and {len(result.final) - MAX_ROWS} more (--json has all)")
    if result.recording:
        print(f"Recording: {result.recording}")
    print(f"Trace: {result.trace_sha256}")


_EXIT_CODES = {signal.SIGINT: ExitCode.INTERRUPTED, signal.SIGTERM: ExitCode.TERMINATED}

# Two seconds after the signal all must be over: this long a step may still take, and this
# long the last words.
_PATIENCE_S = 1.5
_LAST_WORDS_S = 0.4


class StopOnSignal:
    """Calls ``stop`` on the first signal and ends the process on the second.

    A step that hangs in foreign code would keep the run from stopping: ``last_words`` are said
    without it then, and the process ends.

    Attributes:
        exit_code: what the shell should see; 0 while no signal came.
    """

    def __init__(
        self, stop: Callable[[], None], last_words: Callable[[], None] = lambda: None
    ) -> None:
        self._stop = stop
        self._last_words = last_words
        self._before: dict[int, Any] = {}
        self._patience = _daemon_timer(_PATIENCE_S, self._leave)
        self.exit_code = 0

    def __enter__(self) -> StopOnSignal:
        for number in _EXIT_CODES:
            self._before[number] = signal.signal(number, self._received)
        # A terminal that closes must not end a run in the middle of a step.
        self._before[signal.SIGHUP] = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        return self

    def __exit__(self, *_: object) -> None:
        self._patience.cancel()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _received(self, number: int, frame: FrameType | None) -> None:
        if self.exit_code:
            os._exit(self.exit_code)
        self.exit_code = _EXIT_CODES[signal.Signals(number)]
        self._patience.start()
        self._stop()

    def _leave(self) -> None:
        _daemon_timer(_LAST_WORDS_S, lambda: os._exit(self.exit_code)).start()
        try:
            print_progress("The step under way does not end: left without it.")
            self._last_words()
            sys.stdout.flush()
        except Exception as exc:  # the process ends, whatever they run into
            print_progress(f"There is no summary: {type(exc).__name__}: {exc}")
        finally:
            os._exit(self.exit_code)


def _daemon_timer(delay_s: float, call: Callable[[], None]) -> threading.Timer:
    timer = threading.Timer(delay_s, call)
    timer.daemon = True
    return timer
