"""``./scripts``: what they say when something is missing, and that a second start is quick."""

import ast
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# What the scripts call beside Python.
TOOLS = ("bash", "env", "dirname", "cat", "cksum", "awk", "id", "printf", "timeout", "grep")


@pytest.fixture
def checkout(tmp_path):
    """A copy of what the scripts need, at a place of its own."""
    root = tmp_path / "pico gz"  # a blank in the path is no obstacle
    root.mkdir()
    shutil.copytree(ROOT / "scripts", root / "scripts")
    shutil.copytree(ROOT / ".ci", root / ".ci")
    shutil.copy(ROOT / "pyproject.toml", root)
    return root


@pytest.fixture
def call(checkout, tmp_path):
    """Run a script with nothing on the PATH but ``programs`` and the usual tools."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in TOOLS:
        (folder / tool).symlink_to(shutil.which(tool))

    def run(script, *arguments, programs=None, **variables):
        for name, text in (programs or {}).items():
            path = folder / name
            path.write_text(f"#!/usr/bin/env bash\n{text}\n")
            path.chmod(0o755)
        return subprocess.run(
            [str(checkout / script), *arguments],
            env={"PATH": str(folder), "HOME": str(tmp_path), **variables},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run


OLD_PYTHON = """
case "$1" in -V) echo "Python 3.9.2" ;; *) exit 1 ;; esac
"""
# A Python that is new enough, but whose venv module was left out.
NO_VENV = """
case "$2" in *version_info*) exit 0 ;; *) exit 1 ;; esac
"""
# A Python that is good enough, makes a false environment, and logs what that is asked to do.
FAKE_PYTHON = f"""
if [ "$1" = -m ] && [ "$2" = venv ]; then
    mkdir -p "$4/bin"
    cp "$0" "$4/bin/python"
    echo "version = 3.11" > "$4/pyvenv.cfg"
elif [ "$1" = -m ]; then
    shift
    echo "$*" >> "$LOG"
    [ "$1" != "$FAILING" ] || exit 1
    [ "$1" != pytest ] || eval "$PYTEST"
elif [ "${{1##*/}}" = _groups.py ]; then
    exec "{sys.executable}" "$@"
elif [ "$1" = - ]; then
    exit 1
fi
"""


@pytest.fixture
def fake(call, tmp_path):
    """Run a script with the false Python; returns the result and what Python was asked to do."""
    for tool in ("mkdir", "cp"):
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))
    log = tmp_path / "log"

    def run(script, *arguments, **variables):
        log.write_text("")
        variables = {"LOG": str(log), "FAILING": "", "PYTEST": "", **variables}
        result = call(script, *arguments, programs={"python3": FAKE_PYTHON}, **variables)
        return result, log.read_text().splitlines()

    return run


@pytest.mark.parametrize("script", ["scripts/run", "scripts/test", "scripts/soak", ".ci/run"])
class TestWhatIsMissing:
    def test_no_python(self, call, script):
        result = call(script)
        assert result.returncode == 4
        assert "No Python was found" in result.stderr
        assert result.stdout == ""

    def test_python_too_old(self, call, script):
        result = call(script, programs={"python3": OLD_PYTHON})
        assert result.returncode == 4
        assert "Python 3.11 or newer is needed; python3 is Python 3.9.2" in result.stderr

    def test_no_venv_module(self, call, script):
        result = call(script, programs={"python3": OLD_PYTHON, "python3.12": NO_VENV})
        assert result.returncode == 4
        assert "python3.12 cannot make virtual environments" in result.stderr
        assert "apt install python3-venv" in result.stderr


def test_run_installs_once_and_passes_arguments_through(fake):
    result, asked = fake("scripts/run", "--duration", "2", "--json")
    assert result.returncode == 0, result.stderr
    assert asked[0].startswith("pip install")
    assert asked[1] == "pico_gz run --gcs shared --duration 2 --json"
    _, asked = fake("scripts/run", "--gcs", "per_vehicle", "--json")
    assert asked == ["pico_gz run --gcs per_vehicle --json"]


def test_run_installs_again_when_the_project_changes(fake, checkout):
    fake("scripts/run")
    with (checkout / "pyproject.toml").open("a") as stream:
        stream.write("\n# changed\n")
    _, asked = fake("scripts/run")
    assert asked[0].startswith("pip install")


def test_a_broken_environment_is_made_anew(fake, checkout):
    fake("scripts/run")
    (checkout / ".venv/bin/python").unlink()
    result, asked = fake("scripts/run")
    assert "Making" in result.stderr
    assert asked[-1] == "pico_gz run --gcs shared"


def test_a_failed_installation_is_tried_again(fake):
    result, _ = fake("scripts/run", FAILING="pip")
    assert result.returncode == 4
    assert "could not be installed" in result.stderr
    result, asked = fake("scripts/run")
    assert result.returncode == 0
    assert asked[0].startswith("pip install")


def test_test_lints_checks_types_and_runs_the_tests(fake):
    result, asked = fake("scripts/test", "tests/unit", "-k", "ports")
    assert result.returncode == 0, result.stderr
    programs = [line.split()[0] for line in asked]
    assert programs == ["pip", "ruff", "ruff", "mypy", "pytest"]
    assert "pytest>=8" in asked[0]
    assert "ruff>=0.6" in asked[0]
    assert asked[-1].endswith("tests/unit -k ports")
    assert "not (gcs or ardupilot or gazebo or docker or browser or slow)" in asked[-1]


def test_test_fails_with_lint_and_still_runs_the_tests(fake):
    result, asked = fake("scripts/test", FAILING="ruff")
    assert result.returncode == 1
    assert asked[-1].startswith("pytest")
    assert "FAILED: ruff check" in result.stderr


def test_test_fails_with_the_tests(fake):
    result, _ = fake("scripts/test", FAILING="pytest")
    assert result.returncode == 1


# A pytest of which some tests fail, until they are run again.
UNSTEADY_PYTEST = """
case "$*" in
    *--collect-only*"not ("*) exit {ours} ;;
    *--collect-only*) echo "tests/test_a.py::test_that" ;;
    *--last-failed*) exit {again} ;;
    *alone) exit 1 ;;
esac
"""
NONE_COLLECTED = 5


@pytest.mark.parametrize(
    ("again", "ours", "code"),
    [
        pytest.param(0, NONE_COLLECTED, 0, id="disturbed"),
        pytest.param(1, NONE_COLLECTED, 1, id="fails-again"),
        pytest.param(0, 0, 1, id="nothing-can-disturb-it"),
    ],
)
def test_what_may_have_been_disturbed_is_tried_once_more(fake, again, ours, code):
    result, asked = fake("scripts/test", PYTEST=UNSTEADY_PYTEST.format(again=again, ours=ours))
    assert result.returncode == code
    assert ("UNSTEADY" in result.stderr) == (code == 0)
    assert sum("--last-failed" in line and "--collect" not in line for line in asked) == (ours != 0)


@pytest.mark.parametrize("script", [("scripts/test", "--all"), (".ci/run",)])
def test_all_names_what_it_could_not_get(fake, script):
    result, asked = fake(*script)
    assert result.returncode == 0, result.stderr
    for what in ("Chromium", "Docker", "ArduRover", "Gazebo Harmonic"):
        assert f"Not here: {what}" in result.stderr
    assert "only with --install or CI=true" in result.stderr
    assert any("mavsdk" in line for line in asked)
    assert any("playwright" in line for line in asked)
    beside, alone = [line for line in asked if line.startswith("pytest")]
    assert beside.endswith("-m not alone")
    assert alone == "pytest -m alone"


def test_soak_says_how_long_to_people_and_to_the_tests(fake):
    tell = 'echo "PICO_GZ_SOAK_S=$PICO_GZ_SOAK_S" >> "$LOG"'
    result, asked = fake("scripts/soak", "--hours", "0.5", "-k", "L2", PYTEST=tell)
    assert result.returncode == 0
    assert "1800 s" in result.stderr
    assert asked[-2:] == ["pytest -m slow -n 0 --timeout 0 -k L2", "PICO_GZ_SOAK_S=1800"]
    assert fake("scripts/soak", "--hours", "long")[0].returncode == 2


@pytest.mark.alone
def test_a_second_start_is_quick(fake):
    fake("scripts/run")
    started = time.monotonic()
    fake("scripts/run")
    # Two seconds are allowed for a real Python; this measures the script around it.
    assert time.monotonic() - started < 2.0


COMMANDS = (
    "scripts/run",
    "scripts/test",
    "scripts/soak",
    "scripts/docs",
    "scripts/release",
    ".ci/run",
)
SOURCED = (
    "scripts/_venv.sh",
    "scripts/_programs.sh",
    "scripts/_test_runs.sh",
    "scripts/_coverage.sh",
    "scripts/_groups.py",
    "scripts/_site_pages.py",
)


@pytest.mark.parametrize("name", [*COMMANDS, *SOURCED])
def test_scripts_can_be_run_and_parsed(name):
    path = ROOT / name
    text = path.read_text(encoding="utf-8")
    if name in COMMANDS:
        assert os.access(path, os.X_OK)
        assert text.startswith("#!/usr/bin/env bash\n")
    if path.suffix == ".py":
        ast.parse(text)
    else:
        subprocess.run(["bash", "-n", str(path)], check=True, timeout=10)
