"""The wheel alone is enough: built, installed into an empty environment, used from elsewhere."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATA_FOLDERS = ("models", "worlds", "docker")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=120,
    )
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def names(wheel):
    """The files in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """An environment with the wheel; dependencies are borrowed from the one that runs the tests."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin/python"
    options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-index")
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "install", *options, str(wheel)],
        check=True,
        capture_output=True,
        timeout=120,
    )
    site = next(folder.glob("lib/python*/site-packages"))
    # A path file is read once, so an editable installation over there stays invisible here.
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


@pytest.fixture
def run(installed, tmp_path):
    """Run the installed command in an empty folder."""
    environment = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PYTHON", "PICO_GZ", "COV"))
    }
    environment["CI"] = "true"

    def call(*arguments):
        return subprocess.run(
            [str(installed / "bin/pico-gz"), *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )

    return call


def tracked(folder):
    """The files of a folder that belong to the project."""
    return [
        path
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]


@pytest.mark.parametrize("folder", DATA_FOLDERS)
def test_data_is_in_the_wheel(names, folder):
    files = tracked(folder)
    assert files, f"{folder} is empty"
    for path in files:
        assert f"pico_gz/data/{path.relative_to(ROOT).as_posix()}" in names


def test_every_file_of_the_package_is_in_the_wheel(names):
    for path in tracked("pico_gz"):
        assert path.relative_to(ROOT).as_posix() in names


def test_compose_file_is_in_the_wheel(names):
    if (ROOT / "compose.yaml").exists():
        assert "pico_gz/data/compose.yaml" in names


def test_metadata(names, wheel):
    assert any(name.endswith("licenses/LICENSE") for name in names)
    with zipfile.ZipFile(wheel) as archive:
        metadata = next(name for name in names if name.endswith("/METADATA"))
        text = archive.read(metadata).decode()
    assert "License-Expression: Apache-2.0" in text
    assert "Provides-Extra: web" in text
    assert not [name for name in names if name.startswith("tests/")]


def test_the_package_comes_from_the_wheel(installed, tmp_path):
    result = subprocess.run(
        [str(installed / "bin/python"), "-c", "import pico_gz; print(pico_gz.__file__)"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert Path(result.stdout).is_relative_to(installed)


def test_commands_work_from_another_folder(run, tmp_path):
    assert run("--version").stdout.startswith("pico-gz ")
    result = run("init", "--rovers", "2", "-o", "fleet.toml")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "fleet.toml").is_file()
    result = run("ports", "fleet.toml", "--no-check", "--json")
    assert json.loads(result.stdout)["fleet"] == "2_rovers"


def test_a_run_needs_nothing_else(run):
    result = run(
        "run",
        "--rovers",
        "2",
        "--duration",
        "1",
        "--speed",
        "max",
        "--port-offset",
        "auto",
        "--json",
    )
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    assert (answer["rovers"], answer["sim_time_s"], answer["lost_steps"]) == (2, 1.0, 0)
