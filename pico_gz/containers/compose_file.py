"""A Compose file for exactly one fleet: a world and a bridge per part, and nothing else.

It says the same as the project's own ``compose.yaml``, with every choice made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pico_gz import __version__
from pico_gz.config import FleetConfig
from pico_gz.config.only import ONLY_VARIABLE
from pico_gz.containers.container_state import RUN_LABEL
from pico_gz.containers.fleet_parts import FleetPart
from pico_gz.containers.inside.settings import AS_WRITTEN, FLEET_FOLDER, RUNS_FOLDER
from pico_gz.containers.stack_settings import IMAGE_OWNER
from pico_gz.containers.yaml_text import yaml_text
from pico_gz.errors import ConfigError
from pico_gz.ports import DASHBOARD_PORT, MAX_PORT, Link


class _Variable(str):
    """Text in which Compose is to fill in variables."""

    __slots__ = ()


_INSIDE = "pico_gz.containers.inside"
_HOST = "127.0.0.1"
_PORT_STEP = 10
_MOVE = "Move it in [ports] or [mavlink] links; the ports of bridge n are 10 (n - 1) higher."
_PIP: dict[str, str] = {
    "PIP_NO_INDEX": _Variable("${PIP_NO_INDEX:-}"),
    "PIP_INDEX_URL": _Variable("${PIP_INDEX_URL:-}"),
}
_PYTHON_BASE: dict[str, str] = {
    "BASE_IMAGE": _Variable("${PYTHON_IMAGE:-python:3.12-slim}"),
    **_PIP,
}
_BUILD_ARGUMENTS: dict[str, dict[str, str]] = {
    "gazebo": {"BASE_IMAGE": _Variable("${UBUNTU_IMAGE:-ubuntu:24.04}"), **_PIP},
    "lightweight": _PYTHON_BASE,
    "ardurover": {
        **_PYTHON_BASE,
        "ARDUROVER_URL": _Variable("${ARDUROVER_URL:-}"),
        "ARDUROVER_SHA256": _Variable("${ARDUROVER_SHA256:-}"),
    },
}
_KIT_IMAGES = {
    "lightweight": "${PICO_GZ_IMAGE:-pico-gz}",
    "ardurover": "${PICO_GZ_ARDUROVER_IMAGE:-pico-gz-ardurover}",
}
_CHECK = {"interval": "2s", "timeout": "5s", "retries": 15, "start_period": "20s"}
# Memory [MB]: what is there before the first rover, and for each.
_BRIDGE_MB, _BRIDGE_ROVER_MB = 512, 4
_WORLD_MB, _WORLD_ROVER_MB = 1024, 40


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposeOptions:
    """What the fleet file does not say.

    Attributes:
        project: name of the Compose project and of the run.
        context: folder that images are built from.
        runs: folder for recordings and files of the run; ``None`` is a volume.
        user: USER:GROUP of all containers, who must own that folder.
        gcs: ``shared`` or ``per_vehicle``.
        record: keep recordings.
    """

    project: str
    context: Path
    runs: Path | None = None
    user: str = IMAGE_OWNER
    gcs: str = "shared"
    record: bool = False


class ComposeFile:
    """Builds the file for a fleet that was read from a file."""

    def __init__(self, fleet: FleetConfig, parts: list[FleetPart], options: ComposeOptions) -> None:
        if fleet.source is None:
            raise ValueError("a Compose file needs a fleet file to mount")
        self._fleet = fleet
        self._source = fleet.source.absolute()
        self._parts = parts
        self._options = options

    def text(self) -> str:
        """The whole file."""
        vehicles = len(self._fleet.vehicles)
        head = (
            f"# Made by pico-gz {__version__} from {self._source.name}: {vehicles} rovers, "
            f"{len(self._parts)} bridge{'s' * (len(self._parts) > 1)}.\n"
            "# Make it anew when the number of rovers, their adapters or ports change:\n"
            f"#   pico-gz compose {self._source.name}\n"
        )
        return head + yaml_text(_escaped(self.content()))

    def content(self) -> dict[str, Any]:
        """The file as plain values.

        Raises:
            ConfigError: two services would publish the same port, or one that does not exist.
        """
        services: dict[str, Any] = {}
        for number, part in enumerate(self._parts, start=1):
            services.update(self._part(number, part))
        _require_own_ports(services)
        labels = {RUN_LABEL: self._options.project}
        content = {
            "name": self._options.project,
            "services": services,
            "networks": {"default": {"labels": labels}},
        }
        if self._options.runs is None:
            content["volumes"] = {"runs": {"labels": labels}}
        return content

    def _part(self, number: int, part: FleetPart) -> dict[str, Any]:
        suffix = f"_{number}" if len(self._parts) > 1 else ""
        if not part.on_gazebo:
            bridge = f"lightweight{suffix}"
            services = {bridge: {**self._bridge(number, part, ""), **self._network(number)}}
            return services | self._ardurovers(number, part, bridge)
        gazebo = f"gazebo{suffix}"
        services = {
            gazebo: {**self._gazebo(number, part), **self._network(number)},
            f"bridge{suffix}": self._bridge(number, part, gazebo),
        }
        return services | self._ardurovers(number, part, gazebo)

    def _gazebo(self, number: int, part: FleetPart) -> dict[str, Any]:
        environment = {
            **self._environment(number, part.on_gazebo),
            "GZ_PARTITION": f"{self._options.project}_{number}",
        }
        return {
            "image": _Variable("${PICO_GZ_GAZEBO_IMAGE:-pico-gz-gazebo}"),
            "build": self._build("gazebo.Dockerfile", "gazebo"),
            **self._hardening(_WORLD_MB + _WORLD_ROVER_MB * len(part.on_gazebo)),
            "command": ["python3", "-m", f"{_INSIDE}.gazebo"],
            "environment": environment,
            "volumes": [self._fleet_volume()],
            "healthcheck": _check("check_gazebo"),
        }

    def _bridge(self, number: int, part: FleetPart, gazebo: str) -> dict[str, Any]:
        adapter = AS_WRITTEN if gazebo else "lightweight"
        return {
            **self._kit("lightweight", _BRIDGE_MB + _BRIDGE_ROVER_MB * len(part.vehicles)),
            "command": ["python3", "-m", f"{_INSIDE}.bridge", adapter],
            "environment": self._environment(number, part.vehicles),
            "healthcheck": _check("check_bridge"),
            **(_beside(gazebo) if gazebo else {}),
        }

    def _ardurovers(self, number: int, part: FleetPart, beside: str) -> dict[str, Any]:
        """One per external vehicle; in a profile, because any other autopilot will do as well."""
        return {
            f"ardurover_{vehicle_id}": {
                "profiles": ["ardupilot"],
                **self._kit("ardurover", _BRIDGE_MB),
                "command": ["python3", "-m", f"{_INSIDE}.ardurover"],
                "environment": self._environment(number, (vehicle_id,)),
                "healthcheck": _check("check_process", "ardurover"),
                **_beside(beside),
            }
            for vehicle_id in part.external
        }

    def _kit(self, target: str, memory_mb: int) -> dict[str, Any]:
        return {
            "image": _Variable(_KIT_IMAGES[target]),
            "build": self._build("lightweight.Dockerfile", target),
            **self._hardening(memory_mb),
            "volumes": [self._fleet_volume(), self._runs_volume()],
        }

    def _build(self, file: str, target: str) -> dict[str, Any]:
        return {
            "context": str(self._options.context),
            "dockerfile": f"docker/{file}",
            "target": target,
            "args": {"VERSION": __version__, **_BUILD_ARGUMENTS[target]},
        }

    def _hardening(self, memory_mb: int) -> dict[str, Any]:
        return {
            "user": _Variable(f"${{PICO_GZ_USER:-{self._options.user}}}"),
            "init": True,
            "restart": "no",
            "stop_grace_period": "5s",
            "read_only": True,
            "tmpfs": ["/tmp:mode=1777,size=256m"],
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges:true"],
            "pids_limit": 512 + 4 * len(self._fleet.vehicles),
            "mem_limit": f"{memory_mb}m",
            "logging": {"driver": "json-file", "options": {"max-size": "10m", "max-file": "3"}},
            "labels": {RUN_LABEL: self._options.project},
        }

    def _environment(self, number: int, ids: tuple[int, ...]) -> dict[str, str]:
        return {
            "FLEET": self._source.name,
            "FLEET_DIR": str(FLEET_FOLDER),
            ONLY_VARIABLE: ",".join(map(str, ids)),
            "GCS": self._options.gcs,
            "RECORD": "on" if self._options.record else "off",
            "PICO_GZ_BIND": "0.0.0.0",
            "PICO_GZ_GCS_HOST": "host.docker.internal",
            "PICO_GZ_DASHBOARD": f"0.0.0.0:{_view_port(number)}",
            "PICO_GZ_DASHBOARD_TOKEN": _Variable("${DASHBOARD_TOKEN:-}"),
            "GZ_IP": _HOST,
        }

    def _fleet_volume(self) -> dict[str, Any]:
        return {**_mounted(self._source.parent, FLEET_FOLDER), "read_only": True}

    def _runs_volume(self) -> dict[str, Any] | str:
        runs = self._options.runs
        return _mounted(runs.absolute(), RUNS_FOLDER) if runs else f"runs:{RUNS_FOLDER}"

    def _network(self, number: int) -> dict[str, Any]:
        return {
            "ports": self._published(number),
            "extra_hosts": ["host.docker.internal:host-gateway"],
        }

    def _published(self, number: int) -> list[str]:
        """Each part has its own network, so only the ports outside need to differ.

        The browser view has its own port inside, too: the run prints it, and cookies know it.
        """
        moved, view = _moved(number), _view_port(number)
        ports = [f"{_HOST}:{view}:{view}"]
        tcp = self._fleet.port_plan().tcp_port
        if tcp:
            ports.append(f"{_HOST}:{tcp + moved}:{tcp}")
        links = [*self._fleet.links, *(link for p in self._own_plans(number) for link in p.links)]
        return ports + [text for link in links for text in _published_link(link, moved)]

    def _own_plans(self, number: int) -> list[Any]:
        ids = self._parts[number - 1].vehicles
        return [plan for plan in self._fleet.vehicles if plan.id in ids]


def _require_own_ports(services: Mapping[str, Any]) -> None:
    """Refuse what the engine would refuse only after half of the fleet has started."""
    taken: dict[tuple[str, str], str] = {}
    for name, service in services.items():
        for text in service.get("ports", ()):
            _, outside, inside = text.split(":")
            key = (outside, inside.partition("/")[2] or "tcp")
            if int(outside) > MAX_PORT:
                raise ConfigError(f"{name} would need port {outside} on this machine.", hint=_MOVE)
            if key in taken:
                raise ConfigError(
                    f"{taken[key]} and {name} would both publish port {outside}.", hint=_MOVE
                )
            taken[key] = name


def _beside(service: str) -> dict[str, Any]:
    """In the network of another service, after it; needs to go when that one goes."""
    return {
        "network_mode": f"service:{service}",
        "depends_on": {service: {"condition": "service_healthy", "restart": True}},
    }


def _mounted(source: Path, target: Path) -> dict[str, Any]:
    """A folder that must be there: one that the engine made would belong to root."""
    return {
        "type": "bind",
        "source": str(source),
        "target": str(target),
        "bind": {"create_host_path": False},
    }


def _check(module: str, *words: str) -> dict[str, Any]:
    return {"test": ["CMD", "python3", "-m", f"{_INSIDE}.{module}", *words], **_CHECK}


def _moved(number: int) -> int:
    """How far the ports of a part are away from those of the first one."""
    return _PORT_STEP * (number - 1)


def _view_port(number: int) -> int:
    return DASHBOARD_PORT + _moved(number)


def _published_link(link: Link, moved: int) -> list[str]:
    """Links that others open; those that we open need no port."""
    protocol = {"tcpin": "tcp", "udpin": "udp"}.get(link.kind)
    return [f"{_HOST}:{link.port + moved}:{link.port}/{protocol}"] if protocol else []


def _escaped(value: Any) -> Any:
    """Keep Compose from reading a variable into a name that has a ``$``."""
    if isinstance(value, dict):
        return {key: _escaped(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_escaped(item) for item in value]
    if isinstance(value, str) and not isinstance(value, _Variable):
        return value.replace("$", "$$")
    return value
