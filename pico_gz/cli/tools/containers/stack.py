"""The stack from outside: settings, start, state, removal."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pico_gz import __version__
from pico_gz.cli.tools.containers.build import ComposeCommand, build_context, require_compose
from pico_gz.cli.tools.containers.engine import ContainerState, Engine, Usage
from pico_gz.cli.tools.containers.inside.settings import VIEW_FILE
from pico_gz.core.port_owner import require_free
from pico_gz.core.ports import (
    DASHBOARD_PORT,
    MAVLINK_BASE,
    MAVLINK_TCP,
    MAX_PORT,
    PortPlan,
    PortRole,
    PortUse,
    parse_address,
)
from pico_gz.errors import ConfigError, LaunchError, MissingProgramError, PicoGzError
from pico_gz.run.config.outside import DOCKER_HOST, Outside
from pico_gz.run.config.overrides import GCS_PORT_VARIABLE

IMAGE_USER = 10001
IMAGE_OWNER = f"{IMAGE_USER}:{IMAGE_USER}"
USER_VARIABLE = "PICO_GZ_USER"
DEFAULT_NAME = "pico-gz"
LIGHTWEIGHT = "lightweight"
GAZEBO_STACK = ("gazebo", "bridge")
PROFILES = ("gui", "ardupilot")
# The services that hold a run, as opposed to the simulator or an autopilot.
RUN_SERVICES = re.compile(r"(bridge|lightweight)(_\w+)?")

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_IMAGES = {
    "lightweight": ("PICO_GZ_IMAGE", "pico-gz"),
    "bridge": ("PICO_GZ_IMAGE", "pico-gz"),
    "gazebo": ("PICO_GZ_GAZEBO_IMAGE", "pico-gz-gazebo"),
    "gui": ("PICO_GZ_GUI_IMAGE", "pico-gz-gazebo-gui"),
    "ardurover": ("PICO_GZ_ARDUROVER_IMAGE", "pico-gz-ardurover"),
}
_OF_PROFILE = {"gui": "gui", "ardupilot": "ardurover"}


def check_name(name: str) -> str:
    """Return the name of a run, which is also its Compose project.

    Raises:
        ConfigError: Compose would refuse it.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"{name!r} is no name for a run.",
            hint="Small letters, digits, - and _, beginning with a letter or digit.",
        )
    return name


def project_name(fleet_name: str) -> str:
    """The nearest name that Compose takes."""
    name = re.sub(r"[^a-z0-9_-]+", "-", fleet_name.lower()).strip("-_")
    return name or DEFAULT_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class StackSettings:
    """One stack as the user wants it.

    Attributes:
        name: of the run and of its Compose project.
        lightweight: without Gazebo.
        profiles: parts that do not start by themselves, of ``PROFILES``.
        fleet_file: the fleet; ``None`` for the one of the Compose file.
        rovers: number of rovers instead of the file's.
        autopilot: of every vehicle instead of the file's.
        seed: instead of the file's.
        speed: instead of the file's.
        gcs: ``shared`` or ``per_vehicle``.
        mavlink_tcp: the fleet's own MAVLink TCP port, inside; 0 is none.
        mavlink_base: where the ground station's UDP ports start, before the offset.
        runs: folder for recordings and files of the run.
        record: keep a recording.
        port_offset: of the ports on this machine.
        token: of the browser view.
    """

    name: str = DEFAULT_NAME
    lightweight: bool = False
    profiles: tuple[str, ...] = ()
    fleet_file: Path | None = None
    rovers: int | None = None
    autopilot: str | None = None
    seed: int | None = None
    speed: str | None = None
    gcs: str = "shared"
    mavlink_tcp: int = MAVLINK_TCP
    mavlink_base: int = MAVLINK_BASE
    runs: Path = Path("runs")
    record: bool = False
    port_offset: int = 0
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.lightweight and self.profiles:
            raise ConfigError("Profiles belong to Gazebo; --lightweight has none.")
        moved = {**self.published, "ground station's UDP port": self.gcs_port}
        for purpose, port in moved.items():
            if not 1 <= port <= MAX_PORT:
                raise ConfigError(
                    f"--port-offset {self.port_offset} moves the {purpose} to {port}.",
                    hint=f"Ports are 1..{MAX_PORT}; 'auto' finds free ones.",
                )

    @property
    def services(self) -> tuple[str, ...]:
        """What is started."""
        if self.lightweight:
            return (LIGHTWEIGHT,)
        return (*GAZEBO_STACK, *(_OF_PROFILE[profile] for profile in self.profiles))

    @property
    def view_port(self) -> int:
        """The port of the browser view, inside and outside."""
        return DASHBOARD_PORT + self.port_offset

    @property
    def gcs_port(self) -> int:
        """The first UDP port of the ground station; moved, so that two stacks do not mix."""
        return self.mavlink_base + self.port_offset

    @property
    def published_tcp(self) -> int:
        """The port inside that is published; the Compose file cannot leave one out."""
        return self.mavlink_tcp or MAVLINK_TCP

    @property
    def published(self) -> dict[str, int]:
        """The ports on this machine: what for, and which."""
        return {
            "browser view": self.view_port,
            "MAVLink TCP": self.published_tcp + self.port_offset,
        }

    def images(self, environ: Mapping[str, str]) -> list[str]:
        """The images that the services need."""
        pairs = [_IMAGES[service] for service in self.services]
        return list(dict.fromkeys(environ.get(variable) or name for variable, name in pairs))

    def variables(self) -> dict[str, str]:
        """The variables of ``compose.yaml``."""
        chosen = {
            "ROVERS": self.rovers,
            "AUTOPILOT": self.autopilot,
            "SEED": self.seed,
            "SPEED": self.speed,
        }
        return {
            **{name: str(value) for name, value in chosen.items() if value is not None},
            **self._fleet(),
            "GCS": self.gcs,
            "GCS_PORT": str(self.gcs_port),
            "RECORD": "on" if self.record else "off",
            "RUNS": str(self.runs.absolute()),
            "PICO_GZ_VERSION": __version__,
            "DASHBOARD_TOKEN": self.token,
            "DASHBOARD_PORT": str(self.view_port),
            "DASHBOARD_INSIDE": "",
            "MAVLINK_TCP_PORT": str(self.published["MAVLink TCP"]),
            "MAVLINK_TCP_INSIDE": str(self.published_tcp),
        }

    def _fleet(self) -> dict[str, str]:
        """The file with its folder, so that missions and parameters beside it are found."""
        if self.fleet_file is None:
            return {}
        path = self.fleet_file.absolute()
        return {"FLEET": str(path), "FLEET_DIR": str(path.parent)}


def prepare_runs(folder: Path) -> dict[str, str]:
    """Make the folder for recordings; returns the variables that make it belong to the caller.

    A container is never root: when root calls, it stays the image's own user, who gets the
    folder if it is new or empty.

    Raises:
        ConfigError: the folder cannot be made, or is none, or containers may not write there.
    """
    user, group = os.getuid(), os.getgid()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_empty = not any(folder.iterdir())
    except OSError as exc:
        raise ConfigError(
            f"The folder {folder} cannot be made: {exc.strerror}.", hint="Choose another: --runs"
        ) from exc
    if user != 0:
        return {USER_VARIABLE: f"{user}:{group}"}
    owner = folder.stat()
    if owner.st_uid != 0:
        return {USER_VARIABLE: f"{owner.st_uid}:{owner.st_gid}"}
    if not is_empty:
        raise ConfigError(
            f"The folder {folder} belongs to root, and containers never run as root.",
            hint=f"chown -R {IMAGE_OWNER} {folder}, or choose another: --runs",
        )
    os.chown(folder, IMAGE_USER, IMAGE_USER)
    return {}


def require_readable(fleet_file: Path | None, variables: Mapping[str, str]) -> None:
    """Refuse a fleet file that the user in the container could not read.

    Raises:
        ConfigError: its folder or itself is closed to that user.
    """
    user = int(variables.get(USER_VARIABLE, IMAGE_OWNER).partition(":")[0])
    if fleet_file is None:
        return
    for path, needed in ((fleet_file.absolute().parent, 0o5), (fleet_file, 0o4)):
        status = path.stat()
        if status.st_uid != user and status.st_mode & needed != needed:
            raise ConfigError(
                f"{path} is closed to user {user}, who runs in the container.",
                hint=f"chmod o+r{'x' * path.is_dir()} {path}",
            )


_STATUS = ("pico-gz", "ctl", "status", "--json")
_LOCAL_ENGINE = "unix://"

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStatus:
    """One line of ``pico-gz status``.

    Attributes:
        container: as the engine sees it.
        usage: what it uses.
        run: what its run says, where it holds one.
        view: the address of its run's browser view, with the token; empty without one.
    """

    container: ContainerState
    usage: Usage
    run: Mapping[str, Any] | None = None
    view: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Where to connect from this machine."""

    view: str
    mavlink_tcp: str


def start(
    settings: StackSettings, engine: Engine, *, build: bool | None, timeout_s: float, report: Report
) -> Addresses:
    """Build what is missing, start everything and wait until it is healthy.

    Args:
        settings: what to start.
        engine: where.
        build: ``True`` always, ``False`` never, ``None`` if an image is missing.
        timeout_s: how long the services may take to become healthy.
        report: takes lines of progress.

    Raises:
        PortClashError: a port on this machine is taken.
        MissingProgramError: Compose or an image is not here.
        LaunchError: a service did not become healthy; says which and why.
    """
    require_compose()  # before anything is made
    if not engine.containers(settings.name):
        _require_free_ports(settings)
    _warn_of_shared_gcs_port(settings, engine, report)
    variables = {**settings.variables(), **prepare_runs(settings.runs)}
    require_readable(settings.fleet_file, variables)
    compose = ComposeCommand(build_context(), settings.name, environ=variables, report=report)
    _build(settings, engine, compose, build=build, report=report)
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
        view=_view(view, settings.token) if view else "",
        mavlink_tcp=ports.get(settings.mavlink_tcp, ""),
    )


def look(name: str, engine: Engine) -> list[ServiceStatus]:
    """How every container of a run is, with its figures."""
    containers = engine.containers(name)
    running = [state.id for state in containers if state.state == "running"]
    usages = engine.usages(running)
    ports = {inside: place for state in containers for inside, place in state.ports.items()}
    return [
        ServiceStatus(container=state, usage=usages[state.id], **_run_of(state, ports, engine))
        if state.id in usages
        else ServiceStatus(container=state, usage=Usage(0.0, 0))
        for state in containers
    ]


def _run_of(state: ContainerState, ports: Mapping[int, str], engine: Engine) -> dict[str, Any]:
    """What a container that holds a run says of it; the ports may be those of its Gazebo."""
    if not RUN_SERVICES.fullmatch(state.service):
        return {}
    view = engine.ask_inside(state.id, ("cat", str(VIEW_FILE)))
    _, port = parse_address(state.environ.get("PICO_GZ_DASHBOARD") or f"0.0.0.0:{DASHBOARD_PORT}")
    return {
        "run": engine.ask_inside(state.id, _STATUS),
        "view": _view(ports[port], view["token"]) if view and port in ports else "",
    }


def _view(place: str, token: str) -> str:
    return f"http://{place}/?token={quote(token, safe='')}"


def gcs_ports_of_others(name: str, engine: Engine) -> dict[int, str]:
    """The ground station's ports that other runs on this engine send to, and which run."""
    return {
        _gcs_port_of(state.environ): state.run
        for state in engine.containers()
        if state.run != name
        and state.state == "running"
        and RUN_SERVICES.fullmatch(state.service)
        and state.environ.get("PICO_GZ_GCS_HOST", DOCKER_HOST) == DOCKER_HOST
    }


def _gcs_port_of(environ: Mapping[str, str]) -> int:
    outside = Outside.read(environ)
    moved = MAVLINK_BASE + (outside.moved_by if outside else 0)
    return int(environ.get(GCS_PORT_VARIABLE) or moved)


def _warn_of_shared_gcs_port(settings: StackSettings, engine: Engine, report: Report) -> None:
    other = gcs_ports_of_others(settings.name, engine).get(settings.gcs_port)
    if other:
        report(
            f"Warning: the run {other} sends to UDP {settings.gcs_port}, too: a ground station "
            "there mixes the rovers of both. --port-offset auto keeps them apart."
        )


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
    report: Report,
) -> None:
    images = settings.images(os.environ)
    missing = [name for name in images if not engine.has_image(name)]
    if build is False and missing:
        raise MissingProgramError(
            f"The image {missing[0]} is not here.", hint="Without --no-build it is made."
        )
    if build or missing:
        report(f"Building {', '.join(missing or images)}; the first time takes minutes.")
        compose.run("build", *settings.services)
    elif build is None:
        _warn_of_old_image(images[-1], settings.name, engine, report)


def _warn_of_old_image(image: str, run: str, engine: Engine, report: Report) -> None:
    try:
        found = engine.run_once(image, ["pico-gz", "--version"], run).strip()
    except PicoGzError:
        return  # starting it will say what is wrong
    if found != f"pico-gz {__version__}":
        report(f"Warning: the image {image} holds {found}; --build makes it again.")


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
        hint=f"pico-gz logs --name {name} shows more; pico-gz down --name {name} removes it.",
    )


def _reason(state: ContainerState) -> str:
    if state.was_out_of_memory:
        return ": set MEMORY higher"
    return f" ({state.last_check.splitlines()[-1]})" if state.last_check else ""
