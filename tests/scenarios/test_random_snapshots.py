"""Snapshots at random moments of random runs continue bit for bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from random_story import FOLLOWED_STEPS, STEPS, Story

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def first_difference(ours: list[str], theirs: list[str]) -> int | None:
    pairs = enumerate(zip(ours, theirs, strict=True))
    return next((number for number, (our, their) in pairs if our != their), None)


def check(seed: int, snapshots: int, folder: Path) -> None:
    """Restore snapshots in the same run, last first, and in a new process."""
    story = Story(seed, folder)
    wanted = story.snapshot_steps(snapshots)
    saved: dict[int, bytes] = {}
    whole: list[str] = []
    with story.open() as sitl:
        for step in range(STEPS):
            if step in wanted:
                saved[step] = sitl.bridge.snapshot()
                (folder / f"{step}.snapshot").write_bytes(saved[step])
            whole += story.follow(sitl, step, step + 1)
        again = {}
        for step in reversed(wanted):
            sitl.bridge.restore(saved[step])
            again[step] = list(story.follow(sitl, step, step + FOLLOWED_STEPS))
    done = subprocess.run(
        [sys.executable, str(HERE / "random_story.py"), str(seed), str(folder)],
        capture_output=True, timeout=200, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    elsewhere = {int(step): digests for step, digests in json.loads(done.stdout).items()}
    problems = []
    for step in wanted:
        expected = whole[step : step + FOLLOWED_STEPS]
        for where, found in (("same run", again[step]), ("new process", elsewhere[step])):
            differs = first_difference(expected, found)
            if differs is not None:
                problems.append(f"seed {seed}, step {step}, {where}: differs after {differs} steps")
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("seed", range(3))
def test_random_snapshots_continue_bit_for_bit(seed, tmp_path):
    check(seed, 4, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", range(100, 125))
def test_two_hundred_random_snapshots_continue_bit_for_bit(seed, tmp_path):
    check(seed, 8, tmp_path)
