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
    assert (
        "not (gcs or ardupilot or gazebo or docker or browser or mujoco or jsbsim or slow)"
        in asked[-1]
    )


def test_test_fails_with_lint_and_still_runs_the_tests(fake):
    result, asked = fake("scripts/test", FAILING="ruff")
    assert result.returncode == 1
    assert asked[-1].startswith("pytest")
    assert "FAILED: ruff check" in result.stderr


def test_test_fails_with_the_tests(fake):
    result, _ = fake("scripts/test", FAILING="pytest")
    assert result.returncode == 1


# Tests that fail the first time that they are run.
PLANTED = """
import pathlib, pytest

def fails_once(name):
    mark = pathlib.Path(__file__).with_name(name)
    if not mark.exists():
        mark.touch()
        raise AssertionError

@pytest.mark.parametrize("n", range(2))
def test_good(n):
    pass

@pytest.mark.alone
def test_good_and_alone():
    pass
"""
UNSTEADY = """
@pytest.mark.{marker}
def test_{marker}():
    fails_once("{marker}")
"""
BROKEN = """
@pytest.mark.gazebo
def test_broken():
    raise AssertionError
"""
# What drives a real program or measures wall time.
FIVE = ("gcs", "ardupilot", "gazebo", "docker", "alone")


def unsteady(*markers):
    return "".join(UNSTEADY.format(marker=marker) for marker in markers)


@pytest.fixture
def suite(tmp_path):
    """Run planted tests as ./scripts/test runs the whole suite."""
    marks = "\n ".join([*FIVE, "browser", "slow"])
    (tmp_path / "pytest.ini").write_text(f"[pytest]\naddopts = -p xdist\nmarkers =\n {marks}\n")
    code = (
        'say() { printf "%s\\n" "$*" >&2; }; measured() { "$@"; }; VENV=$1; . "$2"; whole_suite ""'
    )

    def run(text):
        (tmp_path / "test_planted.py").write_text(PLANTED + text)
        runs = ROOT / "scripts/_test_runs.sh"
        return subprocess.run(
            ["bash", "-e", "-c", code, "bash", sys.prefix, str(runs)],
            cwd=tmp_path,
            env={
                **os.environ,
                "PICO_GZ_TEST_JOBS": "0",
                "PYTEST_ADDOPTS": "",
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            },
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run


def test_what_drives_a_program_or_measures_time_is_tried_once_more(suite):
    result = suite(unsteady(*FIVE))
    assert result.returncode == 0, result.stdout + result.stderr
    for marker in FIVE:
        assert f"UNSTEADY test_planted.py::test_{marker}\n" in result.stderr


def test_six_unsteady_tests_fail_the_run(suite):
    result = suite(unsteady(*FIVE, "browser"))
    assert result.returncode == 1
    assert result.stderr.count("UNSTEADY test_planted.py::") == 6
    assert "6 tests are unsteady; 5 are allowed" in result.stderr


def test_a_plain_failure_stands(suite):
    result = suite(unsteady("slow", "gazebo"))
    assert result.returncode == 1
    assert "second attempt" not in result.stderr
    assert "UNSTEADY" not in result.stderr


def test_what_fails_twice_fails(suite):
    result = suite(BROKEN)
    assert result.returncode == 1
    assert "second attempt" in result.stderr
    assert "UNSTEADY" not in result.stderr


def test_all_names_what_it_could_not_get(fake):
    result, asked = fake("scripts/test", "--all")
    assert result.returncode == 0, result.stderr
    for what in ("Chromium", "Docker", "ArduRover", "Gazebo Harmonic"):
        assert f"Not here: {what}" in result.stderr
    assert "only with --install or CI=true" in result.stderr
    assert any("mavsdk" in line for line in asked)
    assert any("playwright" in line for line in asked)
    beside, alone, pure = [line for line in asked if line.startswith("pytest")]
    assert beside.endswith("-m not alone")
    assert alone == "pytest -m alone"
    assert pure.endswith("tests/scenarios/test_oracle.py")


@pytest.mark.parametrize(("fresh", "tests", "code"), [(0, 0, 0), (3, 0, 3), (0, 1, 1), (3, 1, 1)])
def test_ci_runs_a_fresh_machine_and_then_everything(call, checkout, fresh, tests, code):
    for name, status in (("fresh", fresh), ("test", tests)):
        script = checkout / "scripts" / name
        script.write_text(f'#!/bin/sh\necho "{name} $*"; exit {status}\n')
    result = call(".ci/run", "-x")
    assert result.returncode == code
    assert result.stdout == "fresh \ntest --all -x\n"
    assert ("FAILED: ./scripts/fresh" in result.stderr) == (fresh != 0)


def test_soak_says_how_long_to_people_and_to_the_tests(fake):
    tell = 'echo "PICO_GZ_SOAK_S=$PICO_GZ_SOAK_S" >> "$LOG"'
    result, asked = fake("scripts/soak", "--hours", "0.5", "-k", "L2", PYTEST=tell)
    assert result.returncode == 0
    assert "1800 s" in result.stderr
    assert asked[-2:] == ["pytest -m slow -n 0 --timeout 0 -k L2", "PICO_GZ_SOAK_S=1800"]
    assert fake("scripts/soak", "--hours", "long")[0].returncode == 2


def test_soak_for_arm64_says_what_it_needs(fake):
    result, asked = fake("scripts/soak", "--arm64")
    assert (result.returncode, asked) == (4, [])
    assert "apt install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user" in result.stderr


def test_soak_for_arm64_runs_nothing_else(fake, tmp_path):
    for program in ("aarch64-linux-gnu-gcc", "qemu-aarch64"):
        (tmp_path / "bin" / program).symlink_to(shutil.which("true"))
    asked = fake("scripts/soak", "--arm64")[1]
    assert [line for line in asked if not line.startswith("pip ")] == [
        "pytest -n 0 --timeout 0 tests/unit/simulator/test_native_arm64.py",
        "pytest -n 0 --timeout 0 -p tests.emulated_core -k test_digest"
        " tests/scenarios/test_oracle.py",
    ]


@pytest.mark.alone
def test_a_second_start_is_quick(fake):
    fake("scripts/run")
    started = time.monotonic()
    fake("scripts/run")
    # Two seconds are allowed for a real Python; this measures the script around it.
    assert time.monotonic() - started < 2.0


# A package manager that knows one package, as an old release does.
APT = """\
#!/bin/sh
echo "$*" >> "$APT_LOG"
for word in "$@"; do [ "$word" != known ] || exit 0; done
echo "Reading package lists..."
echo "E: Unable to locate package" >&2
exit 100
"""


@pytest.mark.parametrize(
    ("packages", "code", "said"),
    [
        ("unknown known", 0, "Installed the system package known."),
        ("a b", 1, "Not installed: a: E: Unable to locate package; b: E: Unable to locate package"),
    ],
)
def test_apt_waits_for_its_lock_and_says_why_it_failed(tmp_path, packages, code, said):
    apt = tmp_path / "apt-get"
    apt.write_text(APT)
    apt.chmod(0o755)
    script = (
        'set -euo pipefail; say() { echo "$*"; }; . scripts/_programs.sh; '
        f'as_root() {{ "$@"; }}; apt_install {packages}'
    )
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=ROOT,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "APT_LOG": str(tmp_path / "log")},
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert done.returncode == code, done.stderr
    assert done.stdout.splitlines() == [said]
    assert (tmp_path / "log").read_text().count("DPkg::Lock::Timeout=120") == 2


COMMANDS = (
    "scripts/run",
    "scripts/test",
    "scripts/soak",
    "scripts/fresh",
    "scripts/docs",
    "scripts/release",
    ".ci/run",
)
SOURCED = (
    "scripts/_venv.sh",
    "scripts/_programs.sh",
    "scripts/_docker.sh",
    "scripts/_fresh_places.sh",
    "scripts/_fresh_enter.sh",
    "scripts/_test_runs.sh",
    "scripts/_coverage.sh",
    "scripts/_groups.py",
    "scripts/_shipped_models.py",
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
