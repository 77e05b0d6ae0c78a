"""Images for tests, made without any registry if need be."""

import contextlib
import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from docker_engine import CACHE
from external_programs import problem_of

ROOT = Path(__file__).parents[2]
LOCAL_BASE = "local/debian:bookworm"
PUBLIC_BASE = "python:3.12-slim"
BASE_PACKAGES = "python3,python3-venv,python3-pip,ca-certificates"
CONTEXT = ("compose.yaml", ".dockerignore", "docker", "hatch_build.py", "models", "pico_gz",
           "pyproject.toml", "LICENSE", "README.md", "worlds")  # fmt: skip


class NoImageError(Exception):
    """An image cannot be made here; says why."""


@contextlib.contextmanager
def one_at_a_time(name):
    """Keep tests in other processes from doing the same at the same time."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def docker(environ, *words, timeout_s=300, check=True, **options):
    """Run the docker program."""
    return subprocess.run(
        ["docker", *words],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=check,
        **options,
    )


def base_image(environ):
    """The name of a base image that is on this engine.

    Raises:
        NoImageError: there is none and none can be made.
    """
    with one_at_a_time("base"):
        for name in (os.environ.get("PICO_GZ_TEST_BASE_IMAGE"), LOCAL_BASE, PUBLIC_BASE):
            if name and docker(environ, "image", "inspect", name, check=False).returncode == 0:
                return name
        try:
            docker(environ, "pull", "-q", PUBLIC_BASE, timeout_s=120)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            _make_base(environ)
            return LOCAL_BASE
        return PUBLIC_BASE


def _make_base(environ):
    if problem_of("debootstrap", "--version") or os.getuid() != 0:
        raise NoImageError(
            "no registry can be reached, and a base image is made only by root with debootstrap"
        )
    with tempfile.TemporaryDirectory(prefix="pico_gz_base_") as folder:
        command = ["debootstrap", "--variant=minbase", f"--include={BASE_PACKAGES}"]
        try:
            subprocess.run(
                [*command, "bookworm", folder],  # from its own default mirror
                check=True,
                capture_output=True,
                timeout=600,
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as exc:
            raise NoImageError(f"debootstrap failed: {exc}") from exc
        with subprocess.Popen(["tar", "-C", folder, "-c", "."], stdout=subprocess.PIPE) as tar:
            docker(environ, "import", "-", LOCAL_BASE, stdin=tar.stdout)


def wheels(environ, base):
    """A folder with everything that pip needs for the images on this base."""
    version = docker(
        environ, "run", "--rm", base, "python3", "-c",
        "import sys; print('%d.%d' % sys.version_info[:2])",
    ).stdout.strip()  # fmt: skip
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    wanted = [*project["build-system"]["requires"], *project["project"]["dependencies"],
              *extras["web"], *extras["mcap"]]  # fmt: skip
    digest = hashlib.sha256(repr((version, wanted)).encode()).hexdigest()[:12]
    with one_at_a_time("wheels"):
        folder = CACHE / f"wheels-{version}-{digest}"
        if not folder.exists():
            draft = CACHE / f"{folder.name}.part"
            shutil.rmtree(draft, ignore_errors=True)
            _download(wanted, version, draft)
            draft.rename(folder)
    return folder


def _download(wanted, version, folder):
    machine = platform.machine()
    tags = [f"manylinux_2_{minor}_{machine}" for minor in (28, 27, 26, 17)]
    platforms = [
        word for tag in (*tags, f"manylinux2014_{machine}") for word in ("--platform", tag)
    ]
    words = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(folder)]
    words += ["--only-binary=:all:", "--python-version", version, *platforms]
    try:
        subprocess.run([*words, *wanted], check=True, capture_output=True, text=True, timeout=300)
    except subprocess.CalledProcessError as exc:
        raise NoImageError(f"pip cannot get the wheels: {exc.stderr.strip()[-300:]}") from exc


def make_context(folder, wheel_folder=None):
    """Copy what the images are built from, with wheels for a build without an index."""
    ignored = shutil.ignore_patterns("__pycache__")
    for name in CONTEXT:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=ignored)
        else:
            shutil.copy(source, folder / name)
    (folder / "docs").mkdir()
    shutil.copy(ROOT / "docs/fleet.schema.json", folder / "docs")
    if wheel_folder is not None:
        shutil.copytree(wheel_folder, folder / "wheels", copy_function=_link)
    return folder


def _link(source, target):
    try:
        os.link(source, target)
    except OSError:
        shutil.copy(source, target)
