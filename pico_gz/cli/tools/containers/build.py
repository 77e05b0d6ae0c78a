"""The build folder, and docker compose as a subprocess."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path

import pico_gz
from pico_gz.cli.tools.containers.engine import GET_COMPOSE, GET_DOCKER, engine_problem
from pico_gz.core.resources import resource_path
from pico_gz.errors import LaunchError, MissingProgramError, PicoGzError, PortClashError

DISTRIBUTION = "pico-gz"
COMPOSE_FILE = "compose.yaml"
# In the user's cache, for images of an installed wheel.
CACHED_CONTEXT = f"context-{pico_gz.__version__}"
_EXTRAS = ("web", "mcap")


def build_context() -> Path:
    """A folder with ``compose.yaml`` and everything that its images need.

    An installed wheel holds the package, the data and its own metadata, which is enough to make
    the same images: they are put together once per version in the user's cache.
    """
    compose_file = resource_path(COMPOSE_FILE)
    if (compose_file.parent / "pyproject.toml").is_file():
        return compose_file.parent
    package = Path(pico_gz.__file__).resolve().parent
    folder = _cache() / CACHED_CONTEXT
    draft = Path(tempfile.mkdtemp(prefix="context-", dir=_cache()))
    assemble(draft, package, metadata.requires(DISTRIBUTION) or ())
    # The installation may have changed under the same version, so the newest always wins.
    shutil.rmtree(folder, ignore_errors=True)
    try:
        draft.rename(folder)
    except OSError:  # another process was quicker
        shutil.rmtree(draft, ignore_errors=True)
    return folder


def shared_context(file: Path) -> str:
    """The build folder as a Compose file writes it that others may read, too.

    Inside a clone it is relative to the file. Else it is the folder that the same version keeps
    in the cache of whoever starts it. ``PICO_GZ_CONTEXT`` names another.
    """
    context = build_context()
    if context.name == CACHED_CONTEXT:
        default = f"${{XDG_CACHE_HOME:-${{HOME}}/.cache}}/pico_gz/{CACHED_CONTEXT}"
    else:
        default = relative_to(file.absolute().parent, context)
    return f"${{PICO_GZ_CONTEXT:-{default}}}"


def relative_to(folder: Path, path: Path) -> str:
    """A path as Compose reads it from a file in ``folder``: ``.``, ``./a`` or ``../b``."""
    found = os.path.relpath(path.resolve(), folder.resolve())
    return found if found.startswith(".") else f"./{found}"


def assemble(folder: Path, package: Path, requirements: Sequence[str]) -> None:
    """Make a small project around an installed package.

    Args:
        folder: where to make it.
        package: the installed package, with its data.
        requirements: of the distribution, as its metadata has them.
    """
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(package, folder / "pico_gz", ignore=ignored)
    for name in ("docker", "worlds"):
        shutil.copytree(package / "data" / name, folder / name, ignore=ignored)
    shutil.copy(package / "data" / COMPOSE_FILE, folder / COMPOSE_FILE)
    (folder / "pyproject.toml").write_text(_project_file(requirements), encoding="utf-8")


def _project_file(requirements: Sequence[str]) -> str:
    """A project file that builds the copied package with the same requirements."""
    always = [line for line in requirements if ";" not in line]
    extras = {extra: _of_extra(requirements, extra) for extra in _EXTRAS}
    return "\n".join(
        [
            "[build-system]",
            'requires = ["hatchling>=1.25"]',
            'build-backend = "hatchling.build"',
            "[project]",
            f'name = "{DISTRIBUTION}"',
            f'version = "{pico_gz.__version__}"',
            f"dependencies = {_toml(always)}",
            "[project.scripts]",
            'pico-gz = "pico_gz.cli.app:main"',
            "[project.optional-dependencies]",
            *(f"{extra} = {_toml(lines)}" for extra, lines in extras.items()),
            "[tool.hatch.build.targets.wheel]",
            'packages = ["pico_gz"]',
            "",
        ]
    )


def _of_extra(requirements: Sequence[str], extra: str) -> list[str]:
    found = []
    for line in requirements:
        requirement, _, marker = line.partition(";")
        if marker.replace('"', "'").replace(" ", "") == f"extra=='{extra}'":
            found.append(requirement.strip())
    return found


def _toml(lines: Sequence[str]) -> str:
    return "[" + ", ".join(f"'{line}'" for line in lines) + "]"


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(base) if base else Path.home() / ".cache") / "pico_gz"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


OLDEST = (2, 20)
_TAIL_LINES = 30
_ASK_TIMEOUT_S = 20.0
_END_TIMEOUT_S = 10.0
_NUMBERS = re.compile(r"(\d+)\.(\d+)")

# What Compose and the engine say when a port is taken, with the port.
_PORT_TAKEN = re.compile(
    r"(?:port is already allocated|address already in use|ports are not available)", re.I
)
_PORT = re.compile(r"(?:\d+\.\d+\.\d+\.\d+|\[::\]|listen (?:tcp|udp)\d? \S*?):(\d+)")
_NO_IMAGE = re.compile(
    r"No such image: (\S+)|pull access denied for (\S+?),|manifest for (\S+) not"
)
# What the engine, pip and apt say offline or behind a proxy.
_UNREACHABLE = re.compile(
    r"failed to resolve|failed to do request|no such host|i/o timeout|Temporary failure (?:in name|"
    r"resolving)|network is unreachable|no route to host|connection refused|proxyconnect|"
    r"TLS handshake timeout|context deadline exceeded|Client\.Timeout|server misbehaving|"
    r"x509: |Max retries exceeded|NewConnectionError|No matching distribution found|"
    r"Could not (?:resolve|connect to)|Failed to fetch",
    re.I,
)
_BASE_IMAGE = re.compile(r"load metadata for (?:docker\.io/(?:library/)?)?(\S+?):?\n#\d+ ERROR")


class ComposeCommand:
    """Compose for one project.

    Args:
        folder: the project's folder; paths in the file are relative to it.
        project: its name.
        file: the Compose file, if it is not the folder's own.
        environ: variables of the file.
        report: takes every line of progress.

    Raises:
        MissingProgramError: there is no Compose, or it is too old.
    """

    def __init__(
        self,
        folder: Path,
        project: str,
        *,
        file: Path | None = None,
        environ: Mapping[str, str] | None = None,
        report: Callable[[str], None] = lambda line: None,
    ) -> None:
        require_compose()
        self._folder = folder
        self._words = ["docker", "compose", "--ansi", "never", "--progress", "plain"]
        self._words += ["-p", project, "--project-directory", str(folder)]
        self._words += ["-f", str(file or folder / "compose.yaml")]
        self._environ = {**os.environ, **(environ or {})}
        self._report = report

    def run(self, *words: str) -> None:
        """Run a command and report its progress; it ends with its caller.

        Raises:
            PicoGzError: it failed; the kind of error says why.
        """
        command = [*self._words, *words]
        tail: deque[str] = deque(maxlen=_TAIL_LINES)
        with subprocess.Popen(
            command,
            cwd=self._folder,
            env=self._environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # Compose is a child of the docker program
        ) as process:
            try:
                for line in process.stdout or ():
                    tail.append(line.rstrip())
                    # Repeats the line before it; the error says it in plain words.
                    if not line.startswith("failed to solve"):
                        self._report(line.rstrip())
            except BaseException:
                _end_group(process)
                raise
        if process.returncode:
            raise compose_failure(command, process.returncode, tuple(tail))


def _end_group(process: subprocess.Popen[str]) -> None:
    """End Compose, which would otherwise start containers without a caller."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def require_compose() -> str:
    """The version of Compose that is here.

    Raises:
        MissingProgramError: there is none, or it is too old.
    """
    if shutil.which("docker") is None:
        raise MissingProgramError(
            "There is no docker program on the PATH.",
            hint=f"{GET_DOCKER}; without Docker: pico-gz run",
        )
    done = subprocess.run(
        ["docker", "compose", "version", "--short"],
        capture_output=True,
        text=True,
        timeout=_ASK_TIMEOUT_S,
        check=False,
    )
    version = done.stdout.strip()
    numbers = _NUMBERS.search(version) if done.returncode == 0 else None
    if numbers is None:
        raise MissingProgramError("There is no 'docker compose' here.", hint=GET_COMPOSE)
    if (int(numbers[1]), int(numbers[2])) < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        raise MissingProgramError(
            f"Compose {version} is too old, {wanted} is needed.", hint=GET_COMPOSE
        )
    return version


def compose_failure(command: Sequence[str], code: int, tail: Sequence[str]) -> PicoGzError:
    """The error behind a failed Compose command, from what it said."""
    text = "\n".join(tail)
    if "permission denied" in text and "docker.sock" in text:
        return engine_problem(text)
    if "Cannot connect to the Docker daemon" in text:
        return engine_problem("")
    if _PORT_TAKEN.search(text):
        port = _PORT.search(text)
        return PortClashError(
            f"Port {port[1] if port else ''} on this machine is taken by another program.",
            hint="End that program, or let --port-offset auto find free ports.",
        )
    image = _NO_IMAGE.search(text)
    if image:
        name = next(group for group in image.groups() if group)
        return MissingProgramError(
            f"The image {name} is not here.",
            hint="pico-gz up --build makes it; offline, docs/docker.md shows how.",
        )
    if _UNREACHABLE.search(text):
        base = _BASE_IMAGE.search(text)
        what = f"The base image {base[1]}" if base else "A base image or package"
        return MissingProgramError(
            f"{what} cannot be downloaded: offline, or behind a proxy?",
            hint='docs/docker.md, "Without a registry or an index", shows how to build without.',
        )
    return LaunchError(
        f"docker compose {_verb(command)} failed.",
        command=command,
        exit_code=code,
        output_tail=tail,
        hint=_last_words(tail),
    )


def _verb(command: Sequence[str]) -> str:
    verbs = ("up", "build", "config", "down", "pull", "create")
    return next((word for word in command if word in verbs), "")


def _last_words(tail: Sequence[str]) -> str:
    return next((line.strip() for line in reversed(tail) if line.strip()), "")
