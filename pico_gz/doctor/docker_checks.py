"""Docker engine and Compose."""

from __future__ import annotations

import re
import shutil

from pico_gz.doctor.finding import Finding, Need, State
from pico_gz.doctor.programs import ask

GET_DOCKER = "Install Docker Engine: docs.docker.com/engine/install"
GET_COMPOSE = "Install the plugin: sudo apt install docker-compose-plugin"
MIN_COMPOSE = (2, 20)
_NUMBERS = re.compile(r"(\d+)\.(\d+)")


def check_engine() -> list[Finding]:
    """Whether an engine answers to this user."""
    if shutil.which("docker") is None:
        return [Finding(name="Docker engine", state=State.MISSING, need=Need.DOCKER,
                        remedy=GET_DOCKER)]  # fmt: skip
    code, text = ask(["docker", "version", "--format", "{{.Server.Version}}"])
    if code == 0 and text:
        return [Finding(name="Docker engine", state=State.FOUND, need=Need.DOCKER, version=text)]
    return [
        Finding(
            name="Docker engine",
            state=State.MISSING,
            need=Need.DOCKER,
            detail=_shortened(text),
            remedy=_engine_remedy(text),
        )
    ]


def check_compose() -> list[Finding]:
    """Whether Compose is there and new enough."""
    if shutil.which("docker") is None:
        return [Finding(name="Docker Compose", state=State.MISSING, need=Need.DOCKER,
                        remedy=GET_DOCKER)]  # fmt: skip
    code, text = ask(["docker", "compose", "version", "--short"])
    match = _NUMBERS.search(text) if code == 0 else None
    if match is None:
        return [Finding(name="Docker Compose", state=State.MISSING, need=Need.DOCKER,
                        detail=_shortened(text), remedy=GET_COMPOSE)]  # fmt: skip
    new = (int(match.group(1)), int(match.group(2))) >= MIN_COMPOSE
    wanted = ".".join(map(str, MIN_COMPOSE))
    return [
        Finding(
            name="Docker Compose",
            state=State.FOUND if new else State.TROUBLE,
            need=Need.DOCKER,
            version=text,
            remedy="" if new else f"Compose {wanted} or newer is known to work.",
        )
    ]


def _engine_remedy(text: str) -> str:
    if "permission denied" in text.lower():
        return "sudo usermod -aG docker $USER, then log in again."
    return "Start it: sudo systemctl start docker (or set DOCKER_HOST)."


def _shortened(text: str) -> str:
    # Without its plugin, docker only wonders about the options.
    return "" if not text or "unknown" in text else text.splitlines()[0][:200]
