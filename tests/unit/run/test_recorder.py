"""The recorder: complete, the same bytes for the same run, and no match for a bad disk."""

import errno
import os
import queue

import pytest
import zstandard
from recorded_views import STEP_US, make_view

from pico_gz.bridge.observers import TraceDigest
from pico_gz.bridge.published import BridgeEvent
from pico_gz.run.recording import mcap_writer
from pico_gz.run.recording.mcap_reader import McapReader, Message, RecordingError
from pico_gz.run.recording.recorded_run import RecordedRun
from pico_gz.run.recording.recorder import RunRecorder
from pico_gz.run.recording.topics import AutopilotSample, Kind


@pytest.fixture
def events():
    return []


@pytest.fixture
def record(tmp_path, events):
    """Record views into a run folder of this name and return the folder."""

    def make(name: str = "run", **options) -> RunRecorder:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "run.json").write_text('{"vehicles": {"1": "rover_1", "2": "rover_2"}}')
        return RunRecorder(
            folder / "run.mcap",
            name_of="rover_{}".format,
            sample=lambda i, time_us: AutopilotSample(timestamp_us=time_us, vehicle_id=i),
            report=events.append,
            **options,
        )

    return make


def record_steps(recorder: RunRecorder, steps: int) -> str:
    trace = TraceDigest()
    for step in range(1, steps + 1):
        view = make_view(step)
        recorder(view)
        trace(view)
    recorder.close()
    return trace.hexdigest()


def test_what_is_read_is_what_was_recorded_bit_for_bit(record):
    recorder = record()
    digest = record_steps(recorder, 250)
    with RecordedRun(recorder.path.parent) as run:
        assert run.complete
        assert run.digest() == digest
        views = list(run.steps())
        assert [view.step for view in views] == list(range(1, 251))
        assert views[7].truth == make_view(8).truth
        assert views[19].sensors == make_view(20).sensors
        assert (run.start_us, run.end_us) == (STEP_US, 250 * STEP_US)


def test_the_same_run_gives_the_same_bytes(record):
    first, second = record("a"), record("b")
    record_steps(first, 230)
    record_steps(second, 230)
    assert first.path.read_bytes() == second.path.read_bytes()


def test_any_step_can_be_looked_at(record):
    recorder = record()
    record_steps(recorder, 350)
    with RecordedRun(recorder.path) as run:
        assert run.at(0).step == 1
        assert run.at(STEP_US * 150 + 1).step == 150
        assert run.at(STEP_US * 100 - 1).step == 99
        assert run.at(10**12).step == 350


def test_events_and_samples_are_kept(record):
    recorder = record()
    event = BridgeEvent(time_us=5, kind="contact", text="rover_1 touches a wall.", vehicle_id=1)
    recorder(make_view(1))
    recorder.note_event(event)
    recorder.close()
    with RecordedRun(recorder.path.parent) as run:
        assert run.events() == [event]
        assert [sample.vehicle_id for sample in run.samples()] == [1, 2]


def test_a_full_disk_ends_the_recording_with_one_event_and_not_the_run(record, events, monkeypatch):
    recorder = record()
    real, room = os.pwrite, 40_000

    def pwrite(fd, data, offset):
        if offset + len(data) > room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(fd, data, offset)

    recorder._file._compress = zstandard.ZstdCompressor(level=-100).compress
    monkeypatch.setattr(mcap_writer.os, "pwrite", pwrite)
    recorder(make_view(1))
    recorder._writer.put(recorder._chunk.seal())
    for step in range(2, 200):
        recorder(make_view(step))
    recorder.close()
    recorder(make_view(200))
    assert [event.kind for event in events] == ["recording"]
    assert "no space left" in events[0].text
    with McapReader(recorder.path) as reader:
        assert len(reader.chunks) == 1
        assert reader.complete, "there was room for the summary"
    assert "no space left" in recorder.problem
    with RecordedRun(recorder.path) as run:
        assert not run.complete, "the run went on"
    recorder.close()
    assert len(events) == 1, "told once"


def test_a_disk_that_is_too_slow_leaves_no_complete_recording(record, events, monkeypatch):
    recorder = record()
    recorder(make_view(1))
    recorder._writer.put(recorder._chunk.seal())
    waiting = recorder._writer._waiting
    real_put = waiting.put

    def put(chunk, timeout):
        if chunk is not None:
            raise queue.Full
        real_put(chunk, timeout=timeout)

    monkeypatch.setattr(waiting, "put", put)
    for step in range(2, 200):
        recorder(make_view(step))
    recorder.close()
    assert [event.kind for event in events] == ["recording"]
    assert "too slow" in events[0].text
    with McapReader(recorder.path) as reader:
        assert reader.complete
    with RecordedRun(recorder.path) as run:
        assert not run.complete
        assert [view.step for view in run.steps()] == [1]


def test_a_removed_recording_is_noticed(record, events):
    recorder = record()
    recorder(make_view(1))
    recorder.path.unlink()
    for step in range(2, 400):
        recorder(make_view(step))
    recorder.close()
    assert [event.kind for event in events] == ["recording"]
    assert "removed" in events[0].text


@pytest.mark.parametrize("cut", [1, 9, 100, 2000])
def test_a_file_that_is_cut_anywhere_is_read_to_its_last_whole_chunk(record, cut):
    recorder = record()
    record_steps(recorder, 350)
    with McapReader(recorder.path) as reader:
        last = reader.chunks[-1]
    data = recorder.path.read_bytes()
    recorder.path.write_bytes(data[: last.chunk_start_offset + last.chunk_length - cut])
    with RecordedRun(recorder.path) as run:
        assert not run.complete
        assert [view.step for view in run.steps()] == list(range(1, 301))


def test_a_flipped_bit_is_found(record):
    recorder = record()
    record_steps(recorder, 250)
    with McapReader(recorder.path) as reader:
        place = reader.chunks[1]
    data = bytearray(recorder.path.read_bytes())
    data[place.chunk_start_offset + place.chunk_length // 2] ^= 1
    recorder.path.write_bytes(data)
    with RecordedRun(recorder.path) as run, pytest.raises(RecordingError):
        list(run.steps())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "[" * 100_000,
        '{"vehicles": ',
        '{"vehicles": 5}',
        '{"vehicles": {"a": 1}}',
        '{"vehicles": {"a": "rover_1"}}',
        '{"vehicles": {"1": 1}}',
        '{"result": []}',
        '{"result": {"steps": "many"}}',
        '{"result": {"trace_sha256": 5}}',
        '{"result": {"latency_ms": {"p50": "fast"}}}',
        '{"options": []}',
        '{"options": {"rc": 5}}',
        '{"inputs": 3}',
        '{"config": "yard"}',
        '{"version": 1}',
    ],
)
def test_facts_that_are_none_are_told(record, text):
    recorder = record()
    record_steps(recorder, 3)
    folder = recorder.path.parent
    (folder / "run.json").write_text(text)
    with pytest.raises(RecordingError, match=r"run\.json"):
        RecordedRun(folder)


def test_a_message_that_is_not_understood_is_told(record):
    """As from a version whose messages had other fields."""
    recorder = record()
    record_steps(recorder, 3)
    folder = recorder.path.parent
    with RecordedRun(folder) as run, pytest.raises(RecordingError, match="not understood"):
        run._decode(Kind.TRUTH, Message(1, 1, 0, memoryview(b'{"north": 1.0}')))


def test_closing_twice_is_fine(record):
    recorder = record()
    recorder(make_view(1))
    recorder.close()
    recorder.close()
