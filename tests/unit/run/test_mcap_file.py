"""The file itself: drafts are replaced, and the reference implementation reads it."""

import json

import pytest

from pico_gz.errors import MissingExtraError
from pico_gz.run.recording import mcap_format, mcap_writer
from pico_gz.run.recording import mcap_format as mcap
from pico_gz.run.recording.mcap_format import ChunkBuilder, RecordingError
from pico_gz.run.recording.mcap_reader import McapReader
from pico_gz.run.recording.mcap_writer import McapFile

SCHEMA = mcap.schema(1, "test.Number", b'{"type": "object"}')
CHANNEL = mcap.channel(1, 1, "/number")


def write(path, *, drafts=False, kind=None, monkeypatch=None, early_end=""):
    if kind is not None:
        monkeypatch.setattr(mcap_writer, "best_compression", lambda: (kind, bytes))
    file, chunk = McapFile(path), ChunkBuilder()
    file.note_schema(SCHEMA)
    file.note_channel(1, CHANNEL)
    chunk.add_record(SCHEMA + CHANNEL)
    for number in range(100):
        chunk.add_messages([1], number, number * 1000, [json.dumps({"n": number}).encode()])
        if drafts and number % 7 == 0:
            file.write_draft(chunk.peek())
        if number % 25 == 24:
            file.write(chunk.seal())
    file.finish(early_end)
    file.close()


def test_drafts_leave_no_trace_in_a_finished_file(tmp_path):
    write(tmp_path / "a.mcap")
    write(tmp_path / "b.mcap", drafts=True)
    assert (tmp_path / "a.mcap").read_bytes() == (tmp_path / "b.mcap").read_bytes()


def test_a_draft_is_readable_when_nothing_follows(tmp_path):
    file, chunk = McapFile(tmp_path / "a.mcap"), ChunkBuilder()
    chunk.add_record(SCHEMA + CHANNEL)
    chunk.add_messages([1], 0, 0, [b"{}"])
    file.write_draft(chunk.peek())
    chunk.add_messages([1], 1, 1, [b"{}"])
    file.write_draft(chunk.peek())
    with McapReader(tmp_path / "a.mcap") as reader:
        assert not reader.complete
        assert [m.sequence for c in reader.chunks for m in reader.messages(c)] == [0, 1]
    file.close()


@pytest.mark.parametrize("kind", [None, ""])
def test_the_reference_implementation_reads_it(tmp_path, monkeypatch, kind):
    reader = pytest.importorskip("mcap.reader")
    write(tmp_path / "a.mcap", kind=kind, monkeypatch=monkeypatch)
    with (tmp_path / "a.mcap").open("rb") as stream:
        found = reader.make_reader(stream, validate_crcs=True)
        summary = found.get_summary()
        assert summary.statistics.message_count == 100
        assert summary.statistics.chunk_count == 4
        assert summary.channels[1].topic == "/number"
        numbers = [json.loads(m.data)["n"] for _, _, m in found.iter_messages(topics="/number")]
        assert numbers == list(range(100))
        some = found.iter_messages(starting_at=30_000, ending_before=33_000)
        assert [m.sequence for _, _, m in some] == [30, 31, 32]


def test_a_file_that_ends_early_says_so_to_others_too(tmp_path):
    path = tmp_path / "a.mcap"
    write(path, early_end="no space left on device")
    with McapReader(path) as own:
        assert own.complete
        assert own.ended_early
    library = pytest.importorskip("mcap.reader")
    with path.open("rb") as stream:
        found = library.make_reader(stream, validate_crcs=True)
        assert found.get_summary().statistics.metadata_count == 1
        (note,) = found.iter_metadata()
        assert note.name == mcap_writer.EARLY_END
        assert note.metadata == {"reason": "no space left on device"}
        assert sum(1 for _ in found.iter_messages()) == 100


def write_two_channels(path):
    file, chunk = McapFile(path), ChunkBuilder()
    chunk.add_record(SCHEMA + CHANNEL + mcap.channel(2, 1, "/other"))
    for number in range(40):
        chunk.add_messages([1 + number % 2], number, number * 1000, [b"{}"])
        if number % 20 == 19:
            file.write(chunk.seal())
    return file


@pytest.mark.parametrize("finished", [True, False])
def test_some_channels_are_read_without_the_others(tmp_path, finished):
    file = write_two_channels(tmp_path / "a.mcap")
    if finished:
        file.finish()
    file.close()
    with McapReader(tmp_path / "a.mcap") as reader:
        assert reader.complete == finished
        found = [m.sequence for c in reader.chunks for m in reader.messages(c, {2})]
        assert found == list(range(1, 40, 2))
        both = [m.sequence for c in reader.chunks for m in reader.messages(c, {1, 2})]
        assert both == list(range(40))


def test_whatever_is_damaged_is_told_as_a_damaged_recording(tmp_path):
    """Every byte outside of the chunks' own data, which their CRC looks after, once upside down."""
    path = tmp_path / "a.mcap"
    file = write_two_channels(path)
    file.finish("no space left on device")
    file.close()
    whole = path.read_bytes()
    with McapReader(path) as reader:
        inside = {
            place
            for chunk in reader.chunks
            for place in range(chunk.offset, chunk.offset + chunk.stored_bytes)
        }
    refused = 0
    for place in sorted(set(range(len(whole))) - inside):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        path.write_bytes(damaged)
        try:
            with McapReader(path) as reader:
                for chunk in reader.chunks:
                    list(reader.messages(chunk))
                    list(reader.messages(chunk, {2}))
        except RecordingError:
            refused += 1
    assert refused > 50


def test_without_the_extra_chunks_are_stored_as_they_are(tmp_path, monkeypatch):
    def missing():
        raise ImportError("zstandard")

    write(tmp_path / "compressed.mcap")
    monkeypatch.setattr(mcap_format, "_zstandard", missing)
    write(tmp_path / "plain.mcap")
    with McapReader(tmp_path / "plain.mcap") as reader:
        assert {chunk.compression for chunk in reader.chunks} == {""}
        assert sum(1 for chunk in reader.chunks for _ in reader.messages(chunk)) == 100
    with (
        McapReader(tmp_path / "compressed.mcap") as reader,
        pytest.raises(MissingExtraError, match="'mcap'"),
    ):
        list(reader.messages(reader.chunks[0]))
