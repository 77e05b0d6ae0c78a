"""Pictures and videos of a recording, drawn off-screen by MuJoCo."""

from __future__ import annotations

import contextlib
import importlib
import math
import shutil
import struct
import subprocess
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from pico_gz.core.frames import yaw_from_quat
from pico_gz.core.messages import VehicleTruth
from pico_gz.core.units import US_PER_S
from pico_gz.errors import (
    ConfigError,
    LaunchError,
    MissingProgramError,
    UnknownVehicleError,
    did_you_mean,
)
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.mujoco_pictures import (
    OVERVIEW_DEG,
    Camera,
    DrawingProcess,
    camera_onto,
    nwu,
    row_of,
)
from pico_gz.run.recording.recorded_run import RecordedRun
from pico_gz.run.simulators import make_world

FFMPEG_HINT = "sudo apt install ffmpeg, or pip install imageio-ffmpeg; -o frames/ needs neither."
_MAX_FRAMES = 200_000
_MAX_SIDE_PX = 4096
_MAX_PLACE_M = 1e5
# Round every place of the track: rovers and something of the ground [m].
_ROOM_M = 0.6
# The camera that follows: lengths of the rover behind it, and how fast it turns with it [s].
_BEHIND, _TURN_S = 6.5, 0.7


CAMERAS = ("overview", "top", "follow")


class RenderOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a recording is drawn.

    Attributes:
        camera: ``overview``: the whole track, seen from the south; ``top``: from above;
            ``follow``: from behind one rover.
        rover: id of the one that is followed; ``None``: the first.
        width_px: of the pictures.
        height_px: of the pictures.
        fps: pictures per second.
        speed: recorded seconds per second of video.
        start_s: recorded time of the first picture.
        end_s: of the last; ``None``: the end.
        trails: whether to draw where rovers have been.
    """

    camera: str = "overview"
    rover: int | None = None
    width_px: int = 1280
    height_px: int = 720
    fps: float = 30.0
    speed: float = 1.0
    start_s: float = 0.0
    end_s: float | None = None
    trails: bool = True

    def __post_init__(self) -> None:
        if self.camera not in CAMERAS:
            raise ConfigError(
                f"There is no camera {self.camera!r}.", hint=did_you_mean(self.camera, CAMERAS)
            )
        sides = (self.width_px, self.height_px)
        if not all(16 <= side <= _MAX_SIDE_PX for side in sides) or any(s % 2 for s in sides):
            raise ConfigError(
                f"A size of {self.width_px}x{self.height_px} is not possible.",
                hint=f"Even numbers from 16 to {_MAX_SIDE_PX}.",
            )
        if not 0.1 <= self.fps <= 240.0:
            raise ConfigError(f"{self.fps:g} pictures per second: from 0.1 to 240 is possible.")
        if not 0.001 <= self.speed <= 1000.0:
            raise ConfigError(f"A speed of {self.speed:g}: from 0.001 to 1000 is possible.")
        if not 0.0 <= self.start_s < 1e9 or not self.start_s <= (self.end_s or 1e9) <= 1e9:
            raise ConfigError("The pictures must begin before they end, at 0 or later.")


class Rendered(msgspec.Struct, frozen=True):
    """What was drawn: where, how many pictures, from when to when, by which GL library."""

    output: str
    frames: int
    start_s: float
    end_s: float
    gl: str


def render_run(
    folder: str | Path,
    output: Path,
    options: RenderOptions | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Rendered:
    """Draw a recording.

    Args:
        folder: the run's folder.
        output: a file ``.mp4``, or a folder that gets one PNG per picture.
        options: default: the whole run, all rovers in the picture.
        progress: called after every picture, with the number of pictures so far and in all.

    Raises:
        RecordingError: there is no recording.
        MissingExtraError: MuJoCo is not installed.
        MissingProgramError: a GL library or ffmpeg is not here.
        ConfigError: this kind of file is unknown, or the folder is in use.
    """
    options = options or RenderOptions()
    with (
        RecordedRun(folder) as run,
        tempfile.TemporaryDirectory(prefix="pico_gz_render_") as inputs,
        contextlib.ExitStack() as opened,
    ):
        run.require_steps()
        fleet = run.fleet(Path(inputs)).fleet
        times_us = _times(run, options)
        cameras = _Cameras(run, fleet, options)
        size_px = (options.width_px, options.height_px)
        save = opened.enter_context(_sink(output, options))
        drawing = opened.enter_context(DrawingProcess(fleet, size_px, trails=options.trails))
        drawing.start()
        for number, time_us in enumerate(times_us):
            truth = run.at(time_us).truth
            save(drawing.picture(row_of(time_us, cameras.at(truth), truth, drawing.ids)))
            progress(number + 1, len(times_us))
        return Rendered(
            output=str(output),
            frames=len(times_us),
            start_s=times_us[0] / US_PER_S,
            end_s=times_us[-1] / US_PER_S,
            gl=drawing.gl,
        )


def _times(run: RecordedRun, options: RenderOptions) -> list[int]:
    """When the pictures are taken [us]."""
    start_us = max(run.start_us, round(options.start_s * US_PER_S))
    end_us = run.end_us
    if options.end_s is not None:
        end_us = min(end_us, round(options.end_s * US_PER_S))
    if start_us > end_us:
        raise ConfigError(f"The recording is over at {run.end_us / US_PER_S:g} s.")
    step_us = US_PER_S * options.speed / options.fps
    count = 1 + math.floor((end_us - start_us) / step_us + 1e-6)
    if count > _MAX_FRAMES:
        raise ConfigError(
            f"That would be {count} pictures; at most {_MAX_FRAMES} are possible.",
            hint="--start, --end and --speed make it shorter.",
        )
    return [start_us + round(number * step_us) for number in range(count)]


class _Cameras:
    """Where the camera is in every picture."""

    def __init__(self, run: RecordedRun, fleet: FleetConfig, options: RenderOptions) -> None:
        rovers = {plan.id: plan.rover for plan in fleet.vehicles}
        self._rover = next(iter(rovers)) if options.rover is None else options.rover
        if self._rover not in rovers:
            raise UnknownVehicleError(self._rover, rovers)
        self._options = options
        self._length_m = rovers[self._rover].length_m
        self._whole = _onto_track(run, fleet, options)
        self._azimuth_deg: float | None = None

    def at(self, truth: Mapping[int, VehicleTruth]) -> Camera:
        """The camera of a picture with the vehicles there."""
        there = truth.get(self._rover)
        if self._options.camera != "follow" or there is None:
            return self._whole
        wanted_deg = -math.degrees(yaw_from_quat(there.quat_wxyz))
        if self._azimuth_deg is None:
            self._azimuth_deg = wanted_deg
        passed_s = self._options.speed / self._options.fps
        share = 1.0 - math.exp(-passed_s / _TURN_S)
        self._azimuth_deg += share * math.remainder(wanted_deg - self._azimuth_deg, 360.0)
        return Camera(nwu(there), _BEHIND * self._length_m, self._azimuth_deg, -22.0)


def _onto_track(run: RecordedRun, fleet: FleetConfig, options: RenderOptions) -> Camera:
    """A camera that has the track of all rovers in the picture."""
    start_us = options.start_s * US_PER_S
    end_us = math.inf if options.end_s is None else options.end_s * US_PER_S
    places = {
        (round(2.0 * north_m), round(2.0 * east_m))
        for _, time_us, north_m, east_m in run.places()
        if start_us <= time_us <= end_us and abs(north_m) + abs(east_m) < _MAX_PLACE_M
    }
    for truth in run.at(round(start_us)).truth.values():
        if abs(truth.north_m) + abs(truth.east_m) < _MAX_PLACE_M:
            places.add((round(2.0 * truth.north_m), round(2.0 * truth.east_m)))
    ground = make_world(fleet).terrain
    points = [
        (0.5 * n + i * _ROOM_M, -0.5 * e + j * _ROOM_M, ground.height_m(0.5 * n, 0.5 * e))
        for n, e in places or {(0, 0)}
        for i, j in ((1, 1), (1, -1), (-1, 1), (-1, -1))
    ]
    elevation_deg = -90.0 if options.camera == "top" else OVERVIEW_DEG
    return camera_onto(points, options.width_px / options.height_px, elevation_deg=elevation_deg)


# --- files --------------------------------------------------------------------------------

Save = Callable[[bytes], None]


def _sink(output: Path, options: RenderOptions) -> contextlib.AbstractContextManager[Save]:
    if output.suffix.lower() == ".mp4":
        return _video(output, options)
    if output.suffix and not output.is_dir():
        raise ConfigError(f"{output} is no kind of video.", hint="Use .mp4, or a folder.")
    return _frames(output, options)


@contextlib.contextmanager
def _frames(folder: Path, options: RenderOptions) -> Iterator[Save]:
    """PNG files in a new or empty folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ConfigError(f"{folder} is not empty.", hint="Name a new folder, or remove it.")
    count = 0

    def save(pixels: bytes) -> None:
        nonlocal count
        count += 1
        picture = png(pixels, options.width_px, options.height_px)
        (folder / f"frame_{count:05d}.png").write_bytes(picture)

    yield save


def png(pixels: bytes, width: int, height: int) -> bytes:
    """A PNG file of RGB pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    line = 3 * width
    rows = b"".join(b"\0" + pixels[y * line : (y + 1) * line] for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows, 6))
        + chunk(b"IEND", b"")
    )


def find_ffmpeg() -> str:
    """The program that writes videos.

    Raises:
        MissingProgramError: it is not here.
    """
    if (found := shutil.which("ffmpeg")) is not None:
        return found
    try:
        return str(importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe())
    except (ImportError, RuntimeError):
        raise MissingProgramError("A video needs ffmpeg.", hint=FFMPEG_HINT) from None


@contextlib.contextmanager
def _video(target: Path, options: RenderOptions) -> Iterator[Save]:
    """A video that takes its place when it is complete."""
    program = find_ffmpeg()
    with (
        tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder,
        tempfile.TemporaryFile() as errors,
    ):
        draft = Path(folder) / "video.mp4"
        command = (
            program, "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24",
            "-s", f"{options.width_px}x{options.height_px}", "-r", f"{options.fps:g}", "-i", "-",
            "-an", "-pix_fmt", "yuv420p", "-q:v", "3", "-movflags", "+faststart", str(draft),
        )  # fmt: skip
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stderr=errors, start_new_session=True
        )
        assert process.stdin is not None

        def failed() -> LaunchError:
            errors.seek(0)
            tail = errors.read().decode(errors="replace").splitlines()[-5:]
            words = tail[-1] if tail else f"exit code {process.returncode}"
            return LaunchError(
                f"ffmpeg failed: {words}", command=command, exit_code=process.wait(),
                output_tail=tail,
            )  # fmt: skip

        def save(pixels: bytes) -> None:
            try:
                process.stdin.write(pixels)  # type: ignore[union-attr]
            except OSError:
                process.wait()
                raise failed() from None

        try:
            yield save
            process.stdin.close()
            if process.wait() or not draft.is_file():
                raise failed()
            draft.replace(target)
        finally:
            process.kill()
            process.wait()
