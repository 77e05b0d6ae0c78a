"""The example project, as an outside user has it: the wheel, pytest, a copy of the folder."""

import os
import re
import resource
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST_CPU_S = 10.0

FIVE_LINES = """\
def test_drive(rover):
    rover.arm()
    rover.goto(north_m=5, east_m=0)
    rover.wait_until(lambda r: abs(r.truth.north_m - 5) < 1.5, timeout_sim_s=60)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """An environment with the wheel of this checkout; its dependencies are borrowed."""
    folder = tmp_path_factory.mktemp("outside")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    found = folder / "venv/bin/python"
    options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-index")
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(found), "install", *options, str(wheel)],
        check=True,
        capture_output=True,
        timeout=120,
    )
    site = next(folder.glob("venv/lib/python*/site-packages"))
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return found


@pytest.fixture
def run_pytest(python):
    def run(folder, *options):
        environment = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("PYTHON", "PYTEST", "PICO_GZ", "COV"))
        }
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [str(python), "-m", "pytest", "-p", "no:cacheprovider", *options],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return done, cpu_s

    return run


def test_its_five_tests_pass_within_ten_seconds(run_pytest, tmp_path):
    project = tmp_path / "my_rover"
    shutil.copytree(ROOT / "examples/pytest_project", project)
    done, cpu_s = run_pytest(project, "-q")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^5 passed", done.stdout, re.M), done.stdout
    # Processor time: other work on this machine makes a run later, not longer.
    assert cpu_s < MOST_CPU_S


def test_the_five_lines_work_in_an_empty_folder(run_pytest, tmp_path):
    (tmp_path / "test_drive.py").write_text(FIVE_LINES)
    done, _ = run_pytest(tmp_path, "-q")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ""] == ["test_drive.py"]


def test_the_options_are_told(run_pytest, tmp_path):
    done, _ = run_pytest(tmp_path, "--help")
    for option in ("--sim", "--sim-speed", "--sim-seed", "--sim-record"):
        assert option in done.stdout
