"""The bridge service.

Usage: python3 -m pico_gz.cli.tools.containers.inside.bridge lightweight|gazebo|as_written
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sys
from collections.abc import MutableMapping, Sequence
from pathlib import Path

from pico_gz.cli.app import run_command
from pico_gz.cli.tools.containers.inside.settings import (
    RUNS_FOLDER,
    VIEW_FILE,
    ServiceSettings,
    require_fleet,
    require_runs,
    run_service,
)
from pico_gz.run.config.overrides import ATTACH_VARIABLE

TOKEN_VARIABLE = "PICO_GZ_DASHBOARD_TOKEN"
# Beside the recordings, so that an address that was printed once stays right.
KEPT_TOKEN = ".pico_gz_view_token"


def main(arguments: Sequence[str]) -> int:
    """Run the fleet; the process stays the same, so signals reach the run itself."""
    adapter = arguments[0]
    settings = ServiceSettings.read(os.environ)
    require_fleet(settings)
    if settings.record:
        require_runs()
    # Gazebo has a container of its own, so it is never the bridge's to start.
    os.environ[ATTACH_VARIABLE] = "1"
    if settings.dashboard:
        choose_token(os.environ)
    return run_command(["run", *settings.run_arguments(adapter)])


def choose_token(
    environ: MutableMapping[str, str], runs: Path = RUNS_FOLDER, view_file: Path = VIEW_FILE
) -> None:
    """Have the browser view use the given token, or the one of the last start, or a new one."""
    token = environ.get(TOKEN_VARIABLE) or _kept_token(runs / KEPT_TOKEN)
    environ[TOKEN_VARIABLE] = token
    view_file.unlink(missing_ok=True)
    _write_secret(view_file, json.dumps({"token": token}))


def _kept_token(path: Path) -> str:
    """The token in the file, which is made if it can be; bridges of one stack share it."""
    new = secrets.token_urlsafe(24)
    # It is there already, or the folder belongs to another user.
    with contextlib.suppress(OSError):
        _write_secret(path, new)
    try:
        return path.read_text(encoding="utf-8").strip() or new
    except OSError:
        return new


def _write_secret(path: Path, text: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(file, "w", encoding="utf-8") as stream:
        stream.write(text)


if __name__ == "__main__":
    sys.exit(run_service(main, sys.argv[1:]))
