"""The wheel alone is enough: built, installed into an empty environment, used from elsewhere."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from external_programs import path_of

from pico_gz.core import compiled_modules
from pico_gz.simulator import native_build

ROOT = Path(__file__).parents[2]
DATA_FOLDERS = ("models", "worlds", "docker")


def build(folder, **variables):
    """The wheel of this checkout, with the compiled code that the variables name."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        env={**os.environ, **variables},
        check=True,
        capture_output=True,
        timeout=120,
    )
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The pure wheel."""
    return build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def names(wheel):
    """The files in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def install(wheel, folder):
    """An environment with a wheel; dependencies are borrowed from the one that runs the tests."""
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


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """An environment with the pure wheel."""
    return install(wheel, tmp_path_factory.mktemp("venv"))


def command_of(environment, folder, **variables):
    """Runs the command of an environment in a folder."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PYTHON", "PICO_GZ", "COV"))
    }

    def call(*arguments):
        return subprocess.run(
            [str(environment / "bin/pico-gz"), *arguments],
            cwd=folder,
            env={**kept, "CI": "true", **variables},
            capture_output=True,
            text=True,
            timeout=60,
        )

    return call


@pytest.fixture
def run(installed, tmp_path):
    """Run the installed command in an empty folder."""
    return command_of(installed, tmp_path)


def tracked(folder):
    """The files of a folder that belong to the project."""
    return [
        path
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
        and not {"__pycache__", "_compiled"} & set(path.parts)
        and "_core-" not in path.name
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


@pytest.fixture(scope="module")
def compiled_wheel(tmp_path_factory):
    """The wheel with all that is compiled in this checkout."""
    if not compiled_modules.is_built() or not native_build.library_path().exists():
        pytest.skip("not checked: core and modules are not compiled here (./scripts/build)")
    return build(
        tmp_path_factory.mktemp("wheel"),
        PICO_GZ_CORE=str(native_build.library_path()),
        PICO_GZ_MODULES=str(compiled_modules.folder()),
    )


def test_a_wheel_with_modules_is_for_one_python(compiled_wheel):
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert f"-{python}-{python}-" in compiled_wheel.name
    with zipfile.ZipFile(compiled_wheel) as archive:
        inside = archive.namelist()
    for path in compiled_modules.places().values():
        assert path.relative_to(compiled_modules.ROOT).as_posix() in inside


def test_a_wheel_with_modules_runs_them_with_the_same_bits(compiled_wheel, tmp_path):
    environment = install(compiled_wheel, tmp_path / "venv")
    digests = set()
    for pure, state in (("0", "compiled"), ("1", "interpreted (PICO_GZ_PURE is set)")):
        run = command_of(environment, tmp_path, PICO_GZ_PURE=pure)
        assert f"modules: {state}\n" in run("doctor").stdout
        done = run("run", "--duration", "2", "--speed", "max", "--port-offset", "auto", "--json")
        assert done.returncode == 0, done.stderr
        digests.add(json.loads(done.stdout)["trace_sha256"])
    assert len(digests) == 1


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """The folder with sdist and wheel, made as a release makes them: the wheel from the sdist."""
    for tool in ("build", "twine", "check_wheel_contents"):
        if importlib.util.find_spec(tool) is None:
            pytest.skip(f"not checked: there is no {tool} here (dependency group 'release')")
    folder = tmp_path_factory.mktemp("release")
    clone = folder / "clone"
    # Not from the working tree, which may hold files that are not part of the project.
    git = path_of("git")
    if (ROOT / ".git").exists() and git is not None:
        files = subprocess.run(
            [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, check=True, capture_output=True, text=True, timeout=60,
        ).stdout.split("\0")  # fmt: skip
        for name in filter(lambda name: (ROOT / name).is_file(), files):
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, clone / name)
    else:
        shutil.copytree(ROOT, clone, ignore=shutil.ignore_patterns(".venv", "site", ".*_cache"))
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder / "dist")],
        cwd=clone, check=True, capture_output=True, timeout=240,
    )  # fmt: skip
    return folder / "dist"


def test_a_release_passes_the_checks_of_the_index(release):
    files = sorted(map(str, release.iterdir()))
    assert len(files) == 2
    for command in (
        ["twine", "check", "--strict", *files],
        ["check_wheel_contents", *(name for name in files if name.endswith(".whl"))],
    ):
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=release, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_wheel_of_a_release_is_that_of_the_checkout(release, names):
    (built,) = release.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        assert set(archive.namelist()) == names


def test_the_sdist_holds_what_a_distributor_needs(release):
    (sdist,) = release.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    for name in ("LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "tests/conftest.py"):
        assert name in inside
    assert not [name for name in inside if name.startswith((".venv", "site/", ".git/"))]


@pytest.mark.parametrize(
    ("tag", "words"),
    [("v99.0.0", "The tag is v99.0.0"), (None, "has no dated section")],
)
def test_a_release_is_refused_when_tag_version_and_changelog_differ(tag, words, tmp_path):
    for name in ("scripts", "pico_gz"):
        (tmp_path / name).mkdir()
    for name in ("scripts/release", "scripts/_venv.sh", "pyproject.toml"):
        shutil.copy2(ROOT / name, tmp_path / name)
    (tmp_path / "pico_gz/__init__.py").write_text('__version__ = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text("## [Unreleased]\n\n## [1.2.2] - 2026-01-01\n")
    done = subprocess.run(
        [str(tmp_path / "scripts/release"), tag or "v1.2.3"],
        env={**os.environ, "PICO_GZ_VENV": str(Path(sys.executable).parents[1])},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert words in done.stderr
    assert not (tmp_path / "dist").exists()
