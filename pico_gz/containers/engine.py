"""The Docker engine, through its SDK: containers of a run, their health, logs and figures."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pico_gz.containers.container_state import (
    RUN_LABEL,
    ContainerState,
    Usage,
    container_state,
    usage_of,
)
from pico_gz.errors import MissingProgramError, PicoGzError

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

    def containers(self, run: str) -> list[ContainerState]:
        """The containers of a run, by service."""
        with told_plainly():
            found = self._client.containers.list(all=True, filters=_of(run), ignore_removed=True)
            states = [container_state(container.attrs) for container in found]
        return sorted(states, key=lambda state: state.service)

    def usages(self, ids: Sequence[str]) -> dict[str, Usage]:
        """What these containers use now; the engine needs a second or two to measure it."""
        if not ids:
            return {}
        with ThreadPoolExecutor(max_workers=min(16, len(ids))) as pool, told_plainly():
            return dict(zip(ids, pool.map(self._usage, ids), strict=True))

    def ask_inside(self, container_id: str, command: Sequence[str]) -> Any:
        """The JSON that a command in a container prints; ``None`` when it fails."""
        from docker.errors import APIError

        with told_plainly():
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
        with told_plainly():
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

        with told_plainly():
            try:
                self._client.images.get(name)
            except ImageNotFound:
                return False
        return True

    def log_stream(
        self, container_id: str, *, follow: bool = False, tail: int | None = None
    ) -> Iterator[bytes]:
        """Pieces of a container's log with timestamps; a piece need not be a line."""
        with told_plainly():
            container = self._client.containers.get(container_id)
            yield from container.logs(
                stream=True, follow=follow, timestamps=True, tail="all" if tail is None else tail
            )

    def remove(self, run: str, *, volumes: bool = False) -> list[str]:
        """Stop and remove everything that carries this run's label; returns what it was."""
        removed = []
        with told_plainly():
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


def _of(run: str) -> dict[str, str]:
    return {"label": f"{RUN_LABEL}={run}"}


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
        hint="Start it: sudo systemctl start docker (or set DOCKER_HOST); "
        "without Docker: pico-gz run",
    )


@contextlib.contextmanager
def told_plainly() -> Iterator[None]:
    """Turn errors of the SDK into ours."""
    from docker.errors import APIError, DockerException
    from requests.exceptions import RequestException

    try:
        yield
    except APIError as exc:
        raise PicoGzError(f"The Docker engine refused: {exc.explanation or exc}.") from exc
    except (DockerException, RequestException) as exc:
        raise engine_problem(str(exc)) from exc
