"""The outcome of a run, as run --json prints it."""

from __future__ import annotations

from typing import Any

import msgspec

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.published import LatencySummary
from pico_gz.core.frames import LocalFrame, yaw_from_quat
from pico_gz.core.messages import VehicleTruth
from pico_gz.run.verdict import Problem


class VehicleResult(msgspec.Struct, frozen=True, kw_only=True):
    """Where a vehicle ended, by the simulator's own truth."""

    north_m: float
    east_m: float
    yaw_deg: float
    lat_deg: float
    lon_deg: float
    mode: str
    armed: bool
    done: bool
    last_message: str


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a run; names are fixed, more may come.

    ``problems`` are the reasons why it failed, none if it did not.
    """

    adapter: str
    rovers: int
    seed: int
    steps: int
    sim_time_s: float
    wall_s: float
    rtf: float
    lost_steps: int
    latency_ms: LatencySummary
    trace_sha256: str
    final: dict[str, VehicleResult]
    events: dict[str, int]
    recording: str | None = None
    problems: list[Problem] = []

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


def summarize(
    bridge: SitlBridge,
    frame: LocalFrame,
    *,
    seed: int,
    trace_sha256: str,
    recording: str | None,
    problems: list[Problem],
) -> RunResult:
    """Gather the figures of a run that has ended or stands still."""
    stats, view = bridge.stats, bridge.view
    adapters = sorted({vehicle.adapter for vehicle in bridge.vehicles})
    return RunResult(
        adapter="+".join(adapters),
        rovers=len(bridge.list_vehicles()),
        seed=seed,
        steps=stats.steps,
        sim_time_s=view.time_us / 1e6,
        wall_s=stats.wall_s,
        rtf=stats.real_time_factor,
        lost_steps=stats.lost_steps,
        latency_ms=stats.latency.summary(),
        trace_sha256=trace_sha256,
        final={
            str(vehicle_id): _vehicle(bridge, frame, truth)
            for vehicle_id, truth in view.truth.items()
            if vehicle_id in bridge.list_vehicles()
        },
        events=dict(bridge.events.counts),
        recording=recording,
        problems=problems,
    )


def _vehicle(bridge: SitlBridge, frame: LocalFrame, truth: VehicleTruth) -> VehicleResult:
    status = bridge.get_vehicle(truth.vehicle_id).status()
    lat_deg, lon_deg, _ = frame.geodetic_from_ned(truth.north_m, truth.east_m, truth.down_m)
    return VehicleResult(
        north_m=truth.north_m,
        east_m=truth.east_m,
        yaw_deg=yaw_from_quat(truth.quat_wxyz) * 57.29577951308232,
        lat_deg=lat_deg,
        lon_deg=lon_deg,
        mode=status.mode,
        armed=status.armed,
        done=status.done,
        last_message=status.last_message,
    )
