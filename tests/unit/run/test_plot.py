"""Plots: a page that needs nothing, a picture that needs the extra."""

import re
from xml.etree import ElementTree

import msgspec
import pytest

from pico_gz.errors import ConfigError, MissingExtraError
from pico_gz.run.recording import plots
from pico_gz.run.recording.mcap_reader import RecordingError
from pico_gz.run.recording.plots import RunSeries, VehicleSeries, _ticks, draw_page

SERIES = RunSeries(
    "yard <1>, seed 7",
    [
        VehicleSeries(
            "rover_1",
            track=[(0.0, 0.0), (3.0, 4.0)],
            speed=[(0.0, 0.0), (1.0, 0.7)],
            cross_track=[(1.0, -0.1)],
            estimator_error=[(1.0, 0.4)],
        ),
        VehicleSeries("rover_2", track=[(3.0, 0.0)]),
    ],
    {"p50": 0.1, "max": 2.0},
)


def test_a_page_is_whole_and_loads_nothing():
    page = draw_page(SERIES)
    charts = re.findall(r"<svg.*?</svg>", page, re.S)
    assert len(charts) == 4
    for chart in charts:
        root = ElementTree.fromstring(chart)
        assert len(root.findall("polyline")) == 2
    assert "yard &lt;1&gt;, seed 7" in page
    assert "p50 0.100" in page
    assert not re.search(r"https?://|src=|<script|@import|url\(", page)


def test_latency_is_drawn_over_time():
    lines = {"p50": [(1.0, 0.1), (2.0, 0.1)], "max": [(1.0, 0.4), (2.0, 7.0)]}
    charts = re.findall(
        r"<svg.*?</svg>", draw_page(msgspec.structs.replace(SERIES, latency=lines)), re.S
    )
    assert len(charts) == 5
    root = ElementTree.fromstring(charts[-1])
    assert root.get("aria-label") == "step latency [ms]"
    slow_is_higher = root.findall("polyline")[1].get("points").split()
    heights = [float(point.split(",")[1]) for point in slow_is_higher]
    assert heights[1] < heights[0]
    assert [key.text for key in root.iter("tspan")] == ["p50", "max"]


def test_latency_is_in_the_picture_too():
    pytest.importorskip("matplotlib")
    from pico_gz.run.recording.plots import draw_picture

    lines = {"p50": [(1.0, 0.1), (2.0, 0.1)]}
    pictures = [
        draw_picture(msgspec.structs.replace(SERIES, latency=lines), ".svg").decode(),
        draw_picture(SERIES, ".svg").decode(),
    ]
    # The words of an SVG are drawn as shapes, but matplotlib notes each of them.
    assert "step latency" in pictures[0]
    axes = [picture.count('id="axes_') for picture in pictures]
    assert axes == [5, 4]


def test_a_metre_is_as_long_to_the_north_as_to_the_east():
    chart = re.findall(r"<svg.*?</svg>", draw_page(SERIES), re.S)[0]
    points = ElementTree.fromstring(chart).find("polyline").get("points").split()
    (x0, y0), (x1, y1) = (map(float, point.split(",")) for point in points)
    assert (y0 - y1) / (x1 - x0) == pytest.approx(4.0 / 3.0, abs=0.01)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.2, 7.9), (0.0, 1e-3), (5.0, 9e4)])
def test_ticks_are_few_and_inside(low, high):
    ticks = _ticks(low, high)
    assert 2 <= len(ticks) <= 6
    assert all(low <= tick <= high for tick in ticks)


def test_a_picture_needs_the_extra(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_text("{}")
    (folder / "run.mcap").write_bytes(b"\x89MCAP0\r\n")
    monkeypatch.setattr(plots, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="'plots'"):
        plots.plot_run(folder, tmp_path / "a.png")
    with pytest.raises(RecordingError, match="no step"):
        plots.plot_run(folder)
    with pytest.raises(ConfigError, match="no kind of plot"):
        plots.plot_run(folder, tmp_path / "a.docx")


def test_nothing_to_draw_is_told(tmp_path):
    with pytest.raises(RecordingError, match="no recording"):
        plots.plot_run(tmp_path)
