"""``pico-gz run`` with an autopilot of one's own: what it prints and how it ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULE = (ROOT / "tests/unit/run/wall_pilot.py").read_text()
FLEET = """
[fleet]
count = 2
adapter = "lightweight"
autopilot = "my_rover:StopAtWall"
[rover]
rangefinders_deg = [0.0]
[[obstacle]]
kind = "wall"
north_m = 3
east_m = -9
north2_m = 3
east2_m = 9
"""


@pytest.fixture
def run(tmp_path):
    (tmp_path / "my_rover.py").write_text(MODULE)
    (tmp_path / "fleet.toml").write_text(FLEET)

    def call(*words):
        return subprocess.run(
            [sys.executable, "-m", "pico_gz", *words],
            cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip

    return call


FLAT_OUT = ("--speed", "max", "--port-offset", "auto")


def test_it_drives_until_it_is_done_and_is_repeated_only_with_trust(run, tmp_path):
    done = run("run", "fleet.toml", "--until-done", "--record", "runs", *FLAT_OUT)
    assert done.returncode == 0, done.stderr
    assert "WALL" in done.stdout
    refused = run("rerun", "runs", "--by", "seed")
    assert refused.returncode == 2
    assert "my_rover:StopAtWall" in refused.stderr
    assert "--trust" in refused.stderr
    again = run("rerun", "runs", "--by", "seed", "--trust")
    assert (again.returncode, "The same, bit for bit." in again.stdout) == (0, True)
    drawn = run("plot", "runs", "-o", "track.html")
    assert drawn.returncode == 0, drawn.stderr


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("my_rover:Raises", 1, "rover_1: ValueError raised in the autopilot of rover_1: boom"),
        ("my_rover:RaisesAtStart", 1, "rover_1: RuntimeError in start() of its autopilot"),
        ("my_rover:Nobody", 2, "my_rover has no class or function Nobody"),
        ("your_rover:Any", 2, "there is no module 'your_rover'"),
        ("my_rover", 2, "there is no such autopilot"),
    ],
)
def test_what_goes_wrong_is_named_and_is_the_exit_code(run, name, code, words):
    done = run("run", "fleet.toml", "--autopilot", name, "--duration", "2", *FLAT_OUT)
    assert done.returncode == code, done.stdout + done.stderr
    assert words in done.stdout + done.stderr
