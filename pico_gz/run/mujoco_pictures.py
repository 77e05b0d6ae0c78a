"""Pictures of a fleet by MuJoCo: cameras, off-screen and live."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import math
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import msgspec
import numpy as np
from numpy.typing import NDArray

from pico_gz.adapters.mujoco.drawing import (
    CAMERA_NUMBERS,
    FIELD_OF_VIEW_DEG,
    PERIOD_S,
    POSE_NUMBERS,
    READY,
    DrawnRover,
    Scene,
)
from pico_gz.adapters.mujoco.mjcf import MAX_HEIGHTS
from pico_gz.bridge.published import FleetView
from pico_gz.core.messages import VehicleTruth
from pico_gz.errors import LaunchError, MissingExtraError, MissingProgramError
from pico_gz.gazebo.worlds.parts import rover_colour
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.mujoco_world import mujoco_world
from pico_gz.run.simulators import make_world
from pico_gz.simulator.terrain import HeightmapTerrain

log = logging.getLogger(__name__)

Array = NDArray[np.float64]

_DRAWING = "pico_gz.adapters.mujoco.drawing"
GL_VARIABLE = "MUJOCO_GL"
_GL_KINDS = ("egl", "osmesa")
GL_HINT = "sudo apt install libegl1 libgl1-mesa-dri, or libosmesa6."
SCREEN_HINT = "Without a screen: --record DIR, then pico-gz render DIR -o video.mp4"
_READY_S = 60.0
_END_S = 3.0
# Of the picture's half width and height: what the camera keeps its points within.
_MARGIN = 0.86
_MAX_DISTANCE_M = 1e5
_LEAST_DISTANCE_M = 2.0


# Low enough for a strip of sky.
OVERVIEW_DEG = -20.0


class Camera(msgspec.Struct, frozen=True):
    """Where a camera looks (NWU), from how far, and in which direction.

    Attributes:
        lookat: the middle of the picture [m].
        distance_m: from there.
        azimuth_deg: anticlockwise from north.
        elevation_deg: negative looks down.
    """

    lookat: tuple[float, float, float]
    distance_m: float
    azimuth_deg: float
    elevation_deg: float


def camera_onto(
    points: Sequence[tuple[float, float, float]],
    aspect: float,
    *,
    azimuth_deg: float = 0.0,
    elevation_deg: float = OVERVIEW_DEG,
) -> Camera:
    """The nearest camera of a direction that has all points (NWU) in the picture."""
    azimuth, elevation = math.radians(azimuth_deg), math.radians(elevation_deg)
    ahead = np.array(
        (
            math.cos(elevation) * math.cos(azimuth),
            math.cos(elevation) * math.sin(azimuth),
            math.sin(elevation),
        )
    )
    right = np.array((math.sin(azimuth), -math.cos(azimuth), 0.0))
    axes = np.stack((right, np.cross(right, ahead), ahead))
    seen = np.array(points) @ axes.T
    tan = math.tan(math.radians(0.5 * FIELD_OF_VIEW_DEG)) * _MARGIN
    middle, distance_m = 0.5 * (seen.min(axis=0) + seen.max(axis=0)), 0.0
    # Perspective makes what is near large: a few shifts put it into the middle.
    for _ in range(12):
        x, y, depth = (seen - middle).T
        distance_m = float(np.max(np.maximum(abs(x) / (tan * aspect), abs(y) / tan) - depth))
        for axis, along in enumerate((x, y)):
            shown = along / (distance_m + depth)
            middle[axis] += 0.5 * distance_m * float(shown.max() + shown.min())
    x, y, depth = (seen - middle).T
    distance_m = float(np.max(np.maximum(abs(x) / (tan * aspect), abs(y) / tan) - depth))
    north, west, up = (middle @ axes).tolist()
    return Camera(
        lookat=(north, west, up),
        distance_m=min(max(distance_m, _LEAST_DISTANCE_M), _MAX_DISTANCE_M),
        azimuth_deg=azimuth_deg,
        elevation_deg=elevation_deg,
    )


def nwu(truth: VehicleTruth) -> tuple[float, float, float]:
    """A vehicle's place in MuJoCo's world."""
    return truth.north_m, -truth.east_m, -truth.down_m


def row_of(
    time_us: int, camera: Camera, truth: Mapping[int, VehicleTruth], ids: Sequence[int]
) -> Array:
    """What the drawing process takes for a picture."""
    row = np.full(CAMERA_NUMBERS + POSE_NUMBERS * len(ids), math.nan)
    row[0], row[1:4] = time_us * 1e-6, camera.lookat
    row[4:CAMERA_NUMBERS] = (camera.distance_m, camera.azimuth_deg, camera.elevation_deg)
    poses = row[CAMERA_NUMBERS:].reshape(-1, POSE_NUMBERS)
    for pose, vehicle_id in zip(poses, ids, strict=True):
        if (there := truth.get(vehicle_id)) is not None:
            w, x, y, z = there.quat_wxyz
            pose[:] = (*nwu(there), w, x, -y, -z)
    return row


def picture_world(fleet: FleetConfig) -> str:
    """The fleet's world to look at, as MJCF; a fine heightmap is thinned out."""
    world = make_world(fleet)
    ground = world.terrain
    if isinstance(ground, HeightmapTerrain) and ground.heights_m.size > MAX_HEIGHTS:
        every = math.ceil(math.sqrt(ground.heights_m.size / MAX_HEIGHTS))
        thinned = HeightmapTerrain(
            ground.heights_m[::every, ::every], ground.cell_m * every, ground.north_m, ground.east_m
        )
        world = dataclasses.replace(world, terrain=thinned)
    return mujoco_world(fleet, world=world)


class DrawingProcess:
    """The process that draws a fleet. Use it in a ``with`` block.

    Args:
        fleet: whose world and rovers.
        size_px: width and height of its pictures; ``None``: it opens a window.
        trails: whether to draw where rovers have been.

    Raises:
        MissingExtraError: MuJoCo is not installed.
        MissingProgramError: there is no GL library, or no screen, that it can draw with.
    """

    def __init__(
        self, fleet: FleetConfig, size_px: tuple[int, int] | None = None, *, trails: bool = True
    ) -> None:
        require_mujoco()
        self.ids = tuple(plan.id for plan in fleet.vehicles)
        self.gl = ""
        self._size = size_px
        width, height = size_px or (0, 0)
        mjcf = picture_world(fleet).encode()
        rovers = [
            DrawnRover(plan.config.label, rover_colour(plan.id), plan.rover.height_m)
            for plan in fleet.vehicles
        ]
        scene = Scene(rovers, len(mjcf), width, height, fleet.name, trails)
        self._opening = msgspec.json.encode(scene) + b"\n" + mjcf
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None

    def __enter__(self) -> DrawingProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self, first: Array | None = None) -> DrawingProcess:
        """Start it with the first of the GL libraries that works, and a window's first row."""
        if self._size is None:
            if problem := self._start(None, first):
                raise MissingProgramError(
                    f"MuJoCo's viewer does not open: {problem}.", hint=SCREEN_HINT
                )
            return self
        asked = os.environ.get(GL_VARIABLE, "").lower()
        problems = []
        for kind in (asked,) if asked in _GL_KINDS else _GL_KINDS:
            problem = self._start(kind, first)
            if problem is None:
                self.gl = kind
                return self
            problems.append(f"{kind}: {problem}")
        raise MissingProgramError(
            f"MuJoCo finds no GL library to draw off-screen with ({'; '.join(problems)}).",
            hint=GL_HINT,
        )

    def send(self, row: Array) -> None:
        """Let it draw.

        Raises:
            LaunchError: it has ended.
        """
        try:
            self._pipe().write(row.tobytes())
            self._pipe().flush()
        except OSError as error:
            raise self._ended() from error

    def picture(self, row: Array) -> bytes:
        """Draw: RGB, line by line from the top."""
        self.send(row)
        width, height = self._size or (0, 0)
        assert self._process is not None
        assert self._process.stdout is not None
        pixels = self._process.stdout.read(3 * width * height)
        if len(pixels) < 3 * width * height:
            raise self._ended()
        return pixels

    def is_alive(self) -> bool:
        """Whether it still draws."""
        return self._process is not None and self._process.poll() is None

    def close(self) -> None:
        """End it; harmless when called twice."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            process.stdin.close()  # type: ignore[union-attr]
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for file in (process.stdout, self._errors):
            file.close()  # type: ignore[union-attr]

    def _start(self, gl: str | None, first: Array | None) -> str | None:
        """Start it; why that failed, or ``None``."""
        environment = dict(os.environ)
        environment.pop(GL_VARIABLE, None)
        if gl is not None:
            environment[GL_VARIABLE] = gl
        program = sys.executable
        if gl is None and sys.platform == "darwin":
            program = str(Path(sys.executable).with_name("mjpython"))  # windows need it there
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = process = subprocess.Popen(
            (program, "-m", _DRAWING),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
            start_new_session=True,  # Ctrl-C is ours: it ends when its input does
        )
        watchdog = threading.Timer(_READY_S, process.kill)
        watchdog.start()
        try:
            with contextlib.suppress(OSError):
                self._pipe().write(self._opening + (b"" if first is None else first.tobytes()))
                self._pipe().flush()
            assert process.stdout is not None
            if process.stdout.readline() == READY:
                return None
        finally:
            watchdog.cancel()
        problem = self._last_words()
        self.close()
        return problem

    def _pipe(self) -> IO[bytes]:
        assert self._process is not None
        assert self._process.stdin is not None
        return self._process.stdin

    def _last_words(self) -> str:
        """The last line on its stderr, after its end."""
        assert self._process is not None
        assert self._errors is not None
        code = self._process.wait()
        if code < 0:
            return f"it was ended by signal {-code}"
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").split("\n")
        lines = [line for line in lines if line.strip()]
        return lines[-1].strip()[:300].rstrip(".") if lines else f"it ended with code {code}"

    def _ended(self) -> LaunchError:
        return LaunchError(f"The program that draws has ended: {self._last_words()}.")


def require_mujoco() -> None:
    """Refuse at once what would need MuJoCo.

    Raises:
        MissingExtraError: it is not installed.
    """
    from pico_gz.adapters.mujoco.adapter import MujocoAdapter

    if MujocoAdapter.unavailable_reason():
        raise MissingExtraError("mujoco", "Drawing with MuJoCo")


def require_screen() -> None:
    """Refuse at once a window where there is no screen.

    Raises:
        MissingExtraError: MuJoCo is not installed.
        MissingProgramError: there is no screen.
    """
    require_mujoco()
    if sys.platform == "linux" and not (
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    ):
        raise MissingProgramError(
            "MuJoCo's viewer needs a screen: neither DISPLAY nor WAYLAND_DISPLAY is set.",
            hint=SCREEN_HINT,
        )


class MujocoViewer:
    """An observer of a run that shows it in MuJoCo's viewer, 30 times a second.

    It only notes the newest view; a thread of its own sends it to the process with the window,
    so that a slow or closed window never delays a step.

    Raises:
        MissingProgramError: the window does not open.
    """

    def __init__(self, fleet: FleetConfig) -> None:
        ground = make_world(fleet).terrain
        starts = [plan.config.pose for plan in fleet.vehicles]
        points = [
            (pose.north_m + ahead, -pose.east_m + aside, ground.height_m(pose.north_m, pose.east_m))
            for pose in starts
            for ahead, aside in ((3.0, 0.0), (-1.0, 0.0), (0.0, 2.0), (0.0, -2.0))
        ]
        self._camera = camera_onto(points, 1.6)
        self._drawing = DrawingProcess(fleet)
        self._view: FleetView | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mujoco-viewer", daemon=True)
        self._drawing.start(self._row(FleetView()))
        self._thread.start()

    def __call__(self, view: FleetView) -> None:
        """Take a step's result; never blocks."""
        self._view = view

    def close(self) -> None:
        """Show no more; harmless when called twice."""
        self._stop.set()
        self._thread.join(_END_S)
        self._drawing.close()

    def _row(self, view: FleetView) -> Array:
        return row_of(view.time_us, self._camera, view.truth, self._drawing.ids)

    def _run(self) -> None:
        shown: FleetView | None = None
        while not self._stop.wait(PERIOD_S):
            if not self._drawing.is_alive():
                log.warning("MuJoCo's window is closed; the run continues without it.")
                return
            view = self._view
            if view is not None and view is not shown:
                shown = view
                with contextlib.suppress(LaunchError):  # the next look sees that it has ended
                    self._drawing.send(self._row(view))
