"""The terminal: log lines, live status, start and summary."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from pico_gz.bridge.clock import FreeRunning, speed_of
from pico_gz.bridge.fleet import VehicleInstance
from pico_gz.cli.output import figure, plural, print_table
from pico_gz.core.frames import yaw_from_quat
from pico_gz.core.portable_math import DEG_PER_RAD
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.result import RunResult

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.table import Table

    from pico_gz.vehicle.rc.keyboard import Keyboard


# --- log lines --------------------------------------------------------------------------------

# The same sentence again within this time is not news.
_REPEAT_S = 10.0
# More lines than this in one second are counted instead of shown.
_LINES_PER_S = 20


class _Limit(logging.Filter):
    """Lets a sentence through once per ten seconds, and a bounded number of them per second."""

    def __init__(self) -> None:
        super().__init__()
        self._last_s: dict[str, float] = {}
        self._second = 0
        self._shown = 0
        self._left_out = 0

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if record.created - self._last_s.get(text, -_REPEAT_S) < _REPEAT_S:
            return False
        if len(self._last_s) > 1000:
            self._last_s.clear()
        self._last_s[text] = record.created
        return self._has_room(record)

    def _has_room(self, record: logging.LogRecord) -> bool:
        if int(record.created) != self._second:
            self._second, self._shown = int(record.created), 0
        self._shown += 1
        if self._shown > _LINES_PER_S and record.levelno < logging.ERROR:
            self._left_out += 1
            return False
        # Other handlers get the same record: its text stays.
        record.left_out, self._left_out = self._left_out, 0
        return True


class _Line(logging.Formatter):
    """The level, the message, and how many lines were left out before it."""

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        if not (count := getattr(record, "left_out", 0)):
            return line
        more = plural(count, "warning")
        return f"{line} ({more} before it not shown: pico-gz ctl watch shows all.)"


class _StderrHandler(logging.StreamHandler[TextIO]):
    """Writes to what ``sys.stderr`` is now: the live status puts itself there."""

    is_pico_gz = True

    def __init__(self) -> None:
        logging.Handler.__init__(self, logging.WARNING)
        self.setFormatter(_Line("%(levelname)s: %(message)s"))
        self.addFilter(_Limit())

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        return sys.stderr


def show_warnings() -> None:
    """Write warnings and errors of the kit to stderr, one line each."""
    root = logging.getLogger("pico_gz")
    if not any(getattr(handler, "is_pico_gz", False) for handler in root.handlers):
        root.addHandler(_StderrHandler())


# --- while it runs ----------------------------------------------------------------------------

TABLE_LIMIT = 20
_TERMINAL_PERIOD_S = 0.25
_PLAIN_PERIOD_S = 5.0
_TABLE_HEAD = 2  # lines above its rows
_SPARE = 2  # lines that stay free for what is logged


class LiveStatus:
    """Shows how a run goes while the block lasts; reads published views, disturbs nothing.

    On a terminal a picture at its bottom, with everything that is printed or logged above it;
    elsewhere, and on a terminal that cannot move its cursor, one line now and then.
    """

    def __init__(self, session: FleetRun) -> None:
        self._session = session
        self._closed = threading.Event()
        drawable = sys.stdout.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")
        target = self._loop_terminal if drawable else self._loop_plain
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
        from rich.console import Console
        from rich.live import Live

        console = Console(highlight=False)
        with Live(
            picture(self._session, console),
            console=console,
            refresh_per_second=4,
            transient=True,
            redirect_stderr=sys.stderr.isatty(),  # a file gets its lines itself
        ) as live:
            while not self._closed.wait(_TERMINAL_PERIOD_S):
                live.update(picture(self._session, console))


def picture(session: FleetRun, console: Console) -> Group:
    """What fits the screen: headline, rovers or those in trouble, and the keyboard's sticks."""
    from rich.console import Group
    from rich.text import Text

    lines = [Text(headline(session), no_wrap=True, overflow="ellipsis")]
    keyboard = session.keyboard
    sticks = keyboard.lines(_driven_name(session, keyboard)) if keyboard is not None else []
    below = [Text(line, no_wrap=True, overflow="ellipsis") for line in sticks]
    room = console.height - len(lines) - len(below) - _TABLE_HEAD - _SPARE
    vehicles = list(session.bridge.vehicles)
    if len(vehicles) > min(TABLE_LIMIT, room):
        troubles = session.troubles()
        lines.append(Text(_modes(vehicles, len(troubles)), no_wrap=True, overflow="ellipsis"))
        room -= 1
        vehicles = [vehicle for vehicle in vehicles if vehicle.id in troubles][: max(0, room)]
        table = _table(rows(session, vehicles, troubles), "trouble")
    else:
        table = _table(rows(session, vehicles, {}), "message")
    return Group(*lines, *([table] if table.rows else []), *below)


def _driven_name(session: FleetRun, keyboard: Keyboard) -> str:
    return session.fleet.vehicle(keyboard.chosen).config.label


def _table(cells: Iterator[tuple[str, ...]], last: str) -> Table:
    """Texts of rovers are no markup; each row is one line."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("rover", "north m", "east m", "yaw", "mode", "armed", "wp"):
        to_right = name in ("north m", "east m", "yaw", "wp")
        table.add_column(name, justify="right" if to_right else "left", no_wrap=True)
    # The only column that may become narrower: its texts are cut, not the rovers' names.
    table.add_column(last, no_wrap=False, ratio=1)
    for *known, text in cells:
        table.add_row(*map(Text, known), Text(text, no_wrap=True, overflow="ellipsis"))
    return table


def _modes(vehicles: Sequence[VehicleInstance], troubled: int) -> str:
    counts = Counter(vehicle.status().mode or "-" for vehicle in vehicles)
    modes = ", ".join(f"{number} {mode}" for mode, number in counts.most_common())
    trouble = f"{troubled} in trouble:" if troubled else "none in trouble"
    return f"{modes}; {trouble}"


def headline(session: FleetRun) -> str:
    """One line: time, progress, speed, state."""
    bridge = session.bridge
    time_s = bridge.view.time_us / 1e6
    limit_s = session.limit_s
    progress = f" of {limit_s:g} s ({100.0 * time_s / limit_s:.0f} %)" if limit_s else " s"
    vehicles = list(bridge.vehicles)
    armed = sum(vehicle.status().armed for vehicle in vehicles)
    return (
        f"{time_s:8.1f}{progress}  {session.speed_now():.2f}x  {bridge.state.value}  "
        f"{plural(len(vehicles), 'rover')}, {armed} armed, {bridge.stats.lost_steps} lost steps"
    )


def rows(
    session: FleetRun, vehicles: Sequence[VehicleInstance], troubles: dict[int, str]
) -> Iterator[tuple[str, ...]]:
    """One row per rover; its trouble, if it has one here, instead of its last message."""
    view = session.bridge.view
    for vehicle in vehicles:
        truth, status = view.truth.get(vehicle.id), vehicle.status()
        if truth is None:
            continue
        yield (
            vehicle.config.label,
            figure(truth.north_m, 2),
            figure(truth.east_m, 2),
            figure(yaw_from_quat(truth.quat_wxyz) * DEG_PER_RAD, 0),
            status.mode,
            "yes" if status.armed else "no",
            str(status.waypoint) if status.waypoint >= 0 else "-",
            troubles.get(vehicle.id, status.last_message),
        )


# --- before and after -------------------------------------------------------------------------

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
        f"{fleet.name}: {plural(len(fleet.vehicles), 'rover')} on "
        f"{', '.join(session.bridge.list_adapters())}, {kind} {pace}, seed {fleet.seed}"
    )
    for line in session.connection_lines():
        print(line)
    if session.control_path is not None:
        ctl = f"pico-gz ctl --run {session.control_path.stem}"
        ctl = fleet.outside.ctl if fleet.outside else ctl
        print(f"Control it from another terminal: {ctl} status")
    limit = limit_line(session)
    if limit:
        print(limit)
    if session.keyboard is not None and not sys.stdout.isatty():
        print("Keys: " + session.keyboard.lines("")[-1])
    if session.options.paused:
        print("It starts paused: pico-gz ctl resume, or step 1.")
    sys.stdout.flush()


def limit_line(session: FleetRun) -> str:
    """When a run that is pass or fail has failed; empty for any other."""
    options, limit_s = session.options, session.limit_s
    if not options.until_done or limit_s is None:
        return ""
    line = f"It fails when it is not done within {limit_s:.0f} s of simulation time"
    if options.timeout_s is None and options.duration_s is None:
        line += " (three times the longest mission at cruise speed + 60 s; --timeout S changes it)"
    return line + "."


def print_summary(result: RunResult) -> None:
    """Print the figures of a finished run."""
    print(
        f"\n{result.sim_time_s:.1f} s simulated in {result.wall_s:.1f} s "
        f"({result.rtf:.1f}x real time), {plural(result.steps, 'step')}, {result.lost_steps} lost"
    )
    latency = result.latency_ms
    print(
        f"Sensor to actuator: p50 {latency.p50:.3f} ms, p99 {latency.p99:.3f} ms, "
        f"max {latency.max:.1f} ms"
    )
    rows = [
        (
            int(vehicle_id),
            figure(vehicle.north_m, 2),
            figure(vehicle.east_m, 2),
            figure(vehicle.yaw_deg, 0),
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
    if result.problems:
        print(f"Failed: {plural(len(result.problems), 'problem')}")
    for problem in result.problems[:MAX_ROWS]:
        print(f"  {problem.name}: {problem.reason}")
    if len(result.problems) > MAX_ROWS:
        print(f"  ... and {len(result.problems) - MAX_ROWS} more (--json has all)")
