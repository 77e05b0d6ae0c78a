"""The whole path on MuJoCo beside a bare mj_step loop."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from pico_gz.adapters.mujoco.adapter import MujocoAdapter
from pico_gz.adapters.mujoco.physics import Array, Physics, load_mujoco
from pico_gz.cli.tools.bench.figures import Figure, explained
from pico_gz.core import compiled_modules
from pico_gz.run.config import default_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions
from pico_gz.simulator import native_build

# Rovers, simulated seconds of one of the rounds, goals: times real time, share of a bare loop.
_SIZES = ((1, 4.0, 50.0, 0.5), (10, 2.0, 10.0, 0.8), (50, 1.0, 2.0, 0.8))
_PURE_SHARE = 0.6
_ROUNDS = 6


def mujoco_figures() -> list[Figure]:
    """One, ten and fifty rovers: speed, and the share of a bare loop's speed."""
    load_mujoco()
    is_pure = native_build.load() is None and not compiled_modules.is_in_use()
    figures = []
    for rovers, seconds, speed, share in _SIZES:
        stack_s, bare_s = _measure(rovers, seconds)
        goal = min(share, _PURE_SHARE) if is_pure else share
        figures += [
            Figure(
                name=f"mujoco_{rovers}",
                what=f"MuJoCo, {rovers} rovers, full stack, physics at 2 ms, steps of 10 ms",
                value=seconds * _ROUNDS / stack_s,
                unit="x real time",
                goal=speed,
                higher_is_better=True,
            ),
            explained(
                Figure(
                    name=f"mujoco_share_{rovers}",
                    what=f"MuJoCo, {rovers} rovers, full stack against a bare mj_step loop",
                    value=bare_s / stack_s,
                    unit="ratio",
                    goal=goal,
                    higher_is_better=True,
                ),
                lambda rovers=rovers, seconds=seconds: _measure(rovers, seconds),  # type: ignore[misc]
            ),
        ]
    return figures


def _measure(rovers: int, seconds: float) -> tuple[float, float]:
    """Processor time [s] of the full stack, and of a bare loop that repeats its drive.

    Both take turns: after every round of the stack, the loop starts from the same state and
    steps through the same controls, so that its contacts cost the same.
    """
    fleet = default_fleet(
        overrides=FleetOverrides(rovers=rovers, adapter="mujoco", speed="max", layout="grid")
    )
    options = RunOptions(
        duration_s=seconds, demo=True, mavlink=False, control=False, check_ports=False
    )
    stack_s = bare_s = 0.0
    with FleetRun(fleet, options) as session:
        bridge = session.bridge
        adapter = bridge.get_adapter("mujoco")
        assert isinstance(adapter, MujocoAdapter)
        bridge.run(1_000_000)
        physics = adapter.physics()
        steps = round(seconds * 1e6 / fleet.time.step_us)
        substeps = fleet.time.step_us // adapter.physics_step_us
        for _ in range(_ROUNDS):
            loop = _BareLoop(physics)
            physics.trace = []
            started_s = time.process_time()
            bridge.step(steps)
            stack_s += time.process_time() - started_s
            bare_s += loop.run(physics.trace, substeps)
            physics.trace = None
    return stack_s, bare_s


class _BareLoop:
    """MuJoCo alone, from the present state of a model."""

    def __init__(self, physics: Physics) -> None:
        self._mujoco: Any = load_mujoco()
        self._model = physics.model
        self._data = self._mujoco.MjData(self._model)
        self._mujoco.mj_copyData(self._data, self._model, physics.data)
        self._controls = physics.controls

    def run(self, trace: list[Array], substeps: int) -> float:
        """Step through controls; returns the processor time [s]."""
        model, data, mj_step = self._model, self._data, self._mujoco.mj_step
        before = self._controls
        inputs = [
            before + (after - before) * (k / substeps)
            for before, after in zip([before, *trace], trace, strict=False)
            for k in range(1, substeps + 1)
        ]
        ctrl = data.ctrl
        started_s = time.process_time()
        for controls in inputs:
            ctrl[:] = controls
            mj_step(model, data)
        used_s = time.process_time() - started_s
        if not np.isfinite(data.qpos).all():
            raise RuntimeError("The bare loop diverged.")
        return used_s
