"""The file itself: drafts are replaced, sizes are checked, and the mcap library reads it."""

import json
import struct
import zlib
from pathlib import Path

import mcap.reader
import pytest
import zstandard
from mcap.data_stream import RecordBuilder
from mcap.records import Channel, Chunk, Message, MessageIndex, Schema
from mcap.stream_reader import get_chunk_data_stream

from pico_gz.run.recording import mcap_reader, mcap_writer
from pico_gz.run.recording.mcap_reader import McapReader, RecordingError
from pico_gz.run.recording.mcap_writer import ChunkBuilder, McapFile, as_bytes
from pico_gz.run.recording.recorded_run import RecordedRun, read_tracks
from pico_gz.run.recording.recorder import read_latency

OLD_RECORDING = Path(__file__).parents[2] / "golden" / "recording_0_1"
SCHEMA = Schema(id=1, data=b'{"type": "object"}', encoding="jsonschema", name="test.Number")


def channel(number, topic):
    return Channel(id=number, topic=topic, message_encoding="json", metadata={}, schema_id=1)


def start_file(path, *topics):
    """A file and its first chunk, which know these channels."""
    file, chunk = McapFile(path), ChunkBuilder()
    file.note_schema(SCHEMA)
    chunk.add_record(SCHEMA)
    for number, topic in enumerate(topics, start=1):
        file.note_channel(channel(number, topic))
        chunk.add_record(channel(number, topic))
    return file, chunk


def write(path, *, drafts=False, early_end=""):
    file, chunk = start_file(path, "/number")
    for number in range(100):
        chunk.add_messages([1], number, number * 1000, [json.dumps({"n": number}).encode()])
        if drafts and number % 7 == 0:
            file.write_draft(chunk.peek())
        if number % 25 == 24:
            file.write(chunk.seal())
    file.finish(early_end)
    file.close()


def write_two_channels(path):
    file, chunk = start_file(path, "/number", "/other")
    for number in range(40):
        chunk.add_messages([1 + number % 2], number, number * 1000, [b"{}"])
        if number % 20 == 19:
            file.write(chunk.seal())
    return file


def test_drafts_leave_no_trace_in_a_finished_file(tmp_path):
    write(tmp_path / "a.mcap")
    write(tmp_path / "b.mcap", drafts=True)
    assert (tmp_path / "a.mcap").read_bytes() == (tmp_path / "b.mcap").read_bytes()


def test_a_draft_is_readable_when_nothing_follows(tmp_path):
    file, chunk = start_file(tmp_path / "a.mcap", "/number")
    chunk.add_messages([1], 0, 0, [b"{}"])
    file.write_draft(chunk.peek())
    chunk.add_messages([1], 1, 1, [b"{}"])
    file.write_draft(chunk.peek())
    with McapReader(tmp_path / "a.mcap") as reader:
        assert not reader.complete
        assert [m.sequence for c in reader.chunks for m in reader.messages(c)] == [0, 1]
    file.close()


def test_messages_and_their_index_are_as_the_library_writes_them():
    """They are packed here, because of their number."""
    chunk, builder = ChunkBuilder(), RecordBuilder()
    chunk.add_messages([7, 3], 5, 9000, [b'{"a":1}', b"{}"])
    chunk.add_messages([3], 6, 9500, [b"{}"])
    messages = [
        Message(channel_id=7, log_time=9000, data=b'{"a":1}', publish_time=9000, sequence=5),
        Message(channel_id=3, log_time=9000, data=b"{}", publish_time=9000, sequence=5),
        Message(channel_id=3, log_time=9500, data=b"{}", publish_time=9500, sequence=6),
    ]
    first, second, _ = map(len, map(as_bytes, messages))
    indexes = [
        MessageIndex(3, [(9000, first), (9500, first + second)]),
        MessageIndex(7, [(9000, 0)]),
    ]
    sealed = chunk.seal()
    assert sealed.data == as_bytes(*messages)
    places = sealed.write_index(builder, 1000)
    assert builder.end() == as_bytes(*indexes)
    assert places == {3: 1000, 7: 1000 + len(as_bytes(indexes[0]))}


def test_the_library_reads_it(tmp_path):
    write(tmp_path / "a.mcap")
    with (tmp_path / "a.mcap").open("rb") as stream:
        found = mcap.reader.make_reader(stream, validate_crcs=True)
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
    with path.open("rb") as stream:
        found = mcap.reader.make_reader(stream, validate_crcs=True)
        assert found.get_summary().statistics.metadata_count == 1
        (note,) = found.iter_metadata()
        assert note.name == mcap_writer.EARLY_END
        assert note.metadata == {"reason": "no space left on device"}
        assert sum(1 for _ in found.iter_messages()) == 100


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


def test_whatever_is_damaged_is_reported_as_a_damaged_recording(tmp_path):
    """Every byte, once upside down."""
    path = tmp_path / "a.mcap"
    file = write_two_channels(path)
    file.finish("no space left on device")
    file.close()
    whole = path.read_bytes()
    refused = 0
    for place in range(len(whole)):
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


def chunk_of(data, *, size, compression="zstd"):
    return Chunk(
        compression=compression,
        data=data,
        message_start_time=0,
        message_end_time=0,
        uncompressed_crc=0,
        uncompressed_size=size,
    )


ZEROS = bytes(80_000_000)
SMALL = as_bytes(channel(1, "/number"))


@pytest.mark.parametrize(
    ("chunk", "problem"),
    [
        pytest.param(
            lambda: chunk_of(zstandard.compress(ZEROS), size=len(ZEROS)),
            "claims to hold 80000000",
            id="too large",
        ),
        pytest.param(
            lambda: chunk_of(zstandard.compress(ZEROS[:5_000_000]), size=5_000_000),
            "claims to hold 5000000",
            id="too dense",
        ),
        pytest.param(
            lambda: chunk_of(zstandard.compress(ZEROS), size=100),
            "claims to unpack to 80000000",
            id="the frame claims more than the chunk",
        ),
        pytest.param(
            lambda: chunk_of(
                zstandard.ZstdCompressor(write_content_size=False).compress(ZEROS), size=100
            ),
            "damaged",
            id="the frame claims nothing and holds more",
        ),
        pytest.param(
            lambda: chunk_of(zstandard.compress(SMALL), size=len(SMALL) + 1),
            "claims to unpack to",
            id="the chunk claims more than the frame",
        ),
        pytest.param(
            lambda: chunk_of(SMALL, size=len(SMALL) + 1, compression=""),
            f"{len(SMALL)} bytes instead of",
            id="not compressed, of another size",
        ),
        pytest.param(lambda: chunk_of(b"no frame", size=8), "damaged", id="no frame at all"),
        pytest.param(
            lambda: chunk_of(SMALL, size=len(SMALL), compression="lz4"),
            "'lz4' is not one that this kit writes",
            id="another compression",
        ),
    ],
)
def test_sizes_are_checked_before_anything_is_unpacked(tmp_path, monkeypatch, chunk, problem):
    """A chunk that lies about its size costs no memory."""
    unpacked = []

    def unpack(chunk, **options):
        unpacked.append(chunk)
        return get_chunk_data_stream(chunk, **options)

    monkeypatch.setattr(mcap_reader, "get_chunk_data_stream", unpack)
    path = tmp_path / "a.mcap"
    McapFile(path).close()
    # A damaged chunk at the end would be one that was cut off.
    last = chunk_of(zstandard.compress(SMALL), size=len(SMALL))
    path.write_bytes(path.read_bytes() + as_bytes(chunk(), last))
    with pytest.raises(RecordingError, match=problem):
        McapReader(path)
    if "claims" in problem:
        assert not unpacked


def test_chunks_that_are_not_compressed_are_read(tmp_path):
    """As earlier versions wrote them without the extra ``mcap``."""
    chunk = ChunkBuilder()
    chunk.add_record(channel(1, "/number"))
    chunk.add_messages([1], 5, 9000, [b"{}"])
    data = bytes(chunk.seal().data)
    record = chunk_of(data, size=len(data), compression="")
    record.uncompressed_crc = zlib.crc32(data)
    path = tmp_path / "a.mcap"
    McapFile(path).close()
    path.write_bytes(path.read_bytes() + as_bytes(record))
    with McapReader(path) as reader:
        assert reader.topics == {1: "/number"}
        (message,) = reader.messages(reader.chunks[0])
    assert (message.sequence, bytes(message.payload)) == (5, b"{}")


def test_a_record_that_claims_to_be_endless_ends_the_file(tmp_path):
    path = tmp_path / "a.mcap"
    write_two_channels(path).close()
    path.write_bytes(path.read_bytes() + struct.pack("<BQ", 6, 2**63))
    with McapReader(path) as reader:
        assert len(reader.chunks) == 2


def test_a_recording_of_version_0_1_opens():
    """Made before the ``mcap`` library wrote the records."""
    with RecordedRun(OLD_RECORDING) as run:
        assert run.complete
        assert run.digest() == run.facts["result"]["trace_sha256"]
        assert [view.step for view in run.steps()] == list(range(1, 201))
        assert (run.at(1_000_000).step, run.end_us) == (100, 2_000_000)
        assert [event.kind for event in run.events()] == ["says"] * 6
        assert run.samples()[-1].mode == "AUTO"
        assert len(read_tracks(run)[1]) == 9 * 3
    assert [row.time_s for row in read_latency(OLD_RECORDING)] == [1.0, 2.0]
