"""What a user asks of a stack, and the variables of ``compose.yaml`` that follow from it."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pico_gz import __version__
from pico_gz.errors import ConfigError
from pico_gz.ports import DASHBOARD_PORT, MAVLINK_TCP, MAX_PORT

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
    runs: Path = Path("runs")
    record: bool = False
    port_offset: int = 0
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.lightweight and self.profiles:
            raise ConfigError("Profiles belong to Gazebo; --lightweight has none.")
        for purpose, port in self.published.items():
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
