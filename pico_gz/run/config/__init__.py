"""The fleet file: one description of a fleet for every command.

``load_fleet`` reads and checks a file, ``default_fleet`` makes the fleet that there is without
one; both give a ``FleetConfig``, frozen and complete. pydantic is imported only to read a file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pico_gz.run.config.adapter_choice import AdapterChoice, resolve_adapter, wanted_adapter
from pico_gz.run.config.assemble import assemble
from pico_gz.run.config.fleet import AdapterPlan, FleetConfig, VehiclePlan
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.config.problems import Findings, FleetFileError, Problem
from pico_gz.run.config.settings import FleetFile

__all__ = [
    "AdapterChoice",
    "AdapterPlan",
    "FleetConfig",
    "FleetFileError",
    "FleetOverrides",
    "Problem",
    "VehiclePlan",
    "default_fleet",
    "load_fleet",
    "resolve_adapter",
    "wanted_adapter",
]


def load_fleet(
    path: str | Path,
    overrides: FleetOverrides | None = None,
    *,
    environ: Mapping[str, str] | None = None,
) -> FleetConfig:
    """Read a fleet file.

    Args:
        path: the TOML file; mission, parameter and terrain files are relative to it.
        overrides: options that win over the file.
        environ: default: the environment of this process.

    Raises:
        FleetFileError: something in it cannot work; lists everything that was found.
        PortClashError: two users of one port, and nothing else is wrong.
        ConfigError: it cannot be read, or is no TOML.
    """
    from pico_gz.run.config.loader import read_fleet

    environment = os.environ if environ is None else environ
    return read_fleet(Path(path), overrides or FleetOverrides(), environment)


def default_fleet(
    rovers: int = 3,
    overrides: FleetOverrides | None = None,
    *,
    environ: Mapping[str, str] | None = None,
) -> FleetConfig:
    """The fleet that there is without a file: ``rovers`` rovers in a line, seed 42.

    Raises:
        FleetFileError: an option or an environment variable cannot work.
    """
    overrides = overrides or FleetOverrides()
    if overrides.rovers is None:
        overrides = replace(overrides, rovers=rovers)
    return assemble(
        FleetFile(),
        rover_fields={},
        source=None,
        overrides=overrides,
        environ=os.environ if environ is None else environ,
        findings=Findings(),
    )
