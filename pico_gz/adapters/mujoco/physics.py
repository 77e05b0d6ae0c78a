"""MuJoCo's model and state of a fleet, read and written in NED."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pico_gz.adapters.mujoco.mjcf import make_mjcf, standing
from pico_gz.adapters.mujoco.rover_mjcf import PlacedRover
from pico_gz.core.units import GRAVITY_MPS2, US_PER_S
from pico_gz.core.vehicle_config import DriveKind
from pico_gz.errors import MissingExtraError, SimulatorError
from pico_gz.simulator.followed_motion import SEEN_NUMBERS
from pico_gz.simulator.overlaps import obstacle_names
from pico_gz.simulator.world import World

Array = NDArray[np.float64]

# From NWU to NED and from FLU to FRD, and of quaternions from the one to the other.
_FLIP = (1.0, -1.0, -1.0)
_FLIP_QUAT = (1.0, 1.0, -1.0, -1.0)
# Rangefinders see the ground and obstacles (geom group 0), and bodies (group 1).
_SEES_ALL = np.array((1, 1, 0, 0, 0, 0), dtype=np.uint8)
_SEES_STILL = np.array((1, 0, 0, 0, 0, 0), dtype=np.uint8)


def load_mujoco() -> Any:
    """The package, imported on first use.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        return importlib.import_module("mujoco")
    except ImportError as error:
        raise MissingExtraError("mujoco", "The MuJoCo simulator") from error


class _Ramp:
    """Controls of the steps from one value to another, evenly."""

    def __init__(self, steps: int, count: int) -> None:
        self._shares: Array = np.arange(1, steps + 1).reshape(-1, 1) / steps
        self._controls: Array = np.zeros((steps, count))
        self._rows = list(self._controls)

    def between(self, start: Array, end: Array) -> list[Array]:
        """One row per step; the next call overwrites them."""
        np.multiply(end - start, self._shares, self._controls)
        np.add(self._controls, start, self._controls)
        return self._rows


class Physics:
    """All rovers in one model.

    Attributes:
        rovers: in the order of their ids.
        controls: what the last step ended with: wheel speeds [rad/s], steering angles [rad].
        seen: a row per rover as ``FollowedMotion`` takes it, NED and FRD; specific force and rates
            are means of the last step. Wind and commands are left to the caller.
        trace: where to note the controls of every step, for who repeats a drive.
        can_touch: there is something beside the ground that a rover may touch.
    """

    def __init__(self, world: World, rovers: Sequence[PlacedRover], step_us: int) -> None:
        self._mujoco = mujoco = load_mujoco()
        self._world = world
        self.rovers = tuple(rovers)
        self.model = mujoco.MjModel.from_xml_string(make_mjcf(world, rovers, step_us=step_us))
        self.data = mujoco.MjData(self.model)
        count = len(self.rovers)
        self.rank_of = {rover.vehicle_id: rank for rank, rover in enumerate(self.rovers)}
        model = self.model
        self._bodies = [model.body(rover.label).id for rover in self.rovers]
        free = [int(model.body_jntadr[body]) for body in self._bodies]
        self._q = [int(model.jnt_qposadr[joint]) for joint in free]
        self._v = [int(model.jnt_dofadr[joint]) for joint in free]
        self._u = [int(model.actuator(f"{r.label}/front_left_motor").id) for r in self.rovers]
        self.controls: Array = np.zeros(model.nu)
        self.trace: list[Array] | None = None
        self._per_s = US_PER_S / step_us
        self._ramps: dict[int, _Ramp] = {}
        # Positions, speeds, what the sensors measured and angular accelerations, and then 0 and 1.
        nq, nv = model.nq, model.nv
        sensed, turning = nq + nv, nq + nv + 6 * count
        self._all: Array = np.zeros(turning + 3 * count + 2)
        self._all[-1] = 1.0
        self._qpos, self._qvel = self._all[:nq], self._all[nq:sensed]
        self._mean, self._turning = self._all[sensed:turning], self._all[turning:-2]
        self._mean.reshape(-1, 6)[:, 2] = GRAVITY_MPS2
        zero, one = turning + 3 * count, turning + 3 * count + 1
        wheels = [
            [int(model.joint(f"{r.label}/rear_{side}_wheel").qposadr[0]) for r in self.rovers]
            for side in ("left", "right")
        ]
        self._index = np.array(
            [
                (
                    *range(q, q + 3),
                    *range(nq + v, nq + v + 3),
                    *range(sensed + 6 * rank + 3, sensed + 6 * rank + 6),
                    *range(q + 3, q + 7),
                    *range(sensed + 6 * rank, sensed + 6 * rank + 3),
                    *(zero,) * 5,
                    *range(turning + 3 * rank, turning + 3 * rank + 3),
                    one,
                    left,
                    right,
                )
                for rank, (q, v, left, right) in enumerate(
                    zip(self._q, self._v, *wheels, strict=True)
                )
            ],
            dtype=np.int64,
        ).reshape(count, SEEN_NUMBERS)
        signs = (*_FLIP * 3, *_FLIP_QUAT, *_FLIP, *(1.0,) * 5, *_FLIP, 1.0, 1.0, 1.0)
        self._signs: Array = np.array((signs,) * count).reshape(count, SEEN_NUMBERS)
        self._rates_at = np.array([range(v + 3, v + 6) for v in self._v], dtype=np.int64).reshape(
            -1
        )
        self._ctrl, self._sensed = self.data.ctrl, self.data.sensordata
        self._positions, self._speeds = self.data.qpos, self.data.qvel
        self._owners = self._find_owners()
        self._names = obstacle_names(world.obstacles)
        self.can_touch = world.contacts and (count > 1 or bool(world.obstacles))
        self._bad = self.data.warning[mujoco.mjtWarning.mjWARN_BADQACC]
        mujoco.mj_kinematics(model, self.data)
        self._rates: Array
        self.seen: Array = np.zeros((count, SEEN_NUMBERS))
        self._look()

    def _find_owners(self) -> NDArray[np.int64]:
        """Whose every geom is: 0 the ground's, then rovers, then obstacles."""
        model = self.model
        owners = np.zeros(model.ngeom, dtype=np.int64)
        for rank, body in enumerate(self._bodies, start=1):
            owners[model.body_rootid[model.geom_bodyid] == body] = rank
        count = len(self.rovers)
        for number, name in enumerate(obstacle_names(self._world.obstacles), start=1):
            owners[model.geom(name).id] = count + number
        return owners

    # --- a step ---------------------------------------------------------------------------

    def step(self, controls: Sequence[float], substeps: int) -> None:
        """Move by ``substeps`` steps while the controls go evenly to ``controls``.

        Raises:
            SimulatorError: MuJoCo gave up.
        """
        model, data, ctrl, sensed = self.model, self.data, self._ctrl, self._sensed
        mj_step, add, total = self._mujoco.mj_step, np.add, self._mean
        if substeps not in self._ramps:
            self._ramps[substeps] = _Ramp(substeps, model.nu)
        end = np.array(controls)
        total.fill(0.0)
        for row in self._ramps[substeps].between(self.controls, end):
            ctrl[:] = row
            mj_step(model, data)
            add(total, sensed, total)
        total /= substeps
        self.controls = end
        if self.trace is not None:
            self.trace.append(end)
        if self._bad.number:
            raise SimulatorError(
                "MuJoCo: the simulation became unstable.",
                hint="Give it a smaller physics_step_us.",
            )
        before = self._rates
        self._rates = self._speeds.take(self._rates_at)
        np.subtract(self._rates, before, self._turning)
        self._turning *= self._per_s / substeps
        self._fill()

    def _look(self) -> None:
        """Take over where the rovers are, after something else than a step."""
        self._rates = self._speeds.take(self._rates_at)
        self._fill()

    def _fill(self) -> None:
        self._qpos[:] = self._positions
        self._qvel[:] = self._speeds
        self._all.take(self._index, out=self.seen, mode="clip")  # "raise" would copy
        np.multiply(self.seen, self._signs, self.seen)

    def push(self, rank: int, north_n: float, east_n: float) -> None:
        """Let a force act on a rover's body until the next call."""
        self.data.xfrc_applied[self._bodies[rank], :2] = (north_n, -east_n)

    # --- what it touches and sees -----------------------------------------------------------

    def touches(self) -> dict[tuple[int, int | str], float]:
        """(vehicle id, the other's id or an obstacle's name) -> force [N], now."""
        if not self.data.ncon:
            return {}
        pairs = self._owners.take(self.data.contact.geom)
        found: dict[tuple[int, int | str], float] = {}
        force: Array = np.zeros(6)
        for index in (pairs[:, 0] * pairs[:, 1]).nonzero()[0].tolist():  # the ground is 0
            one, other = sorted(pairs[index].tolist())
            self._mujoco.mj_contactForce(self.model, self.data, index, force)
            key = (self.rovers[one - 1].vehicle_id, self._name(other))
            found[key] = found.get(key, 0.0) + math.sqrt(float(force[:3] @ force[:3]))
        return found

    def _name(self, owner: int) -> int | str:
        count = len(self.rovers)
        if owner <= count:
            return self.rovers[owner - 1].vehicle_id
        return self._names[owner - count - 1]

    def cast(
        self,
        north_m: float,
        east_m: float,
        dir_n: float,
        dir_e: float,
        max_m: float,
        skip_vehicle: int,
    ) -> float:
        """Distance along a ray in the plane of a rover's deck, as ``Scene.cast``.

        It begins at the rover's reference point, at half the height of its wheels and deck.
        """
        rank = self.rank_of[skip_vehicle]
        up = self.data.xmat[self._bodies[rank]].reshape(3, 3)[:, 2]
        ray = np.array((dir_n, -dir_e, -(dir_n * up[0] - dir_e * up[1]) / up[2]))
        ray /= math.sqrt(float(ray @ ray))
        q = self._q[rank]
        at = self.data.qpos[q : q + 3] + up * self.rovers[rank].spec.height_m * 0.5
        sees = _SEES_ALL if self._world.contacts else _SEES_STILL
        hit = np.zeros(1, dtype=np.int32)
        distance = self._mujoco.mj_ray(
            self.model, self.data, at, ray, sees, 1, self._bodies[rank], hit
        )
        return float(distance) if 0.0 <= distance < max_m else max_m

    # --- interventions ----------------------------------------------------------------------

    def put(self, rank: int, north_m: float, east_m: float, yaw_rad: float, speed: float) -> None:
        """Put a rover on the ground, going straight at ``speed`` [m/s]."""
        rover, data = self.rovers[rank], self.data
        position, quat = standing(self._world.terrain, north_m, east_m, yaw_rad)
        q, v, u = self._q[rank], self._v[rank], self._u[rank]
        data.qpos[q : q + 3], data.qpos[q + 3 : q + 7] = position, quat
        _, (v0, v1), (u0, u1) = self._slices(rank)
        data.qvel[v0:v1] = 0.0
        data.qacc_warmstart[v0:v1] = 0.0
        matrix = np.zeros(9)
        self._mujoco.mju_quat2Mat(matrix, np.array(quat))
        data.qvel[v : v + 3] = speed * matrix[[0, 3, 6]]
        turning = speed / rover.spec.wheel_radius_m
        self.controls[u0:u1] = 0.0
        self.controls[u : u + 4] = turning
        for corner in ("front_left", "front_right", "rear_left", "rear_right"):
            joint = self.model.joint(f"{rover.label}/{corner}_wheel")
            data.qvel[joint.dofadr] = turning
        self._mujoco.mj_kinematics(self.model, data)
        self._look()

    def adopt(self, other: Physics) -> None:
        """Continue with the state of all rovers that ``other`` has too."""
        self.data.time = other.data.time
        for rank, rover in enumerate(self.rovers):
            before = other.rank_of.get(rover.vehicle_id)
            if before is None:
                continue
            (q0, q1), (v0, v1), (u0, u1) = self._slices(rank)
            (p0, p1), (w0, w1), (c0, c1) = other._slices(before)
            self.data.qpos[q0:q1] = other.data.qpos[p0:p1]
            self.data.qvel[v0:v1] = other.data.qvel[w0:w1]
            self.data.qacc_warmstart[v0:v1] = other.data.qacc_warmstart[w0:w1]
            self.controls[u0:u1] = other.controls[c0:c1]
            self._turning[3 * rank : 3 * rank + 3] = other._turning[3 * before : 3 * before + 3]
            self._mean[6 * rank : 6 * rank + 6] = other._mean[6 * before : 6 * before + 6]
        self._mujoco.mj_kinematics(self.model, self.data)
        self._look()

    def _slices(self, rank: int) -> tuple[tuple[int, int], ...]:
        """Where a rover's positions, speeds and controls begin and end."""
        wheels = 4 if self.rovers[rank].spec.drive is DriveKind.SKID else 6
        q, v, u = self._q[rank], self._v[rank], self._u[rank]
        return (q, q + 7 + wheels), (v, v + 6 + wheels), (u, u + wheels)

    # --- snapshots --------------------------------------------------------------------------

    def save(self) -> dict[str, Any]:
        """MuJoCo's full state as plain values."""
        kind = self._mujoco.mjtState.mjSTATE_INTEGRATION
        state: Array = np.zeros(self._mujoco.mj_stateSize(self.model, kind))
        self._mujoco.mj_getState(self.model, self.data, state, kind)
        return {
            "state": state.tolist(),
            "controls": self.controls.tolist(),
            "mean": self._mean.tolist(),
            "turning": self._turning.tolist(),
        }

    def load(self, saved: dict[str, Any]) -> None:
        """Continue from what ``save`` gave, bit for bit."""
        kind = self._mujoco.mjtState.mjSTATE_INTEGRATION
        state = np.array(saved["state"])
        self._mujoco.mj_setState(self.model, self.data, state, kind)
        self._mujoco.mj_kinematics(self.model, self.data)
        self._turning[:] = saved["turning"]
        self.controls = np.array(saved["controls"])
        self._mean[:] = saved["mean"]
        self._look()
