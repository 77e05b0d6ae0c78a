"""Whether containers reach this machine, where the ground station is."""

from __future__ import annotations

import os
import shutil

from pico_gz.doctor.finding import Finding, State
from pico_gz.doctor.programs import ask

NAME = "container reach"
HOST = "host.docker.internal"
# Together below the deadline of the examination.
LOOK_S, RUN_S, REMOVE_S = 0.5, 1.5, 0.5
# Whether somebody listens does not matter: a refusal has come from the host, too.
_PROBE = f"""
import socket
try:
    socket.create_connection(("{HOST}", 14550), 0.5).close()
    print("reached")
except ConnectionRefusedError:
    print("reached")
except socket.gaierror:
    print("unresolved")
except OSError:
    print("unreached")
"""
_REMEDIES = {
    "unresolved": f"{HOST} needs Docker 20.10 or newer; else set GCS_HOST.",
    "unreached": "Let the firewall pass UDP 14550 from containers, or set GCS_HOST.",
}


def check_reach() -> list[Finding]:
    """Try it in a container of the kit's own image; without the image nothing is started."""
    if shutil.which("docker") is None:
        return [_not_checked("there is no Docker")]
    image = os.environ.get("PICO_GZ_IMAGE") or "pico-gz"
    code, text = ask(["docker", "image", "inspect", "--format", "{{.Id}}", image], LOOK_S)
    if code != 0 and "no such image" in text.lower():
        remedy = "docker compose build makes it."
        return [_not_checked(f"the image {image} is not here", remedy)]
    if code != 0:
        return [_not_checked("no Docker engine answers")]
    return [_try_it(image)]


def _try_it(image: str) -> Finding:
    name = f"pico-gz-doctor-{os.getpid()}"
    code, text = ask(_run_command(name, image), RUN_S)
    if code < 0:
        # Only the waiting has ended; the container itself may still be starting.
        ask(["docker", "rm", "--force", name], REMOVE_S)
    if code == 0 and text == "reached":
        return Finding(name=NAME, state=State.FOUND, version="containers reach the host")
    if code == 0 and text in _REMEDIES:
        return Finding(
            name=NAME,
            state=State.TROUBLE,
            version=f"the host is {text}",
            detail=f"as {HOST}, from a container",
            remedy=_REMEDIES[text],
        )
    said = text.splitlines()[0][:200] if text else f"exit code {code}"
    return _not_checked(f"a container of {image} did not tell: {said}")


def _run_command(name: str, image: str) -> list[str]:
    """A container with the network of a run, and no rights."""
    limits = ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges:true"]
    network = ["--add-host", f"{HOST}:host-gateway"]
    options = ["--rm", "--name", name, "--pull", "never", *limits, *network]
    return ["docker", "run", *options, image, "python3", "-c", _PROBE]


def _not_checked(why: str, remedy: str = "") -> Finding:
    detail = f"not checked whether containers reach this machine: {why}"
    return Finding(name=NAME, state=State.TROUBLE, detail=detail, remedy=remedy)
