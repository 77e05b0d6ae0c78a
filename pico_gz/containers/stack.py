"""The stack from outside: start it, look at it, remove it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pico_gz import __version__
from pico_gz.containers.build_context import build_context
from pico_gz.containers.compose_command import ComposeCommand
from pico_gz.containers.container_state import ContainerState, Usage
from pico_gz.containers.engine import Engine
from pico_gz.containers.stack_settings import (
    RUN_SERVICES,
    StackSettings,
    prepare_runs,
    require_readable,
)
from pico_gz.errors import LaunchError, MissingProgramError, PicoGzError
from pico_gz.port_owner import require_free
from pico_gz.ports import PortPlan, PortRole, PortUse

_STATUS = ("pico-gz", "ctl", "status", "--json")
_LOCAL_ENGINE = "unix://"

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStatus:
    """One line of ``pico-gz status``; ``run`` is what its run says, where it holds one."""

    container: ContainerState
    usage: Usage
    run: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Where to connect from this machine."""

    view: str
    mavlink_tcp: str


def start(
    settings: StackSettings, engine: Engine, *, build: bool | None, timeout_s: float, tell: Tell
) -> Addresses:
    """Build what is missing, start everything and wait until it is healthy.

    Args:
        settings: what to start.
        engine: where.
        build: ``True`` always, ``False`` never, ``None`` if an image is missing.
        timeout_s: how long the services may take to become healthy.
        tell: takes lines of progress.

    Raises:
        PortClashError: a port on this machine is taken.
        MissingProgramError: Compose or an image is not here.
        LaunchError: a service did not become healthy; says which and why.
    """
    if not engine.containers(settings.name):
        _require_free_ports(settings)
    variables = {**settings.variables(), **prepare_runs(settings.runs)}
    require_readable(settings.fleet_file, variables)
    compose = ComposeCommand(build_context(), settings.name, environ=variables, tell=tell)
    _build(settings, engine, compose, build=build, tell=tell)
    words = ["up", "--detach", "--no-build", "--wait", "--wait-timeout", f"{timeout_s:.0f}"]
    try:
        compose.run(*words, *settings.services)
    except LaunchError as exc:
        raise _why_unwell(settings.name, engine, exc) from exc
    return addresses(engine.containers(settings.name), settings)


def addresses(containers: list[ContainerState], settings: StackSettings) -> Addresses:
    """The published ports of a stack, wherever they are."""
    ports = {inside: place for state in containers for inside, place in state.ports.items()}
    view = ports.get(settings.view_port, "")
    return Addresses(
        view=f"http://{view}/?token={settings.token}" if view else "",
        mavlink_tcp=ports.get(settings.mavlink_tcp, ""),
    )


def look(name: str, engine: Engine) -> list[ServiceStatus]:
    """How every container of a run is, with its figures."""
    containers = engine.containers(name)
    running = [state.id for state in containers if state.state == "running"]
    usages = engine.usages(running)
    return [
        ServiceStatus(
            container=state,
            usage=usages.get(state.id, Usage(0.0, 0)),
            run=engine.ask_inside(state.id, _STATUS)
            if state.id in usages and RUN_SERVICES.fullmatch(state.service)
            else None,
        )
        for state in containers
    ]


def _require_free_ports(settings: StackSettings) -> None:
    if os.environ.get("DOCKER_HOST", _LOCAL_ENGINE).startswith(_LOCAL_ENGINE):
        require_free(published_ports(settings))


def published_ports(settings: StackSettings) -> PortPlan:
    """The ports that a stack takes on this machine."""
    uses = [
        PortUse(
            protocol="tcp",
            port=port,
            host="127.0.0.1",
            role=PortRole.BIND,
            purpose=purpose,
            owner=settings.name,
        )
        for purpose, port in settings.published.items()
    ]
    return PortPlan(vehicles=(), uses=tuple(uses), tcp_port=settings.mavlink_tcp)


def _build(
    settings: StackSettings,
    engine: Engine,
    compose: ComposeCommand,
    *,
    build: bool | None,
    tell: Tell,
) -> None:
    images = settings.images(os.environ)
    missing = [name for name in images if not engine.has_image(name)]
    if build is False and missing:
        raise MissingProgramError(
            f"The image {missing[0]} is not here.", hint="Without --no-build it is made."
        )
    if build or missing:
        tell(f"Building {', '.join(missing or images)}; the first time takes minutes.")
        compose.run("build", *settings.services)
    elif build is None:
        _warn_of_old_image(images[-1], settings.name, engine, tell)


def _warn_of_old_image(image: str, run: str, engine: Engine, tell: Tell) -> None:
    try:
        found = engine.run_once(image, ["pico-gz", "--version"], run).strip()
    except PicoGzError:
        return  # starting it will say what is wrong
    if found != f"pico-gz {__version__}":
        tell(f"Warning: the image {image} holds {found}; --build makes it anew.")


def _why_unwell(name: str, engine: Engine, failure: LaunchError) -> PicoGzError:
    """Name the services that are to blame, with what they said."""
    unwell = [state for state in engine.containers(name) if not state.is_well]
    # One that was only created waits for another, which is the one to blame.
    started = [state for state in unwell if state.state != "created"]
    if not started:
        return failure
    reasons = [f"{state.service} is {state.condition}{_reason(state)}" for state in started]
    return LaunchError(
        f"Not healthy: {'; '.join(reasons)}.",
        command=failure.command,
        exit_code=failure.exit_code,
        output_tail=failure.output_tail,
        hint=f"pico-gz logs --name {name} tells more; pico-gz down --name {name} removes it.",
    )


def _reason(state: ContainerState) -> str:
    return f" ({state.last_check.splitlines()[-1]})" if state.last_check else ""
