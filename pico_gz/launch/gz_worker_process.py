"""A worker process, seen from the kit."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from enum import StrEnum
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from pico_gz.errors import LaunchError, MissingProgramError
from pico_gz.gz_bindings import APT_PACKAGE, MODULE, find_bindings
from pico_gz.launch import gz_worker

_START_S = 20.0
_END_S = 2.0


class Role(StrEnum):
    """What a worker does."""

    REQUESTS = "requests"
    TOPICS = "topics"


class WorkerProcess:
    """Starts a worker on creation; ``connection`` talks to it. It ends with us.

    Args:
        role: what it does.
        environment: what differs from our own environment (``GZ_PARTITION``, ``GZ_IP``).

    Raises:
        MissingProgramError: no Python here has the bindings.
        LaunchError: the bindings do not load.
    """

    def __init__(self, role: Role, environment: Mapping[str, str]) -> None:
        python = find_bindings()
        if not python:
            raise MissingProgramError(
                f"Gazebo's Python bindings ({MODULE}) are not here.",
                hint=f"sudo apt install {APT_PACKAGE}; pico-gz doctor tells more.",
            )
        ours, theirs = socket.socketpair()
        command = [python, "-P", str(Path(gz_worker.__file__)), role, str(theirs.fileno())]
        with theirs:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={**_environment_for(python), **environment},
                pass_fds=(theirs.fileno(),),
                # Ctrl-C is for the kit, which ends its workers itself.
                start_new_session=True,
            )
        self.connection: Any = Connection(ours.detach())
        self._await_start(command)

    def close(self) -> None:
        """End it; harmless when called twice."""
        self.connection.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _await_start(self, command: list[str]) -> None:
        problem = "it does not start"
        with contextlib.suppress(EOFError, OSError):
            if self.connection.poll(_START_S):
                problem = self.connection.recv()
        if problem:
            self.close()
            raise LaunchError(
                f"Gazebo's Python bindings cannot be used: {problem}.",
                command=command,
                exit_code=self._process.returncode,
                hint="pico-gz doctor tells more.",
            )


def _environment_for(python: str) -> dict[str, str]:
    environment = dict(os.environ)
    if python == sys.executable:
        # The bindings may be on a path that only this process knows of.
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    return environment
