"""Pictures of recordings, videos, and runs in MuJoCo's viewer."""

import json
import math
import os
import subprocess
import time
import zlib

import numpy as np
import pytest
from external_programs import need_program

from pico_gz.cli.app import main
from pico_gz.core.messages import VehicleTruth
from pico_gz.errors import ConfigError, MissingProgramError
from pico_gz.gazebo.worlds.parts import rover_colour
from pico_gz.run.config import FleetOverrides, default_fleet
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions

pytestmark = pytest.mark.mujoco
pytest.importorskip("mujoco", reason="needs the extra mujoco")

from pico_gz.bridge.published import FleetView  # noqa: E402
from pico_gz.run.mujoco_pictures import DrawingProcess, MujocoViewer, camera_onto  # noqa: E402
from pico_gz.run.recording.recorded_run import RecordedRun  # noqa: E402
from pico_gz.run.video import RenderOptions, _Cameras, find_ffmpeg, render_run  # noqa: E402

SIZE = (320, 240)


def fleet_of(count):
    return default_fleet(count, FleetOverrides(adapter="lightweight", speed="max"))


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """Two rovers that drive for four seconds on Lightweight."""
    folder = tmp_path_factory.mktemp("runs")
    options = RunOptions(
        demo=True, duration_s=4.0, record_dir=folder, mavlink=False, control=False,
        check_ports=False,
    )  # fmt: skip
    with FleetRun(fleet_of(2), options) as session:
        return session.run().recording


@pytest.fixture(scope="module")
def gl():
    """Skips where nothing can be drawn, and says why."""
    with DrawingProcess(fleet_of(1), (64, 64)) as drawing:
        try:
            return drawing.start().gl
        except MissingProgramError as error:
            pytest.skip(error.message)


def read_png(path):
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = (int.from_bytes(data[i : i + 4]) for i in (16, 20))
    start = data.index(b"IDAT")
    length = int.from_bytes(data[start - 4 : start])
    rows = np.frombuffer(zlib.decompress(data[start + 4 : start + 4 + length]), dtype=np.uint8)
    return rows.reshape(height, 1 + 3 * width)[:, 1:].reshape(height, width, 3).astype(int)


def pixel_of(camera, place, size):
    """Where a free camera of MuJoCo sees a place: column and line."""
    turn, tilt = math.radians(camera.azimuth_deg), math.radians(camera.elevation_deg)
    ahead = np.array(
        (math.cos(tilt) * math.cos(turn), math.cos(tilt) * math.sin(turn), math.sin(tilt))
    )
    right = np.array((math.sin(turn), -math.cos(turn), 0.0))
    offset = np.array(place) - np.array(camera.lookat)
    scale = 0.5 * size[1] / math.tan(math.radians(22.5)) / (camera.distance_m + offset @ ahead)
    column = 0.5 * size[0] + scale * (offset @ right)
    return round(column), round(0.5 * size[1] - scale * (offset @ np.cross(right, ahead)))


@pytest.mark.parametrize("kind", ["overview", "top", "follow"])
def test_a_rover_is_drawn_where_it_is(gl, recording, tmp_path, kind):
    options = RenderOptions(
        camera=kind, rover=2, width_px=SIZE[0], height_px=SIZE[1], fps=1.0, trails=False
    )
    result = render_run(recording, tmp_path / "frames", options)
    files = sorted((tmp_path / "frames").iterdir())
    pictures = [read_png(file) for file in files]
    assert result.frames == len(files) == 5
    assert all(picture.shape == (SIZE[1], SIZE[0], 3) for picture in pictures)
    assert all(np.abs(one - pictures[0]).max() > 50 for one in pictures[1:])
    with RecordedRun(recording) as run:
        fleet = run.fleet(tmp_path).fleet
        camera = _Cameras(run, fleet, options)
        for number, picture in enumerate(pictures):
            truth = run.at(run.start_us + number * 1_000_000).truth
            seen = camera.at(truth)
            for vehicle_id in (2,) if kind == "follow" else (1, 2):
                there = truth[vehicle_id]
                top = fleet.vehicles[vehicle_id - 1].rover.height_m * 0.7
                place = (there.north_m, -there.east_m, top - there.down_m)
                column, line = pixel_of(seen, place, SIZE)
                near = picture[max(line - 4, 0) : line + 5, max(column - 4, 0) : column + 5]
                assert has_hue(near, rover_colour(vehicle_id)), (number, vehicle_id)
            assert not has_hue(picture[-40:, :40], rover_colour(1))


def has_hue(pixels, colour):
    """Whether some pixel has a colour's proportions and is not grey."""
    wanted = np.array(colour) - min(colour)
    found = pixels.reshape(-1, 3) - pixels.reshape(-1, 3).min(axis=1, keepdims=True)
    strength = found.max(axis=1, keepdims=True)
    alike = np.abs(found / np.maximum(strength, 1) - wanted / wanted.max()).max(axis=1)
    return bool(((alike < 0.25) & (strength[:, 0] > 60)).any())


def test_the_camera_has_all_points_in_the_picture():
    points = [(0.0, 0.0, 0.0), (30.0, -4.0, 1.0), (-2.0, 18.0, 0.0)]
    for elevation_deg in (-20.0, -90.0):
        camera = camera_onto(points, 16 / 9, elevation_deg=elevation_deg)
        pixels = np.array([pixel_of(camera, point, (1600, 900)) for point in points])
        assert pixels.min() > 20
        assert (pixels < (1580, 880)).all()
        assert np.ptp(pixels[:, 0]) > 1300 or np.ptp(pixels[:, 1]) > 700  # and no farther away


def test_a_video(gl, recording, tmp_path, capsys):
    try:
        find_ffmpeg()
    except MissingProgramError as error:
        pytest.skip(error.message)
    target = tmp_path / "video.mp4"
    with pytest.raises(SystemExit) as end:
        main(["render", str(recording), "-o", str(target), "--size", "320x240", "--fps", "5",
              "--start", "1", "--end", "2", "--json"])  # fmt: skip
    assert not end.value.code
    result = json.loads(capsys.readouterr().out)
    assert result == {
        "output": str(target), "frames": 6, "start_s": 1.0, "end_s": 2.0, "gl": result["gl"]
    }  # fmt: skip
    assert b"ftyp" in target.read_bytes()[:16]
    assert [file.name for file in tmp_path.iterdir()] == ["video.mp4"]


def test_without_ffmpeg_a_video_says_so(recording, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(__import__("sys").modules, "imageio_ffmpeg", None)
    with pytest.raises(MissingProgramError, match="ffmpeg") as error:
        render_run(recording, tmp_path / "video.mp4")
    assert "apt install ffmpeg" in error.value.hint
    assert not list(tmp_path.iterdir())


def test_without_a_gl_library_it_says_so(recording, tmp_path, monkeypatch):
    libraries = tmp_path / "lib"
    libraries.mkdir()
    for name in ("libEGL.so.1", "libOSMesa.so.8", "libEGL.so", "libOSMesa.so", "libOSMesa.so.6"):
        (libraries / name).write_bytes(b"no library")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(libraries))
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    with pytest.raises(MissingProgramError, match=r"no GL library .*egl: .*osmesa: ") as error:
        render_run(recording, tmp_path / "frames")
    assert "libosmesa6" in error.value.hint


def test_what_is_not_possible_is_refused(recording, tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    for output, options, words in (
        (tmp_path, {}, "not empty"),
        (tmp_path / "video.avi", {}, "no kind of video"),
        (tmp_path / "a", {"rover": 9}, "no vehicle 9"),
        (tmp_path / "a", {"start_s": 100.0}, "over at 4 s"),
        (tmp_path / "a", {"speed": 0.001, "fps": 240.0}, "at most"),
    ):
        with pytest.raises(ConfigError, match=words):
            render_run(recording, output, RenderOptions(**options))
    with pytest.raises(ConfigError, match="not possible"):
        RenderOptions(width_px=333)


# --- the window ---------------------------------------------------------------------------


def test_without_a_screen_the_view_is_refused(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    with pytest.raises(MissingProgramError, match="screen") as error:
        FleetRun(fleet_of(1), RunOptions(view="mujoco", mavlink=False, check_ports=False))
    assert "pico-gz render" in error.value.hint
    monkeypatch.setenv("DISPLAY", ":4711")
    with pytest.raises(MissingProgramError, match="does not open"):
        MujocoViewer(fleet_of(1))


@pytest.fixture
def screen(monkeypatch):
    program = need_program("Xvfb", "-help")
    reader, writer = os.pipe()
    server = subprocess.Popen(
        [program, "-displayfd", str(writer), "-screen", "0", "800x600x24", "-nolisten", "tcp"],
        pass_fds=[writer], stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(writer)
    with os.fdopen(reader) as answer:
        number = answer.readline().strip()
    if not number:
        pytest.skip("Xvfb does not start here")
    monkeypatch.setenv("DISPLAY", f":{number}")
    yield
    server.terminate()
    server.wait()


def test_the_window_shows_a_run_and_may_be_closed(screen, caplog):
    options = RunOptions(
        view="mujoco", demo=True, duration_s=1.0, mavlink=False, control=False, check_ports=False
    )
    with FleetRun(fleet_of(2), options) as session:
        (viewer,) = [
            hook for hook in session.bridge.after_step._hooks.values()
            if isinstance(hook, MujocoViewer)
        ]  # fmt: skip
        drawing = viewer._drawing
        assert drawing.is_alive()
        assert session.run().problems == []
    assert not drawing.is_alive()
    viewer = MujocoViewer(fleet_of(1))
    viewer(FleetView(truth={1: VehicleTruth(0, 1, 1.0, 2.0, 0.0, (1.0, 0.0, 0.0, 0.0))}))
    viewer._drawing._process.kill()  # as a closed window ends it
    deadline_s = time.monotonic() + 10.0
    while "the run continues" not in caplog.text and time.monotonic() < deadline_s:
        viewer(FleetView(step=1))
        time.sleep(0.05)
    viewer.close()
    assert "the run continues" in caplog.text
