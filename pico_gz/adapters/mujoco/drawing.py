"""Draws rovers at given poses, off-screen or in MuJoCo's viewer.

A program of its own: which GL library MuJoCo takes is decided when it is imported, and a driver
that crashes or hangs must not take a run with it. Reads from stdin a ``Scene`` as a line of JSON,
the MJCF text, then one row of numbers per picture; it ends with them. Writes a line ``ready`` to
stdout, then for every row the pixels, top line first, or nothing if there is a window. What goes
wrong is the last line on stderr.
"""

from __future__ import annotations

import importlib
import itertools
import math
import os
import sys
import threading
import time
from typing import Any, BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from pico_gz.adapters.mujoco.mjcf import GROUND
from pico_gz.adapters.mujoco.physics import load_mujoco

Array = NDArray[np.float64]
READY = b"ready\n"
# A row: time [s], where the camera looks (NWU), its distance [m], azimuth and elevation [deg],
# then of every rover position (NWU) and attitude (NWU from FLU); NaN where there is none.
CAMERA_NUMBERS, POSE_NUMBERS = 7, 7
PERIOD_S = 1.0 / 30.0
FIELD_OF_VIEW_DEG = 45.0
_HIDDEN_M = -1e4
_MAX_TRAIL = 300
# Of the camera's distance: between points of a trail, its height above the ground, and how far
# above a rover its name stands.
_TRAIL_SHARE, _LIFT_SHARE, _NAME_SHARE = 0.004, 0.001, 0.012
_TRAIL_PX = 3.0
# The light's direction (NWU), and the part of the ground that has shadows, of the camera's
# distance: where that part ends, software GL draws specks, which must be far away.
_SUN = (-0.5, 0.3, -1.0)
_SHADOWS = 4.0
_SLABS, _SLAB = ("ground_ramp", "ground_upper"), (0.85, 0.8, 0.85)
_WHEELS = ("front_left", "front_right", "rear_left", "rear_right")


class DrawnRover(msgspec.Struct):
    """A rover of the model: its name, colour and height [m]."""

    label: str
    colour: tuple[float, float, float]
    height_m: float


class Scene(msgspec.Struct):
    """What to draw.

    Attributes:
        rovers: in the order of their poses.
        mjcf_bytes: length of the model's text.
        width_px: of a picture; 0: open a window.
        height_px: of a picture.
        title: in the corner.
        trails: whether to draw where rovers have been.
    """

    rovers: list[DrawnRover]
    mjcf_bytes: int
    width_px: int = 0
    height_px: int = 0
    title: str = ""
    trails: bool = True


class _Wheel:
    """A wheel, and the hub that steers it; they turn by what the rover does."""

    def __init__(self, model: Any, label: str, corner: str) -> None:
        joint = model.joint(f"{label}/{corner}_wheel")
        self._turn = int(joint.qposadr[0])
        self._steer: int | None = None
        body = model.body(f"{label}/{corner}_wheel")
        parent = model.body(int(body.parentid[0]))
        if parent.name != label:
            self._steer = int(model.joint(f"{label}/{corner}_steering").qposadr[0])
            body = parent
        self._ahead_m, self._left_m = float(body.pos[0]), float(body.pos[1])
        self._radius_m = float(model.geom(f"{label}/{corner}_wheel").size[0])

    def roll(self, qpos: Array, ahead_m: float, turned_rad: float) -> None:
        along, across = ahead_m - turned_rad * self._left_m, turned_rad * self._ahead_m
        if self._steer is not None and abs(ahead_m) > 1e-4:
            sign = math.copysign(1.0, along)
            qpos[self._steer] = math.atan2(sign * across, sign * along)
            along = sign * math.hypot(along, across)
        qpos[self._turn] += along / self._radius_m


class _Rover:
    """A rover in the model, and where it has been."""

    def __init__(self, model: Any, drawn: DrawnRover) -> None:
        self.drawn = drawn
        # Lines have no normals: every light counts in full, which doubles their colour.
        self.rgba = np.array((*(0.5 * part for part in drawn.colour), 1.0), dtype=np.float32)
        self.trail: list[Array] = []
        self.place: Array | None = None
        self._apart_m = 0.0
        self._q = int(model.joint(f"{drawn.label}/free").qposadr[0])
        self._yaw_rad = 0.0
        self._wheels = [_Wheel(model, drawn.label, corner) for corner in _WHEELS]

    def put(self, qpos: Array, pose: Array, distance_m: float) -> None:
        """Move it; NaN takes it away."""
        q = self._q
        if not np.isfinite(pose).all():
            qpos[q : q + 3] = (0.0, 0.0, _HIDDEN_M)
            self.place = None
            return
        w, x, y, z = pose[3:].tolist()
        yaw_rad = math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
        if self.place is not None:
            moved = pose[:3] - self.place
            ahead_m = float(moved[0]) * math.cos(yaw_rad) + float(moved[1]) * math.sin(yaw_rad)
            turned_rad = math.remainder(yaw_rad - self._yaw_rad, math.tau)
            for wheel in self._wheels:
                wheel.roll(qpos, ahead_m, turned_rad)
        qpos[q : q + POSE_NUMBERS] = pose
        self.place, self._yaw_rad = pose[:3].copy(), yaw_rad
        self._remember(distance_m)

    def _remember(self, distance_m: float) -> None:
        assert self.place is not None
        self._apart_m = self._apart_m or _TRAIL_SHARE * distance_m
        if self.trail and float(np.linalg.norm(self.place - self.trail[-1])) < self._apart_m:
            return
        self.trail.append(self.place)
        if len(self.trail) > _MAX_TRAIL:
            self.trail = self.trail[::2]
            self._apart_m *= 2.0


class _Stage:
    """The model with its rovers, and what is drawn beside it: trails and names."""

    def __init__(self, scene: Scene, mjcf: str) -> None:
        self.mujoco = mujoco = load_mujoco()
        self.scene = scene
        self.model = mujoco.MjModel.from_xml_string(mjcf)
        self.data = mujoco.MjData(self.model)
        # A plane of size 0 reaches to the horizon.
        self.model.geom_size[self.model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE, :2] = 0.0
        for geom in map(self.model.geom, range(self.model.ngeom)):
            if geom.name.startswith(GROUND):  # slabs and heights: squares show how they slope
                geom.matid[:] = self.model.mat("grid").id
                geom.rgba[:3] = _SLAB if geom.name in _SLABS else 1.0
        self.model.light_dir[:] = np.array(_SUN) / math.hypot(*_SUN)
        self.model.vis.global_.fovy = FIELD_OF_VIEW_DEG
        self.model.vis.map.shadowclip = _SHADOWS
        self.model.vis.headlight.diffuse[:] = 0.2  # with the sun, from above, not too bright
        self.rovers = [_Rover(self.model, drawn) for drawn in scene.rovers]
        self.most_geoms = self.model.ngeom + len(self.rovers) * (_MAX_TRAIL + 2) + 100

    def move(self, row: Array) -> None:
        """Put every rover where it is."""
        distance_m = float(row[4])
        for rover, pose in zip(self.rovers, row[CAMERA_NUMBERS:].reshape(-1, 7), strict=True):
            rover.put(self.data.qpos, pose, distance_m)
        self.mujoco.mj_kinematics(self.model, self.data)
        self.mujoco.mj_camlight(self.model, self.data)

    def aim(self, camera: Any, row: Array) -> None:
        """Set a free camera."""
        camera.lookat[:] = row[1:4]
        camera.distance, camera.azimuth, camera.elevation = row[4:CAMERA_NUMBERS].tolist()

    def light_up(self, row: Array, context: Any) -> None:
        """Let near and far planes, haze and shadows fit to what the camera sees."""
        model, distance_m = self.model, float(row[4])
        model.stat.extent = distance_m
        model.vis.map.znear, model.vis.map.zfar = 0.01, 40.0
        model.light_pos[:] = row[1:4] - distance_m * model.light_dir
        context.shadowClip = _SHADOWS * distance_m

    def decorate(self, drawn: Any, distance_m: float) -> None:
        """Add trails and names to MuJoCo's scene."""
        lift = np.array((0.0, 0.0, _LIFT_SHARE * distance_m))
        for rover in self.rovers:
            if rover.place is None:
                continue
            if self.scene.trails:
                points = [*rover.trail, rover.place]
                for one, other in itertools.pairwise(points):
                    self._line(drawn, one + lift, other + lift, rover.rgba)
            above_m = rover.drawn.height_m + _NAME_SHARE * distance_m
            self._name(drawn, rover.place + np.array((0.0, 0.0, above_m)), rover.drawn.label)

    def _line(self, drawn: Any, start: Array, end: Array, rgba: Any) -> None:
        geom = self._new(drawn, self.mujoco.mjtGeom.mjGEOM_LINE, start, rgba)
        if geom is not None:
            line = self.mujoco.mjtGeom.mjGEOM_LINE
            self.mujoco.mjv_connector(geom, line, _TRAIL_PX, start, end)

    def _name(self, drawn: Any, at: Array, text: str) -> None:
        white = np.ones(4, dtype=np.float32)
        geom = self._new(drawn, self.mujoco.mjtGeom.mjGEOM_LABEL, at, white)
        if geom is not None:
            geom.label = text

    def _new(self, drawn: Any, kind: int, at: Array, rgba: Any) -> Any:
        if drawn.ngeom >= drawn.maxgeom:
            return None
        geom = drawn.geoms[drawn.ngeom]
        size, turned = np.full(3, 0.01), np.eye(3).ravel()
        self.mujoco.mjv_initGeom(geom, kind, size, at, turned, rgba)
        drawn.ngeom += 1
        return geom


def _draw_pictures(stage: _Stage, rows: BinaryIO, out: BinaryIO) -> None:
    """A picture per row."""
    mujoco, model, scene = stage.mujoco, stage.model, stage.scene
    width, height = scene.width_px, scene.height_px
    model.vis.global_.offwidth, model.vis.global_.offheight = width, height
    gl = mujoco.GLContext(width, height)
    gl.make_current()
    size = (
        mujoco.mjtFontScale.mjFONTSCALE_100 if height < 600 else mujoco.mjtFontScale.mjFONTSCALE_150
    )
    context = mujoco.MjrContext(model, size.value)
    mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, context)
    drawn = mujoco.MjvScene(model, stage.most_geoms)
    camera, option, rect = (
        mujoco.MjvCamera(),
        mujoco.MjvOption(),
        mujoco.MjrRect(0, 0, width, height),
    )
    pixels = np.zeros((height, width, 3), dtype=np.uint8)
    out.write(READY)
    out.flush()
    while (row := _read_row(stage, rows)) is not None:
        stage.aim(camera, row)
        stage.light_up(row, context)
        stage.move(row)
        mujoco.mjv_updateScene(
            model, stage.data, option, None, camera, mujoco.mjtCatBit.mjCAT_ALL.value, drawn
        )
        stage.decorate(drawn, camera.distance)
        mujoco.mjr_render(rect, drawn, context)
        mujoco.mjr_overlay(
            mujoco.mjtFont.mjFONT_NORMAL, mujoco.mjtGridPos.mjGRID_TOPLEFT, rect,
            f"{scene.title}  {row[0]:.1f} s", "", context,
        )  # fmt: skip
        mujoco.mjr_readPixels(pixels, None, rect, context)
        out.write(np.flipud(pixels).tobytes())
        out.flush()
    context.free()
    gl.free()


def _show_window(stage: _Stage, rows: BinaryIO, out: BinaryIO) -> None:
    """MuJoCo's viewer with the newest row, until it is closed."""
    glfw, viewer = (importlib.import_module(name) for name in ("glfw", "mujoco.viewer"))
    if not glfw.init():
        raise RuntimeError("the screen cannot be opened")
    glfw.terminate()  # the viewer's own thread opens it again
    first = _read_row(stage, rows)
    if first is None:
        return
    stage.mujoco.mj_kinematics(stage.model, stage.data)  # where they start
    newest: list[Array] = []
    is_over = threading.Event()

    def read() -> None:
        while (row := _read_row(stage, rows)) is not None:
            newest[:] = [row]
        is_over.set()

    with viewer.launch_passive(
        stage.model, stage.data, show_left_ui=False, show_right_ui=False
    ) as window:
        with window.lock():
            stage.aim(window.cam, first)
        threading.Thread(target=read, daemon=True).start()
        out.write(READY)
        out.flush()
        while window.is_running() and not is_over.is_set():
            with window.lock():
                for row in newest[:]:
                    stage.move(row)
                    stage.data.time = row[0]
                window.user_scn.ngeom = 0
                stage.decorate(window.user_scn, window.cam.distance)
            window.sync()
            time.sleep(PERIOD_S)


def _read_row(stage: _Stage, rows: BinaryIO) -> Array | None:
    count = CAMERA_NUMBERS + POSE_NUMBERS * len(stage.rovers)
    data = rows.read(8 * count)
    return np.frombuffer(data) if len(data) == 8 * count else None


def main() -> int:
    """Draw what stdin says."""
    # An exception on the viewer's own thread would leave the others waiting.
    threading.excepthook = lambda args: _give_up(args.exc_value)
    rows, out = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no picture
    try:
        scene = msgspec.json.decode(rows.readline(), type=Scene)
        stage = _Stage(scene, rows.read(scene.mjcf_bytes).decode())
        (_draw_pictures if scene.width_px else _show_window)(stage, rows, out)
    except BrokenPipeError:
        return 1
    except Exception as error:  # whatever it is, it goes into one line
        _give_up(error)
    return 0


def _give_up(error: BaseException | None) -> None:
    words = " ".join(str(error).split()) or type(error).__name__
    os.write(2, f"\n{words}\n".encode())
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
