"""Damaged recordings: the corpus of the fuzzer, and 2,000 more (500,000 by ./scripts/soak)."""

import random
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "fuzz"))
import recording_fuzz

INPUTS = sorted(recording_fuzz.CORPUS.iterdir())


@pytest.fixture(scope="module")
def target():
    target = recording_fuzz.Target()
    yield target
    target.close()


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name)
def test_the_corpus_raises_nothing_but_refusals(target, path):
    target(path.read_bytes())


def test_the_undamaged_parts_are_a_recording(target):
    """Otherwise everything would be refused at once, and nothing be tried."""
    target((recording_fuzz.CORPUS / "facts").read_bytes())
    recording_fuzz.read_steps(target.folder)
    recording_fuzz.read_for_plot(target.folder)
    recording_fuzz.read_for_replay(target.folder)
    recording_fuzz.repeat(target.folder)
    target((recording_fuzz.CORPUS / "chunk").read_bytes())
    recording_fuzz.read_for_diff(target.folder)


@pytest.mark.slow
def test_two_thousand_damaged_recordings(target):
    draw = random.Random(2026)
    inputs = recording_fuzz.worth_damaging([path.read_bytes() for path in INPUTS])
    for _ in range(2000):
        target(recording_fuzz.damaged(draw, draw.choice(inputs)))
    assert target.longest_s < 2 * recording_fuzz.MAX_S
