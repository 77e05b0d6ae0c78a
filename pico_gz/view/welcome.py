"""What a browser gets once: fleet, ground, obstacles, frame format.

Little-endian. Header, 16 bytes::

    u8  kind (1)    u8 state (place in STATES)    u16 count    u32 step (modulo 2**32)
    f64 simulation time [s]

Then per rover::

    u8  id          u8 flags (unused bits are 0)  u16 yaw, 65536 per turn, clockwise from north
    i32 north [mm]  i32 east [mm]                 i16 forward speed [mm/s]    i16 height [cm]
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from pico_gz import __version__
from pico_gz.bridge.published import BridgeState, FleetView
from pico_gz.run.config.fleet import FleetConfig, VehiclePlan
from pico_gz.run.simulators import make_terrain
from pico_gz.run.view_access import MODE_NAMES, RunHandle
from pico_gz.simulator.faults import ACTUATOR_UNITS, UNITS, FailureKind
from pico_gz.simulator.obstacles import Obstacle, Wall
from pico_gz.simulator.terrain import HeightmapTerrain, Terrain
from pico_gz.view.source import FIELDS

KIND = 1
STATES = tuple(state.value for state in BridgeState)

_HEADER = struct.Struct("<BBHId")
_ROW = np.dtype(
    [
        ("id", "u1"),
        ("flags", "u1"),
        ("yaw", "<u2"),
        ("north", "<i4"),
        ("east", "<i4"),
        ("speed", "<i4"),
        ("height", "<i4"),
    ]
)
_MAX_I32 = 2147483647
_YAW_PER_RAD = 65536.0 / (2.0 * np.pi)


def encode_frame(view: FleetView, state: BridgeState) -> bytes:
    """One published step as bytes."""
    header = _HEADER.pack(
        KIND, STATES.index(state.value), len(view.truth), view.step % 2**32, view.time_us / 1e6
    )
    return header + _rows(view).tobytes()


def _rows(view: FleetView) -> NDArray[np.void]:
    rows = np.zeros(len(view.truth), _ROW)
    if not len(rows):
        return rows
    truths = view.truth.values()
    rows["id"] = list(view.truth)
    north, east, down = np.array([(t.north_m, t.east_m, t.down_m) for t in truths]).T
    w, x, y, z = np.array([t.quat_wxyz for t in truths]).T
    velocity = np.array([t.velocity_ned_mps for t in truths])
    yaw = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    forward = velocity[:, 0] * np.cos(yaw) + velocity[:, 1] * np.sin(yaw)
    rows["yaw"] = _whole(yaw * _YAW_PER_RAD, _MAX_I32) % 65536
    rows["north"] = _whole(north * 1000.0, _MAX_I32)
    rows["east"] = _whole(east * 1000.0, _MAX_I32)
    rows["speed"] = _whole(forward * 1000.0, _MAX_I32)
    rows["height"] = _whole(-down * 100.0, _MAX_I32)
    return rows


def _whole(values: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    held: NDArray[np.float64] = np.clip(np.nan_to_num(np.rint(values)), -most, most)
    return held.astype(np.int64)


MAX_SAMPLES = 128
MARGIN_M = 40.0


def obstacles_of(fleet: FleetConfig) -> list[dict[str, Any]]:
    """Every obstacle with its kind and sizes, by the names of the fleet file."""
    plain: list[dict[str, Any]] = msgspec.to_builtins(list(fleet.obstacles))
    return plain


def terrain_of(fleet: FleetConfig) -> dict[str, Any] | None:
    """Heights on a grid, 0..255 between lowest and highest; ``None`` for level ground."""
    terrain = make_terrain(fleet.terrain)
    if terrain.level:
        return None
    south, west, north, east = _extent(fleet, terrain)
    cell_m = max(north - south, east - west) / (MAX_SAMPLES - 1)
    rows = max(2, round((north - south) / cell_m) + 1)
    columns = max(2, round((east - west) / cell_m) + 1)
    norths, easts = np.meshgrid(
        south + cell_m * np.arange(rows), west + cell_m * np.arange(columns), indexing="ij"
    )
    places = zip(norths.ravel().tolist(), easts.ravel().tolist(), strict=True)
    heights = np.array([terrain.height_m(*place) for place in places])
    low, high = float(heights.min()), float(heights.max())
    scale = 255.0 / (high - low) if high > low else 0.0
    return {
        "south_m": south,
        "west_m": west,
        "cell_m": cell_m,
        "rows": rows,
        "columns": columns,
        "low_m": low,
        "high_m": high,
        # Rows from south to north, each from west to east, one byte per height.
        "heights": base64.b64encode(((heights - low) * scale).astype(np.uint8).tobytes()).decode(),
    }


def _extent(fleet: FleetConfig, terrain: Terrain) -> tuple[float, float, float, float]:
    if isinstance(terrain, HeightmapTerrain):
        rows, columns = terrain.heights_m.shape
        return (
            terrain.north_m,
            terrain.east_m,
            terrain.north_m + (rows - 1) * terrain.cell_m,
            terrain.east_m + (columns - 1) * terrain.cell_m,
        )
    points = [(plan.config.pose.north_m, plan.config.pose.east_m) for plan in fleet.vehicles]
    points += _corners(fleet.obstacles)
    norths, easts = zip(*points, strict=True)
    return (
        min(norths) - MARGIN_M,
        min(easts) - MARGIN_M,
        max(norths) + MARGIN_M,
        max(easts) + MARGIN_M,
    )


def _corners(obstacles: Iterable[Obstacle]) -> list[tuple[float, float]]:
    points = []
    for obstacle in obstacles:
        points.append((obstacle.north_m, obstacle.east_m))
        if isinstance(obstacle, Wall):
            points.append((obstacle.north2_m, obstacle.east2_m))
    return points


def describe_run(run: RunHandle) -> dict[str, Any]:
    """The parts of the first message that change only with the fleet."""
    fleet, present = run.fleet, set(run.bridge.list_vehicles())
    return {
        "t": "hello",
        "version": __version__,
        "name": fleet.name,
        "seed": fleet.seed,
        "origin": [fleet.origin.lat_deg, fleet.origin.lon_deg, fleet.origin.alt_m],
        "vehicles": [
            _vehicle(plan, plan.id in run.pilots) for plan in fleet.vehicles if plan.id in present
        ],
        "obstacles": obstacles_of(fleet),
        "terrain": terrain_of(fleet),
        "states": STATES,
        "row_fields": FIELDS,
        "modes": MODE_NAMES,
        "failure_units": [*UNITS, *ACTUATOR_UNITS, "rc"],
        "failure_kinds": [kind.value for kind in FailureKind],
        "commands": sorted(run.commands),
        "timeline": _timeline(run.timeline_s),
        "tracks": run.tracks,
    }


def _timeline(span_s: tuple[float, float] | None) -> dict[str, float] | None:
    return None if span_s is None else {"start_s": span_s[0], "end_s": span_s[1]}


def _vehicle(plan: VehiclePlan, commandable: bool) -> dict[str, Any]:
    config = plan.config
    return {
        "id": plan.id,
        "name": config.label,
        "adapter": config.adapter,
        "autopilot": config.autopilot,
        "preset": plan.rover.preset,
        "length_m": plan.rover.length_m,
        "width_m": plan.rover.width_m,
        "max_speed_mps": plan.rover.max_speed,
        "commandable": commandable,
    }
