"""Reads damaged recordings: whatever their bytes are, a reader raises no other than its own errors.

``python tests/fuzz/recording_fuzz.py --runs N`` looks for inputs that reach new code (with
``atheris``), starting from ``corpus/``: a recording in its parts, and damaged parts
(``PART-HASH``) that earlier searches found to reach more code. Inputs that raised something else,
or took long, go to ``found/`` in the working folder. ``--write-corpus`` makes the parts again.

The first byte of an input says which part of a recording the others are.
"""

import argparse
import json
import random
import re
import shutil
import struct
import sys
import tempfile
import time
import zlib
from pathlib import Path

try:
    import atheris
except ImportError:
    atheris = None
else:
    # Only when asked to search: instrumented code is slow.
    if __name__ == "__main__":
        atheris.instrument_imports(include=["pico_gz.run.recording", "mcap"]).__enter__()

from mcap.records import Chunk

from pico_gz.errors import PicoGzError
from pico_gz.run.config import default_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions
from pico_gz.run.recording.diff import diff_runs
from pico_gz.run.recording.mcap_reader import McapReader
from pico_gz.run.recording.mcap_writer import as_bytes
from pico_gz.run.recording.plots import draw_page, gather
from pico_gz.run.recording.recorded_run import RecordedRun, read_tracks
from pico_gz.run.rerun import rerun

CORPUS = Path(__file__).parent / "corpus"
MAX_S = 1.0  # of processor time; a slow machine gets another one
MAX_BYTES = 60_000

# Which part of a recording an input replaces.
FILE, CHUNK, FACTS, LATENCY = range(4)
PARTS = 4
TOKENS = (
    b"[" * 2000, b"{", b"}", b'""', b"null", b"-1", b"1e308", b"1" * 400, b"\xff\xfe", b"..", b"/",
    b"true", b"0", b'"float:nan"', b'"float:inf"', b'"gazebo"', b'"external"', b"\x00" * 8,
    b"\xff" * 8, struct.pack("<Q", 2**63), struct.pack("<I", 2**31),
    MAX_BYTES.to_bytes(8, "little"),
)  # fmt: skip


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class Target:
    """A folder in memory whose files are replaced by inputs, one after the other."""

    def __init__(self) -> None:
        shared = Path("/dev/shm")
        parent = str(shared) if shared.is_dir() else None
        self._place = tempfile.TemporaryDirectory(prefix="pico_gz_fuzz_", dir=parent)
        self.folder = Path(self._place.name) / "run"
        self._base = unpacked_base(CORPUS)
        self.longest_s = 0.0

    def close(self) -> None:
        self._place.cleanup()

    def __call__(self, data: bytes) -> None:
        """Read an input in every way; raises what a reader may not raise."""
        part = data[0] % PARTS if data else FILE
        files = {**self._base, **as_files(part, data[1:])}
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        for name, content in files.items():
            (self.folder / name).write_bytes(content)
        started_s = time.process_time()
        for read in (read_steps, read_for_plot, read_for_replay, read_for_diff):
            with RefusalIsFine():
                read(self.folder)
        if part == FACTS:
            with RefusalIsFine():
                repeat(self.folder)
        took_s = time.process_time() - started_s
        self.longest_s = max(self.longest_s, took_s)
        if took_s > 2 * MAX_S:
            raise TimeoutError(f"{took_s:.1f} s for {len(data)} bytes")


class RefusalIsFine:
    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: object, _: object) -> bool:
        return kind is not None and issubclass(kind, PicoGzError)


def read_steps(folder: Path) -> None:
    with RecordedRun(folder) as run:
        run.digest()
        run.at(run.end_us // 2)


def read_for_plot(folder: Path) -> None:
    with RecordedRun(folder) as run:
        draw_page(gather(run))


def read_for_replay(folder: Path) -> None:
    with RecordedRun(folder) as run:
        read_tracks(run)
        run.events()
        run.samples()
        run.fleet(folder / "files")


def read_for_diff(folder: Path) -> None:
    with RecordedRun(folder) as one, RecordedRun(folder) as other:
        assert diff_runs(one, other) is None


def repeat(folder: Path) -> None:
    with RecordedRun(folder) as run:
        rerun(run)


def unpacked_base(corpus: Path) -> dict[str, bytes]:
    """The undamaged recording that inputs replace a part of."""
    return {
        "run.mcap": (corpus / "file").read_bytes()[1:],
        "run.json": (corpus / "facts").read_bytes()[1:],
        "latency.csv": (corpus / "latency").read_bytes()[1:],
    }


def as_files(part: int, data: bytes) -> dict[str, bytes]:
    if part == FACTS:
        return {"run.json": data}
    if part == LATENCY:
        return {"latency.csv": data}
    if part == FILE:
        return {"run.mcap": data}
    # Damage inside of a chunk would end at its checksum, so that is made to fit.
    chunk = Chunk(
        compression="",
        data=data,
        message_start_time=0,
        message_end_time=10**9,
        uncompressed_crc=zlib.crc32(data),
        uncompressed_size=len(data),
    )
    return {"run.mcap": b"\x89MCAP0\r\n" + as_bytes(chunk)}


def write_corpus() -> None:
    """A short recording of one rover, in its parts."""
    CORPUS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        fleet = default_fleet(1, FleetOverrides(adapter="lightweight", speed="max"))
        options = RunOptions(
            demo=True, duration_s=0.08, record_dir=Path(folder),
            mavlink=False, control=False, check_ports=False,
        )  # fmt: skip
        with FleetRun(fleet, options) as session:
            run = Path(session.run().recording)
        with McapReader(run / "run.mcap") as reader:
            chunk = bytes(reader._load(reader.chunks[0]))
        facts = json.loads((run / "run.json").read_text())
        facts["result"]["recording"] = "run"
        facts["inputs"] = {"1/mission": "QGC WPL 110\n"}
        parts = {
            "file": bytes([FILE]) + (run / "run.mcap").read_bytes(),
            "chunk": bytes([CHUNK]) + chunk,
            "facts": bytes([FACTS]) + json.dumps(facts).encode(),
            "latency": bytes([LATENCY]) + (run / "latency.csv").read_bytes(),
        }
    parts["cut"] = parts["file"][: len(parts["file"]) * 2 // 3]
    for name, data in parts.items():
        (CORPUS / name).write_bytes(data)


def damaged(draw: random.Random, data: bytes) -> bytes:
    """One input made from another by a few random changes, as every fuzzer makes them."""
    found = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 4, 16))):
        place = draw.randrange(1, len(found)) if len(found) > 1 else 0
        length = draw.choice((1, 1, 2, 8, 64))
        change = draw.randrange(6)
        if change == 0 and found:
            found[place] ^= 1 << draw.randrange(8)
        elif change == 1:
            found[place : place + length] = draw.randbytes(length)
        elif change == 2:
            del found[place : place + length]
        elif change == 3:
            found[place:place] = draw.choice(TOKENS)
        elif change == 4:
            token = draw.choice(TOKENS)
            numbers = [found_at.span() for found_at in re.finditer(rb"-?\d+(\.\d+)?", found)]
            first, last = draw.choice(numbers) if numbers else (place, place + len(token))
            found[first:last] = token
        else:
            other = draw.randrange(len(found) + 1)
            found[place:place] = found[other : other + length * 8]
    return bytes(found[:MAX_BYTES])


def worth_damaging(inputs: list[bytes]) -> list[bytes]:
    """Without those of a few bytes: damage makes nothing but noise of them."""
    return [data for data in inputs if len(data) > 16]


def search(runs: int) -> int:
    """Look for new code with atheris; returns the exit code."""
    if atheris is None:
        say("atheris is not installed: damage at random, without looking at coverage.")
        return try_at_random(runs)
    target, found = Target(), Path("found")
    found.mkdir(exist_ok=True)
    grown = Path(tempfile.mkdtemp(prefix="pico_gz_corpus_"))
    options = [
        f"-runs={runs}",
        f"-max_len={MAX_BYTES}",
        f"-artifact_prefix={found}/",
        "-timeout=20",
    ]

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        if seed % 2:
            return atheris.Mutate(data, max_size)
        return damaged(random.Random(seed), data)[:max_size]

    atheris.Setup([sys.argv[0], *options, str(grown), str(CORPUS)], target, custom_mutator=mutate)
    atheris.Fuzz()  # ends the process
    return 0


def try_at_random(runs: int, seed: int = 1) -> int:
    """Damage the corpus so often; returns the number of inputs that raised."""
    target, draw = Target(), random.Random(seed)
    inputs = [path.read_bytes() for path in sorted(CORPUS.iterdir())]
    large = worth_damaging(inputs)
    problems = 0
    for number in range(runs):
        data = damaged(draw, draw.choice(large)) if number >= len(inputs) else inputs[number]
        try:
            target(data)
        except Exception as exc:
            problems += 1
            say(f"{type(exc).__name__}: {exc}: input {number}")
            Path("found").mkdir(exist_ok=True)
            (Path("found") / f"random-{seed}-{number}").write_bytes(data)
    say(f"{runs} recordings, {problems} problems, the longest took {target.longest_s:.2f} s")
    target.close()
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500_000)
    parser.add_argument("--seed", type=int, help="damage at random, without looking at coverage")
    parser.add_argument("--write-corpus", action="store_true")
    asked = parser.parse_args()
    if asked.write_corpus:
        write_corpus()
        return 0
    if asked.seed is not None:
        return min(1, try_at_random(asked.runs, asked.seed))
    return search(asked.runs)


if __name__ == "__main__":
    sys.exit(main())
