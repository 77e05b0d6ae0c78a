"""The table of latencies: a row per second, whole after a kill, and drawn."""

import errno

import pytest
from recorded_views import STEP_US, make_view

from pico_gz.bridge.run_stats import LatencyHistogram
from pico_gz.run.recording import plots
from pico_gz.run.recording.mcap_reader import RecordingError
from pico_gz.run.recording.plots import gather
from pico_gz.run.recording.recorded_run import RecordedRun
from pico_gz.run.recording.recorder import LATENCY_FILE, LatencyLog, RunRecorder, read_latency

SLOW_S, USUAL_S = 0.020, 0.0001


def drive(take_step, histogram, steps=250):
    """Steps of 10 ms; in the second second every 20th is slow."""
    for step in range(1, steps + 1):
        slow = 100 < step <= 200 and step % 20 == 0
        histogram.add(SLOW_S if slow else USUAL_S)
        take_step(step)


@pytest.fixture
def histogram():
    histogram = LatencyHistogram()
    histogram.add(5.0)  # before the recording began: none of its business
    return histogram


@pytest.fixture
def log(tmp_path, histogram):
    log = LatencyLog(tmp_path / LATENCY_FILE, histogram)
    yield log
    log.close()


def test_every_second_has_its_own_figures(log, histogram, tmp_path):
    drive(lambda step: log.note_step(step * STEP_US), histogram)
    log.close()
    log.close()
    rows = read_latency(tmp_path)
    assert [row.time_s for row in rows] == [1.0, 2.0, 2.5]
    assert [row.p50_ms for row in rows] == pytest.approx([0.1, 0.1, 0.1], rel=0.06)
    assert [row.max_ms for row in rows] == pytest.approx([0.1, 20.0, 0.1], rel=0.06)
    assert rows[1].p99_ms == pytest.approx(20.0, rel=0.06)


def test_a_kill_costs_the_second_under_way(log, histogram, tmp_path):
    drive(lambda step: log.note_step(step * STEP_US), histogram)
    path = tmp_path / LATENCY_FILE
    assert [row.time_s for row in read_latency(tmp_path)] == [1.0, 2.0]
    path.write_bytes(path.read_bytes()[:-3])
    assert [row.time_s for row in read_latency(tmp_path)] == [1.0]


def test_a_full_disk_ends_the_table_and_not_the_run(log, histogram, monkeypatch):
    class Full:
        closed = False

        def write(self, text):
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self):
            self.closed = True
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(log, "_file", Full())
    drive(lambda step: log.note_step(step * STEP_US), histogram)
    assert log._file.closed


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "time_s,p50_ms,p99_ms,max_ms\n1,2\n", "\xff"])
def test_another_table_is_refused(tmp_path, text):
    (tmp_path / LATENCY_FILE).write_text(text, encoding="latin-1")
    with pytest.raises(RecordingError, match="latency"):
        read_latency(tmp_path)


def test_a_recording_without_it_has_no_rows(tmp_path):
    assert read_latency(tmp_path) == []


def test_a_recorder_keeps_it_and_a_plot_finds_it(tmp_path, histogram, monkeypatch):
    """Also when the run was killed, and thinned out without losing the slow seconds."""
    (tmp_path / "run.json").write_text("{}")
    recorder = RunRecorder(
        tmp_path / "run.mcap",
        name_of="rover_{}".format,
        sample=lambda *_: None,
        report=lambda event: None,
        latency=histogram,
    )
    drive(lambda step: recorder(make_view(step)), histogram)
    with RecordedRun(tmp_path) as run:
        assert not run.complete
    recorder.close()
    with RecordedRun(tmp_path) as run:
        lines = gather(run).latency
        assert [time_s for time_s, _ in lines["max"]] == [1.0, 2.0, 2.5]
        assert lines["max"][1][1] == pytest.approx(20.0, rel=0.06)
        monkeypatch.setattr(plots, "MAX_POINTS", 1)
        assert gather(run).latency["max"] == [(2.5, lines["max"][1][1])]
