"""A bench for sensor models: motions to put in, and a suite around one or many vehicles."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

from pico_gz.core.frames import LocalFrame, quat_from_euler, rotation_from_quat
from pico_gz.core.messages import SensorData
from pico_gz.simulator.kinematics import MOTION_FIELDS, Motion
from pico_gz.simulator.random import uniform
from pico_gz.simulator.sensor_setup import SensorSetup
from pico_gz.simulator.sensor_suite import SensorSuite
from pico_gz.simulator.world import magnetic_field

TOKYO = (35.681236, 139.767125, 40.0)
FRAME = LocalFrame(*TOKYO)
FIELD = magnetic_field(*TOKYO, date(2026, 1, 1))
STEP_US = 10_000


def lone_suite(setup: SensorSetup, seed: int = 42, scene: Any = None) -> SensorSuite:
    return SensorSuite(setup, FRAME, FIELD, seed, scene)


def motion_of(**values: float) -> Motion:
    motion = Motion()
    for name, value in values.items():
        setattr(motion, name, value)
    return motion


def with_attitude(motion: Motion, roll: float, pitch: float, yaw: float) -> Motion:
    rotation = rotation_from_quat(quat_from_euler(roll, pitch, yaw))
    for row in range(3):
        for column in range(3):
            setattr(motion, f"r{row}{column}", rotation[row][column])
    return motion


def wild_motion(vehicle_id: int, step: int) -> Motion:
    """A different motion for every vehicle and step, with every field in use."""
    motion = Motion()
    for number, name in enumerate(MOTION_FIELDS):
        value = 2.0 * uniform(vehicle_id * 1000 + number, step // 7) - 1.0
        setattr(motion, name, value)
    motion.north_m = 500.0 * motion.north_m + 0.01 * step
    motion.east_m = 500.0 * motion.east_m
    motion.wheel_left_rad = 0.31 * step * (1 + vehicle_id % 3)
    motion.wheel_right_rad = 0.27 * step
    motion.throttle_abs = abs(motion.throttle_abs)
    motion.load_left, motion.load_right = abs(motion.load_left), abs(motion.load_right)
    angles = (uniform(vehicle_id, step + k) for k in range(3))
    return with_attitude(motion, *angles)


def run(
    suite: SensorSuite,
    steps: int,
    motion: Motion | Callable[[int], Motion],
    *,
    start_us: int = 0,
    dt_us: int = STEP_US,
) -> Iterator[SensorData]:
    """Drive a lone vehicle's suite; ``motion`` may depend on the step number (from 1)."""
    for step in range(1, steps + 1):
        now = motion(step) if callable(motion) else motion
        yield suite.sample(start_us + step * dt_us, dt_us, now)


def run_program(program: str, environment: dict[str, str]) -> str:
    """Run a Python program in a new process with extra environment; return what it prints."""
    places = [str(Path(__file__).parent), str(Path(__file__).parents[3])]
    result = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places), **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return result.stdout
