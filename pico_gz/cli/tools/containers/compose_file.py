"""A Compose file for exactly one fleet, in parts that fit.

It says the same as the project's own ``compose.yaml``, with every choice made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pico_gz import __version__
from pico_gz.cli.tools.containers import inside
from pico_gz.cli.tools.containers.build import relative_to
from pico_gz.cli.tools.containers.engine import RUN_LABEL
from pico_gz.cli.tools.containers.inside.settings import AS_WRITTEN, FLEET_FOLDER, RUNS_FOLDER
from pico_gz.cli.tools.containers.stack import IMAGE_OWNER
from pico_gz.core.ports import DASHBOARD_PORT, MAX_PORT, Link, is_loopback
from pico_gz.errors import ConfigError
from pico_gz.run.config.fleet import FleetConfig, VehiclePlan
from pico_gz.run.config.loader import ONLY_VARIABLE
from pico_gz.run.config.outside import CTL_VARIABLE, DOCKER_HOST, TCP_VARIABLE

_PLAIN = re.compile(r"[A-Za-z_./][\w./-]*")
# Words that a YAML reader takes for something else than text.
_NOT_TEXT = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n", "."})


def yaml_text(value: Mapping[str, Any]) -> str:
    """Return a mapping of mappings, lists, texts, numbers and booleans as block YAML."""
    return "\n".join(_block(value, "")) + "\n"


def _block(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _entry(f"{indent}{_scalar(key)}:", item, indent + "  ")
    else:
        for item in value:
            first, *rest = _item_lines(item, indent + "  ")
            yield f"{indent}- {first.lstrip()}"
            yield from rest


def _entry(head: str, item: Any, indent: str) -> Iterator[str]:
    if (isinstance(item, Mapping) and item) or (_is_list(item) and item and not _is_short(item)):
        yield head
        yield from _block(item, indent)
    else:
        yield f"{head} {_flow(item)}"


def _item_lines(item: Any, indent: str) -> list[str]:
    return list(_block(item, indent)) if isinstance(item, Mapping) and item else [_flow(item)]


def _flow(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{}"
    if _is_list(value):
        return "[" + ", ".join(_scalar(item) for item in value) + "]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _NOT_TEXT:
        return value
    # JSON is YAML, and quotes keep "10001:10001" from being a number to base 60.
    return json.dumps(value, ensure_ascii=False)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _is_short(items: Sequence[Any]) -> bool:
    return len(items) <= 4 and all(isinstance(item, str | int) for item in items)


GAZEBO, LIGHTWEIGHT, AUTO = "gazebo", "lightweight", "auto"
# The most that was tried. Lockstep keeps the results the same, but two processors need 1.2 s for
# a simulated second of 3 rovers, 3 s for 10 and 4 s for 20, of both processors together.
ROVERS_PER_WORLD = 20
ROVERS_PER_BRIDGE = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPart:
    """The vehicles of one bridge, in id order; ``on_gazebo`` are those in its world."""

    vehicles: tuple[int, ...]
    on_gazebo: tuple[int, ...] = ()
    external: tuple[int, ...] = ()


def cut_fleet(fleet: FleetConfig, per_bridge: int | None = None) -> list[FleetPart]:
    """Cut a fleet into parts of equal size.

    Args:
        fleet: the fleet; in containers ``auto`` is Gazebo.
        per_bridge: most rovers of a part; default: as many as are known to work.

    Raises:
        ConfigError: the fleet cannot run in containers, and why.
    """
    problem = next(problems(fleet), "")
    if problem:
        raise ConfigError(problem)
    gazebo = {plan.id for plan in fleet.vehicles if _type(fleet, plan) == GAZEBO}
    limit = ROVERS_PER_WORLD if gazebo else ROVERS_PER_BRIDGE
    if per_bridge is not None:
        limit = per_bridge
    if limit < 1:
        raise ConfigError("A bridge has at least one rover.")
    if fleet.gazebo.world is not None and len(fleet.vehicles) > limit and gazebo:
        raise ConfigError(
            f"[gazebo] world is one world, but {len(fleet.vehicles)} rovers need several.",
            hint=f"--per-bridge {len(fleet.vehicles)} keeps them together.",
        )
    external = {plan.id for plan in fleet.vehicles if plan.config.autopilot == "external"}
    return [
        FleetPart(
            vehicles=ids,
            on_gazebo=tuple(i for i in ids if i in gazebo),
            external=tuple(i for i in ids if i in external),
        )
        for ids in _equal_cuts([plan.id for plan in fleet.vehicles], limit)
    ]


def problems(fleet: FleetConfig) -> Iterator[str]:
    """Everything that keeps a fleet from running in containers, one sentence each."""
    for plan in fleet.vehicles:
        kind = _type(fleet, plan)
        if kind not in (GAZEBO, LIGHTWEIGHT):
            yield f"Vehicle {plan.id}: the images hold no adapter {kind!r}."
    if not fleet.gazebo.ardupilot_compat:
        yield "[gazebo] ardupilot_compat = false: the plugin in the image speaks the other wire."
    if not is_loopback(fleet.gazebo.server_addr.partition(":")[0]):
        yield f"[gazebo] server_addr = {fleet.gazebo.server_addr!r}: Gazebo is in a container here."
    for link in _links(fleet):
        if is_loopback(link.host):
            other = "0.0.0.0" if link.listens else DOCKER_HOST
            yield f"The link {link} would stay inside its container: write {other} instead."
    if fleet.source is None:
        return
    folder = fleet.source.absolute().parent
    for what, file in (("The fleet file", fleet.source.absolute()), *_files(fleet)):
        # A link that points elsewhere is of no use inside either.
        if not (folder / file).resolve().is_relative_to(folder.resolve()):
            yield f"{what} {file} is outside {folder}: containers see that folder only."


def _type(fleet: FleetConfig, plan: VehiclePlan) -> str:
    kind = fleet.adapter_type(plan.config.adapter)
    return GAZEBO if kind in (AUTO, "") else kind


def _links(fleet: FleetConfig) -> Iterator[Link]:
    yield from fleet.links
    for plan in fleet.vehicles:
        yield from plan.links


def _files(fleet: FleetConfig) -> Iterator[tuple[str, Path]]:
    for plan in fleet.vehicles:
        if plan.mission is not None:
            yield "The mission", plan.mission.absolute()
        if plan.params is not None:
            yield "The parameter file", plan.params.absolute()
    if fleet.gazebo.world is not None:
        yield "The world", Path(fleet.gazebo.world)
    if fleet.terrain.file is not None:
        yield "The heightmap", Path(fleet.terrain.file)
    if fleet.signing_key_file is not None:
        yield "The signing key", fleet.signing_key_file


def _equal_cuts(ids: list[int], limit: int) -> Iterator[tuple[int, ...]]:
    """As few parts as possible, and none much smaller than another."""
    count = -(-len(ids) // limit)
    size, longer = divmod(len(ids), count)
    start = 0
    for number in range(count):
        end = start + size + (number < longer)
        yield tuple(ids[start:end])
        start = end


class _Variable(str):
    """Text in which Compose is to fill in variables."""

    __slots__ = ()


_INSIDE = inside.__name__
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
_PULL = _Variable("${PICO_GZ_PULL:-never}")
_KIT_IMAGES = {
    "lightweight": "${PICO_GZ_IMAGE:-pico-gz}",
    "ardurover": "${PICO_GZ_ARDUROVER_IMAGE:-pico-gz-ardurover}",
}
# A check may watch for WATCH_S before it answers.
_CHECK = {"interval": "2s", "timeout": "40s", "retries": 15, "start_period": "20s"}
# Memory [MB]: what is there before the first rover, and for each.
_BRIDGE_MB, _BRIDGE_ROVER_MB = 512, 4
_WORLD_MB, _WORLD_ROVER_MB = 1024, 40


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposeOptions:
    """What the fleet file does not say.

    Attributes:
        project: name of the Compose project and of the run.
        folder: of the file itself; paths in it are relative to this one.
        context: folder that images are built from, as Compose reads it.
        runs: folder for recordings and files of the run; ``None`` is a volume.
        user: USER:GROUP of all containers, who must own that folder.
        gcs: ``shared`` or ``per_vehicle``.
        record: keep recordings.
    """

    project: str
    folder: Path
    context: str
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
            "# Generate it again when the number of rovers, their adapters or ports change:\n"
            f"#   pico-gz compose {self._source.name}\n"
            "# It can be shared: paths are relative to this file. Images are built from the folder "
            "below,\n# which an installed pico-gz of this version keeps in its user's cache, or "
            "from a clone of\n# pico_gz: PICO_GZ_CONTEXT.\n"
        )
        if self._options.runs is not None:
            head += "# Who starts it must own the folder of runs: PICO_GZ_USER=$(id -u):$(id -g)\n"
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
        suffix = self._suffix(number)
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
            "pull_policy": _PULL,
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
            "environment": {
                **self._environment(number, part.vehicles),
                CTL_VARIABLE: self._ctl(number, part),
            },
            "healthcheck": _check("check_bridge"),
            **(_beside(gazebo) if gazebo else {}),
        }

    def _ctl(self, number: int, part: FleetPart) -> str:
        service = ("bridge" if part.on_gazebo else LIGHTWEIGHT) + self._suffix(number)
        return f"docker compose -p {self._options.project} exec {service} pico-gz ctl"

    def _suffix(self, number: int) -> str:
        return f"_{number}" if len(self._parts) > 1 else ""

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
            "pull_policy": _PULL,
            **self._hardening(memory_mb),
            "volumes": [self._fleet_volume(), self._runs_volume()],
        }

    def _build(self, file: str, target: str) -> dict[str, Any]:
        return {
            "context": _Variable(self._options.context),
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
            "PICO_GZ_GCS_HOST": _Variable(f"${{GCS_HOST:-{DOCKER_HOST}}}"),
            # One for all bridges, although their other ports differ.
            "PICO_GZ_GCS_PORT": _Variable(f"${{GCS_PORT:-{self._fleet.rules.mavlink_base}}}"),
            TCP_VARIABLE: f"{_HOST}:{(self._fleet.port_plan().tcp_port or 0) + _moved(number)}",
            "PICO_GZ_DASHBOARD": f"0.0.0.0:{_view_port(number)}",
            "PICO_GZ_DASHBOARD_TOKEN": _Variable("${DASHBOARD_TOKEN:-}"),
            "GZ_IP": _HOST,
        }

    def _fleet_volume(self) -> dict[str, Any]:
        source = relative_to(self._options.folder, self._source.parent)
        return {**_mounted(source, FLEET_FOLDER), "read_only": True}

    def _runs_volume(self) -> dict[str, Any] | str:
        runs = self._options.runs
        if runs is None:
            return f"runs:{RUNS_FOLDER}"
        return _mounted(relative_to(self._options.folder, runs.absolute()), RUNS_FOLDER)

    def _network(self, number: int) -> dict[str, Any]:
        return {
            "ports": self._published(number),
            "extra_hosts": [f"{DOCKER_HOST}:host-gateway"],
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


def _mounted(source: str, target: Path) -> dict[str, Any]:
    """A folder that must be there: one that the engine made would belong to root."""
    return {
        "type": "bind",
        "source": source,
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
