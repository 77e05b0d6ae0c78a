"""What ``pico-gz run`` tells people before and after a run."""

from __future__ import annotations

import sys

from pico_gz.bridge.clock import FreeRunning, speed_of
from pico_gz.cli.table import print_table
from pico_gz.session.result import RunResult
from pico_gz.session.session import Session

MAX_ROWS = 20


def print_start(session: Session) -> None:
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
        print("Control it from another terminal: pico-gz ctl status|pause|step 10|speed 5")
    sys.stdout.flush()


def print_summary(result: RunResult) -> None:
    """Say how it went."""
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
