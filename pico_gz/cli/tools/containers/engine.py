"""The Docker engine: containers, their state and logs."""

from __future__ import annotations

import contextlib
import heapq
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from pico_gz.errors import MissingProgramError, PicoGzError

RUN_LABEL = "pico_gz.run"
SERVICE_LABEL = "com.docker.compose.service"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerState:
    """One container of a run, as the engine sees it.

    Attributes:
        id: the engine's.
        service: its name in the Compose file.
        state: ``running``, ``exited`` ...
        health: ``healthy``, ``unhealthy``, ``starting``; empty without a health check.
        exit_code: of a container that has ended.
        last_check: what its last health check said.
        ports: inside port -> HOST:PORT outside.
        run: the run that it belongs to.
        environ: its environment.
        memory_limit_bytes: what it may use; 0 is no limit.
        was_out_of_memory: it was killed because it wanted more.
    """

    id: str
    service: str
    state: str
    health: str = ""
    exit_code: int = 0
    last_check: str = ""
    ports: Mapping[int, str]
    run: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)
    memory_limit_bytes: int = 0
    was_out_of_memory: bool = False

    @property
    def is_well(self) -> bool:
        """Whether it runs and its health check, if any, is content."""
        return self.state == "running" and self.health in ("healthy", "")

    @property
    def condition(self) -> str:
        """Health for a container that runs, else how it ended."""
        if self.state == "running":
            return self.health or "running"
        if self.was_out_of_memory:
            return f"out of memory ({self.memory_limit_bytes / 1e6:.0f} MB)"
        return f"{self.state} ({self.exit_code})" if self.state == "exited" else self.state


def container_state(attributes: Mapping[str, Any]) -> ContainerState:
    """Read what the engine reports of a container (``docker inspect``)."""
    state = attributes["State"]
    health = state.get("Health") or {}
    checks = health.get("Log") or []
    labels = attributes["Config"].get("Labels") or {}
    return ContainerState(
        id=attributes["Id"],
        service=labels.get(SERVICE_LABEL, attributes["Name"].lstrip("/")),
        state=state["Status"],
        health=health.get("Status", ""),
        exit_code=state.get("ExitCode", 0),
        last_check=str(checks[-1].get("Output", "")).strip() if checks else "",
        ports=_published(attributes["NetworkSettings"].get("Ports") or {}),
        run=labels.get(RUN_LABEL, ""),
        environ=_variables(attributes["Config"].get("Env") or ()),
        memory_limit_bytes=(attributes.get("HostConfig") or {}).get("Memory", 0),
        was_out_of_memory=state["Status"] == "exited" and bool(state.get("OOMKilled")),
    )


def _variables(lines: Iterable[str]) -> dict[str, str]:
    pairs = (line.partition("=") for line in lines)
    return {name: value for name, _, value in pairs}


def _published(ports: Mapping[str, Any]) -> dict[int, str]:
    """``{"8085/tcp": [{"HostIp": ..., "HostPort": ...}]}`` as numbers and addresses."""
    return {
        int(inside.partition("/")[0]): f"{places[0]['HostIp']}:{places[0]['HostPort']}"
        for inside, places in ports.items()
        if places
    }


@dataclass(frozen=True, slots=True)
class Usage:
    """What a container uses: percent of one processor, and bytes."""

    cpu_percent: float
    memory_bytes: int


def usage_of(stats: Mapping[str, Any]) -> Usage:
    """Read the engine's statistics of a container; those of a stopped one are empty."""
    now, before = stats.get("cpu_stats", {}), stats.get("precpu_stats", {})
    used = _total(now) - _total(before)
    system = now.get("system_cpu_usage", 0) - before.get("system_cpu_usage", 0)
    processors = now.get("online_cpus") or 1
    percent = 100.0 * used / system * processors if system > 0 and used > 0 else 0.0
    memory = stats.get("memory_stats", {})
    # The page cache is given back on demand; "docker stats" leaves it out, too.
    details = memory.get("stats", {})
    cache = details.get("total_inactive_file", details.get("inactive_file", 0))
    return Usage(percent, max(0, memory.get("usage", 0) - cache))


def _total(cpu: Mapping[str, Any]) -> int:
    return int(cpu.get("cpu_usage", {}).get("total_usage", 0))


@dataclass(frozen=True, slots=True, order=True)
class LogLine:
    """A line that a service wrote; ``time`` sorts as text."""

    time: str
    service: str
    text: str


def lines_of(service: str, pieces: Iterable[bytes]) -> Iterator[LogLine]:
    """Put the pieces of a stream together to lines; the engine puts the time in front."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from (_line(service, data) for data in whole)
    if rest:
        yield _line(service, rest)


def merged(streams: Iterable[Iterable[LogLine]]) -> Iterator[LogLine]:
    """All lines in the order of their time."""
    return heapq.merge(*streams, key=lambda line: line.time)


def _line(service: str, data: bytes) -> LogLine:
    time, _, text = data.decode("utf-8", "replace").rstrip("\r").partition(" ")
    return LogLine(_sortable(time), service, text)


def _sortable(time: str) -> str:
    """The engine drops zeros at the end of the fraction, so pad to nanoseconds."""
    whole, dot, fraction = time.rstrip("Z").partition(".")
    return f"{whole}.{fraction:0<9}Z" if dot else f"{whole}.000000000Z"


OLDEST_API = (1, 41)  # engine 20.10, the first that knows host-gateway
STOP_S = 5
_TIMEOUT_S = 30
_GONE = (404, 409)  # it ended, or was removed, since we looked


class Engine:
    """A connection to the engine.

    Raises:
        MissingProgramError: there is none, it may not be used, or it is too old.
    """

    def __init__(self, client: Any = None) -> None:
        self._client = client or _connect()

    def close(self) -> None:
        """Close the connection; harmless when called twice."""
        self._client.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def containers(self, run: str | None = None) -> list[ContainerState]:
        """The containers of a run, or of all runs, by service."""
        with docker_errors():
            found = self._client.containers.list(all=True, filters=_of(run), ignore_removed=True)
            states = [container_state(container.attrs) for container in found]
        return sorted(states, key=lambda state: state.service)

    def usages(self, ids: Sequence[str]) -> dict[str, Usage]:
        """What these containers use now; the engine needs a second or two to measure it."""
        if not ids:
            return {}
        with ThreadPoolExecutor(max_workers=min(16, len(ids))) as pool, docker_errors():
            return dict(zip(ids, pool.map(self._usage, ids), strict=True))

    def ask_inside(self, container_id: str, command: Sequence[str]) -> Any:
        """The JSON that a command in a container prints; ``None`` when it fails."""
        from docker.errors import APIError

        with docker_errors():
            try:
                code, output = self._client.containers.get(container_id).exec_run(
                    list(command), demux=True
                )
            except APIError as exc:
                if exc.status_code in _GONE:
                    return None
                raise
        if code != 0 or not output[0]:
            return None
        try:
            return json.loads(output[0])
        except ValueError:
            return None

    def run_once(self, image: str, command: Sequence[str], run: str) -> str:
        """What a command prints in a container of its own, which is removed at once.

        It has no network and no rights, and belongs to a run: if we are killed, ``remove`` finds
        it.
        """
        with docker_errors():
            container = self._client.containers.create(
                image,
                list(command),
                labels={RUN_LABEL: run},
                network_mode="none",
                read_only=True,
                tmpfs={"/tmp": ""},
                cap_drop=["ALL"],
                security_opt=["no-new-privileges:true"],
            )
            try:
                container.start()
                container.wait(timeout=_TIMEOUT_S)
                output: bytes = container.logs(stdout=True, stderr=False)
            finally:
                container.remove(force=True)
        return output.decode("utf-8", "replace")

    def has_image(self, name: str) -> bool:
        """Whether an image is here."""
        from docker.errors import ImageNotFound

        with docker_errors():
            try:
                self._client.images.get(name)
            except ImageNotFound:
                return False
        return True

    def log_stream(
        self, container_id: str, *, follow: bool = False, tail: int | None = None
    ) -> Iterator[bytes]:
        """Pieces of a container's log with timestamps; a piece need not be a line."""
        with docker_errors():
            container = self._client.containers.get(container_id)
            yield from container.logs(
                stream=True, follow=follow, timestamps=True, tail="all" if tail is None else tail
            )

    def remove(self, run: str, *, volumes: bool = False) -> list[str]:
        """Stop and remove everything that carries this run's label; returns what it was."""
        removed = []
        with docker_errors():
            containers = self._client.containers.list(
                all=True, filters=_of(run), ignore_removed=True
            )
            with ThreadPoolExecutor(max_workers=16) as pool:
                removed += list(pool.map(_remove_container, containers))
            for network in self._client.networks.list(filters=_of(run)):
                network.remove()
                removed.append(f"network {network.name}")
            for volume in self._client.volumes.list(filters=_of(run)) if volumes else ():
                volume.remove()
                removed.append(f"volume {volume.name}")
        return removed

    def _usage(self, container_id: str) -> Usage:
        from docker.errors import APIError

        try:
            return usage_of(self._client.containers.get(container_id).stats(stream=False))
        except APIError as exc:
            if exc.status_code in _GONE:
                return Usage(0.0, 0)
            raise


def _of(run: str | None) -> dict[str, str]:
    return {"label": RUN_LABEL if run is None else f"{RUN_LABEL}={run}"}


def _remove_container(container: Any) -> str:
    from docker.errors import NotFound

    with contextlib.suppress(NotFound):
        container.stop(timeout=STOP_S)
        container.remove(force=True)
    return f"container {container.name}"


def _connect() -> Any:
    """Connect as the ``docker`` program does: environment, then the context in use."""
    from docker.client import DockerClient
    from docker.context import ContextAPI
    from docker.errors import DockerException

    try:
        if os.environ.get("DOCKER_HOST"):
            client = DockerClient.from_env(timeout=_TIMEOUT_S)
        else:
            context = ContextAPI.get_current_context()
            client = DockerClient(base_url=context.Host, tls=context.TLSConfig, timeout=_TIMEOUT_S)
        version = client.version()
    except (DockerException, OSError) as exc:
        raise engine_problem(str(exc)) from exc
    api = tuple(int(word) for word in version.get("ApiVersion", "0.0").split("."))
    if api < OLDEST_API:
        raise MissingProgramError(
            f"The Docker engine {version.get('Version', '')} is too old.",
            hint="Update it to 20.10 or newer: docs.docker.com/engine/install",
        )
    return client


def engine_problem(text: str) -> MissingProgramError:
    """The plain words for an engine that does not answer."""
    if "permission denied" in text.lower():
        return MissingProgramError(
            "You may not use the Docker engine here.",
            hint="sudo usermod -aG docker $USER, then log in again.",
        )
    return MissingProgramError(
        "No Docker engine answers.",
        hint=f"{get_engine()}\nWithout containers: pico-gz run, pico-gz ctl status.",
    )


GET_DOCKER = "Install Docker Engine: docs.docker.com/engine/install"
GET_COMPOSE = (
    "Install Compose 2: package docker-compose-plugin (Docker's own packages), docker-compose-v2 "
    "(Ubuntu) or docker-compose (Debian 13); Debian 12 has none: docs.docker.com/compose/install"
)
# Where distributions put it, which is not on every user's PATH.
_SYSTEM_PROGRAMS = "/usr/local/sbin:/usr/sbin:/sbin"


def get_engine() -> str:
    """How to get an engine that answers: start the one that is installed, or install one."""
    if sys.platform != "linux":
        return "Start Docker Desktop, or set DOCKER_HOST."
    path = f"{os.environ.get('PATH', os.defpath)}:{_SYSTEM_PROGRAMS}"
    if shutil.which("dockerd", path=path) is None:
        return f"{GET_DOCKER}; or set DOCKER_HOST."
    return "Start it: sudo systemctl start docker; or set DOCKER_HOST."


@contextlib.contextmanager
def docker_errors() -> Iterator[None]:
    """Turn errors of the SDK into ours."""
    from docker.errors import APIError, DockerException
    from requests.exceptions import RequestException

    try:
        yield
    except APIError as exc:
        raise PicoGzError(f"The Docker engine refused: {exc.explanation or exc}.") from exc
    except (DockerException, RequestException) as exc:
        raise engine_problem(str(exc)) from exc
