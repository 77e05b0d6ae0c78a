"""What is known of one container."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
    """

    id: str
    service: str
    state: str
    health: str = ""
    exit_code: int = 0
    last_check: str = ""
    ports: Mapping[int, str]

    @property
    def is_well(self) -> bool:
        """Whether it runs and its health check, if any, is content."""
        return self.state == "running" and self.health in ("healthy", "")

    @property
    def condition(self) -> str:
        """Health for a container that runs, else how it ended."""
        if self.state == "running":
            return self.health or "running"
        return f"{self.state} ({self.exit_code})" if self.state == "exited" else self.state


def container_state(attributes: Mapping[str, Any]) -> ContainerState:
    """Read what the engine tells of a container (``docker inspect``)."""
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
    )


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
    # The page cache is given back when somebody needs it; "docker stats" leaves it out, too.
    details = memory.get("stats", {})
    cache = details.get("total_inactive_file", details.get("inactive_file", 0))
    return Usage(percent, max(0, memory.get("usage", 0) - cache))


def _total(cpu: Mapping[str, Any]) -> int:
    return int(cpu.get("cpu_usage", {}).get("total_usage", 0))
