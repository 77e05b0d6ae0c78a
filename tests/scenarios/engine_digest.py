"""Prints the digest of a short busy run of the fleet engine; run as a program by the tests.

Arguments: number of vehicles, and optionally the files to save to or to load from.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import msgspec

from pico_gz.core.rover_spec import rover_spec
from pico_gz.core.vehicle_config import Pose
from pico_gz.simulator.fleet_engine import FleetEngine
from pico_gz.simulator.obstacles import Box, Disc
from pico_gz.simulator.sensor_setup import fit_sensors
from pico_gz.simulator.terrain import HeightmapTerrain
from pico_gz.simulator.world import WindConfig, World

STEPS = 120
PRESETS = ("pico_trail_freenove", "pico_trail_ackermann", "ardupilot_skid", "ardupilot_car")


def build(count: int) -> FleetEngine:
    """A fleet with everything switched on."""
    heights = [[0.05 * ((3 * n + 5 * e) % 7) for e in range(30)] for n in range(30)]
    world = World(
        terrain=HeightmapTerrain(heights, 2.0),
        obstacles=(
            Disc(north_m=3.0, east_m=0.0, radius_m=0.5),
            Box(north_m=-3.0, east_m=2.0, size_n_m=1.0, size_e_m=2.0, yaw_deg=20.0),
        ),
        wind=WindConfig(north_mps=3.0, east_mps=-1.0, gust_mps=1.0),
    )
    engine = FleetEngine(world, seed=42)
    for vehicle_id in range(1, count + 1):
        spec = rover_spec(PRESETS[vehicle_id % 4], {"rangefinders_deg": (0.0,)})
        pose = Pose(
            north_m=1.7 * (vehicle_id % 6),
            east_m=1.9 * (vehicle_id // 6),
            yaw_deg=37.0 * vehicle_id,
        )
        engine.add(spec, fit_sensors(spec, vehicle_id), pose)
    engine.set_failure(1, "motor_left", "intermittent")
    engine.set_failure(2, "gyro", "garbage")
    return engine


def run(engine: FleetEngine, first: int, last: int) -> str:
    """Drive from one step to another and return the digest of all that was seen."""
    digest = hashlib.sha256()
    encoder = msgspec.msgpack.Encoder()
    for step in range(first, last):
        for vehicle_id in engine.vehicle_ids:
            phase = (step // 25 + vehicle_id) % 5
            engine.command(
                vehicle_id, (-1.0, 0.7, 1.0, 0.3, 0.0)[phase], (0.8, 0.1, -0.2)[phase % 3]
            )
        digest.update(encoder.encode(engine.step(10_000)))
        digest.update(encoder.encode(list(engine.truth().values())))
    digest.update(encoder.encode(engine.drain_contacts()))
    return digest.hexdigest()


def main() -> None:
    """Run as the arguments say."""
    engine = build(int(sys.argv[1]))
    mode, path = (sys.argv[2], Path(sys.argv[3])) if len(sys.argv) > 2 else ("", Path())
    if mode == "save":
        run(engine, 0, STEPS // 2)
        path.write_bytes(msgspec.msgpack.encode(engine.save_state()))
    elif mode == "load":
        engine.load_state(msgspec.msgpack.decode(path.read_bytes()))
        sys.stdout.write(run(engine, STEPS // 2, STEPS))
    else:
        first = run(engine, 0, STEPS // 2)
        sys.stdout.write(f"{first} {run(engine, STEPS // 2, STEPS)}")


if __name__ == "__main__":
    main()
