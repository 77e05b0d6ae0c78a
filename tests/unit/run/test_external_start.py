"""The line that starts an external autopilot works wherever it is pasted."""

import os
import subprocess
from pathlib import Path

import pytest

from pico_gz.errors import ConfigError
from pico_gz.run.config import default_fleet, load_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.external_setup import fdm_host, start_lines, write_parameter_files
from pico_gz.run.simulators import local_frame

EXTERNAL = FleetOverrides(rovers=2, autopilot="external")


def lines_of(fleet, folder):
    return start_lines(fleet, fleet.port_plan(), local_frame(fleet), folder)


def test_pasted_into_another_folder_it_finds_its_parameters(tmp_path, monkeypatch):
    start, elsewhere = tmp_path / "it's a start", tmp_path / "elsewhere"
    stub = tmp_path / "bin" / "ardurover"
    for folder in (start, elsewhere, stub.parent):
        folder.mkdir()
    stub.write_text('#!/bin/sh\nwhile [ "$1" != --defaults ]; do shift; done\npwd; cat "$2"\n')
    stub.chmod(0o755)
    monkeypatch.chdir(start)
    fleet = default_fleet(overrides=EXTERNAL, environ={})
    write_parameter_files(fleet, Path("runs"))
    lines = lines_of(fleet, Path("runs"))
    monkeypatch.chdir(elsewhere)
    path = f"{stub.parent}:{os.environ['PATH']}"
    for number, line in enumerate(lines, start=1):
        shown = subprocess.run(
            ["sh", "-c", line], env={"PATH": path}, capture_output=True, text=True, check=True
        ).stdout
        assert shown.splitlines()[0] == str(start / "runs" / f"rover_{number}")
        assert "FRAME_CLASS 1" in shown


@pytest.mark.parametrize(
    ("bind", "host"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.2", "127.0.0.2"),
        ("0.0.0.0", "127.0.0.1"),
        ("::", "127.0.0.1"),
        ("localhost", "127.0.0.1"),
    ],
)
def test_it_goes_where_the_kit_listens(bind, host, tmp_path):
    path = tmp_path / "fleet.toml"
    path.write_text(f'[fleet]\ncount=1\nautopilot="external"\n[net]\nbind="{bind}"\n')
    (line,) = lines_of(load_fleet(path, environ={}), tmp_path)
    assert f"--model JSON:{host} " in line


def test_an_unknown_host_is_refused(monkeypatch):
    def unknown(name):
        raise OSError(name)

    monkeypatch.setattr("socket.gethostbyname", unknown)
    with pytest.raises(ConfigError, match="nowhere"):
        fdm_host("nowhere")
