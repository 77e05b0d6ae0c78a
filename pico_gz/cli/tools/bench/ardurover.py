"""A real ArduRover on the kit beside one on a bare echo.

The echo answers each servo packet with the same record at a later time, and does nothing else: no
server in Python is faster. Both ArduRovers take turns, so that a noisy machine disturbs both.
"""

from __future__ import annotations

import contextlib
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pico_gz.cli.tools.bench.figures import Figure
from pico_gz.core.frames import LocalFrame
from pico_gz.core.port_owner import free_offset
from pico_gz.core.rover_spec import rover_spec
from pico_gz.core.units import GRAVITY_MPS2
from pico_gz.errors import LaunchError
from pico_gz.run.config import load_fleet
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions
from pico_gz.testing.ardurover import find_ardurover
from pico_gz.vehicle.external.program import (
    PARAMETER_FILE,
    ArduRoverStart,
    AutopilotProcess,
    parameter_file,
)
from pico_gz.wire.state import encode_plain_state
from pico_gz.wire.state_record import ImuRecord

GOAL = 0.85
_HOST = "127.0.0.1"
_HOME = LocalFrame(35.681236, 139.767125, 40.0)
_PRESET = "ardupilot_skid"
_STEP_US = 2500
# Far from those that people use: an ArduRover opens ports by its number.
_KIT_ID, _ECHO_ID = 231, 232
_FLEET = f"""
[fleet]
adapter = "lightweight"
autopilot = "external"
[time]
step_us = {_STEP_US}
[rover]
preset = "{_PRESET}"
[[vehicle]]
id = {_KIT_ID}
"""
_SPEEDUP = 1000.0  # as fast as it can
_ROUNDS = 5
_ROUND_S = 0.8
_WARM_UP_STEPS = 8000  # 20 s: booted, calibrated, its filter runs
_STEPS = 100
_ANSWER_S = 10.0

# Makes so many steps.
Steps = Callable[[int], object]


def ardurover_figures(rounds: int = _ROUNDS) -> list[Figure]:
    """Steps per second on the kit over those on the echo; none without an ArduRover."""
    program = find_ardurover()
    if not program:
        return []
    with (
        tempfile.TemporaryDirectory(prefix="pico-gz-bench-") as folder,
        _on_echo(program, Path(folder)) as echo,
        _on_kit(program, Path(folder)) as kit,
    ):
        echo_hz, kit_hz = _in_turns(rounds, echo, kit)
    shares = [k / e for k, e in zip(kit_hz, echo_hz, strict=True)]
    return [
        Figure(
            name="ardurover",
            what="ArduRover on Lightweight over the same one on a bare echo",
            value=statistics.median(shares),
            unit="x (ratio)",
            goal=GOAL,
            higher_is_better=True,
            detail={
                "kit_steps_per_s": statistics.median(kit_hz),
                "echo_steps_per_s": statistics.median(echo_hz),
                **{f"round_{n}": share for n, share in enumerate(shares, 1)},
            },
        )
    ]


def _in_turns(rounds: int, *servers: Steps) -> list[list[float]]:
    """Steps per second of each server in each round."""
    for steps in servers:
        steps(_WARM_UP_STEPS)
    found: list[list[float]] = [[] for _ in servers]
    for _ in range(rounds):
        for steps, rates in zip(servers, found, strict=True):
            steps(_STEPS)  # wakes its autopilot up
            count, began_s = 0, time.perf_counter()
            while (lasted_s := time.perf_counter() - began_s) < _ROUND_S:
                steps(_STEPS)
                count += _STEPS
            rates.append(count / lasted_s)
    return found


@contextlib.contextmanager
def _on_kit(program: str, folder: Path) -> Iterator[Steps]:
    """An ArduRover on a whole run, without MAVLink of the kit's own."""
    path = folder / "fleet.toml"
    path.write_text(_FLEET)
    fleet: FleetConfig = load_fleet(path, FleetOverrides(speed="max"), environ={})
    fleet = fleet.with_port_offset(
        free_offset(lambda offset: fleet.with_port_offset(offset).port_plan())
    )
    options = RunOptions(run_folder=folder, control=False)
    with FleetRun(fleet, options) as session:
        port = session.ports.vehicle(_KIT_ID).server
        server = session.fail.external
        with _ardurover(program, folder, _KIT_ID, port):
            deadline_s = time.monotonic() + _ANSWER_S
            while server is not None and not server.is_connected(_KIT_ID):
                if time.monotonic() > deadline_s:
                    raise LaunchError("ArduRover did not connect.", command=(program,))
                server.service()
                time.sleep(0.01)
            yield session.bridge.step


@contextlib.contextmanager
def _on_echo(program: str, folder: Path) -> Iterator[Steps]:
    """An ArduRover on the least possible server."""
    record = _record_at_rest()
    step = 0

    def answer(count: int) -> None:
        nonlocal step
        # A packet that was repeated between two rounds is answered once.
        peer = server.recvfrom(100)[1]
        with contextlib.suppress(BlockingIOError):
            while True:
                peer = server.recvfrom(100, socket.MSG_DONTWAIT)[1]
        for _ in range(count - 1):
            step += 1
            server.sendto(record % (step * _STEP_US * 1e-6), peer)
            peer = server.recvfrom(100)[1]
        step += 1
        server.sendto(record % (step * _STEP_US * 1e-6), peer)

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind((_HOST, 0))
        server.settimeout(_ANSWER_S)
        with _ardurover(program, folder, _ECHO_ID, server.getsockname()[1]):
            # Blocking from here on: a time-out would cost one more call of the kernel each.
            server.recvfrom(100, socket.MSG_PEEK)
            server.settimeout(None)
            yield answer


def _record_at_rest() -> bytes:
    """What the kit sends of a rover that stands, with a place for the time."""
    at = (0.0, 0.0, 0.0)
    imu = ImuRecord(at, (0.0, 0.0, -GRAVITY_MPS2))
    text = encode_plain_state(0.5, imu, at, (1.0, 0.0, 0.0, 0.0), at)
    return text.replace(b'"timestamp":0.5', b'"timestamp":%.6f')


@contextlib.contextmanager
def _ardurover(program: str, folder: Path, vehicle_id: int, fdm_port: int) -> Iterator[None]:
    """An ArduRover whose ground station never reads."""
    spec = rover_spec(_PRESET)
    own = folder / f"ardurover_{vehicle_id}"
    own.mkdir()
    (own / PARAMETER_FILE).write_text(parameter_file(spec))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ground:
        ground.bind((_HOST, 0))
        start = ArduRoverStart(
            vehicle_id=vehicle_id,
            fdm_port=fdm_port,
            home=_HOME,
            gcs_port=ground.getsockname()[1],
            speedup=_SPEEDUP,
            program=program,
        )
        with AutopilotProcess(start.command(), own) as process:
            yield
            process.require_running()
