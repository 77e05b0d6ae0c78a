"""Rovers in pytest: fixtures, options, and what a failure leaves behind.

Loaded by pytest in every project of an environment that has pico-gz, so nothing heavy is
imported here; the fixtures import what they need when a test asks for them.
"""

from __future__ import annotations

import argparse
import math
import os
import shlex
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pico_gz.testing.ardurover import ArduRovers
    from pico_gz.testing.harness import SimOptions, SitlHarness
    from pico_gz.testing.port_lease import PortLeases
    from pico_gz.testing.sitl import RoverHandle, Sitl


_HARNESS = pytest.StashKey["SitlHarness"]()
_FAILED = pytest.StashKey[bool]()
_RECORD = ("on-failure", "always", "never")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("pico-gz", "simulated rovers (pico-gz)")
    group.addoption(
        "--sim",
        type=_adapter,
        metavar="auto|lightweight|gazebo|mujoco",
        help="simulator of every fleet; default: as its fleet file says, lightweight for auto",
    )
    group.addoption(
        "--sim-speed",
        type=_speed,
        default="max",
        metavar="X|max",
        help="simulated seconds per second (default: max)",
    )
    group.addoption(
        "--sim-seed", type=_seed, metavar="N", help="start of all random numbers of every fleet"
    )
    group.addoption(
        "--sim-record",
        choices=_RECORD,
        default="on-failure",
        help="when to keep recordings of the runs (default: on-failure)",
    )
    group.addoption(
        "--sim-record-dir",
        default="sim-runs",
        metavar="DIR",
        help="where recordings are kept (default: sim-runs)",
    )
    group.addoption(
        "--ardurover",
        default="",
        metavar="RELEASE,...",
        help="run tests of real ArduRovers on each of these releases, such as 4.6,4.7"
        " (default: on each program that PICO_GZ_ARDUROVER names)",
    )


def _adapter(text: str) -> str:
    from pico_gz.adapters.registry import adapter_names
    from pico_gz.errors import did_you_mean

    known = ["auto", *adapter_names()]
    if text not in known:
        raise argparse.ArgumentTypeError(
            f"there is no simulator {text!r}. {did_you_mean(text, known)}"
        )
    return text


def _speed(text: str) -> float | None:
    """Simulated seconds per second; ``None``: as fast as it goes."""
    if text == "max":
        return None
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if not 0.0 < factor < math.inf:
        raise argparse.ArgumentTypeError(f"it takes a number above 0 or 'max', not {text!r}")
    return factor


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"it takes a whole number from 0 on, not {text!r}")
    return int(text)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers", "sitl(**keywords): the fleet of the fixture 'rover', as for the fixture 'sitl'"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests of real ArduRovers once on each release that is asked for."""
    if "ardurover_release" not in metafunc.fixturenames:
        return
    from pico_gz.errors import MissingProgramError
    from pico_gz.vehicle.external.releases import chosen_programs

    asked = str(metafunc.config.getoption("--ardurover"))
    try:
        programs = chosen_programs([text.strip() for text in asked.split(",") if text.strip()])
    except MissingProgramError as error:
        raise pytest.UsageError(f"--ardurover {asked}: {error.message} {error.hint}") from error
    if asked or len(programs) > 1:
        names = [program.release or program.path.name for program in programs]
        metafunc.parametrize("ardurover_release", programs, ids=names, indirect=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Report how to look at a failure and how to repeat it."""
    report = yield
    harness = item.stash.get(_HARNESS, None)
    if harness is None:
        return report
    item.stash[_FAILED] |= report.failed
    if report.when == "teardown":  # whatever else the test uses has ended or failed to
        harness.settle(failed=item.stash[_FAILED])
    if report.failed and harness.sitls:
        lines = [*_hints(call), *harness.notes(), f"repeat: {_repeat_command(item, harness)}"]
        report.sections.append(("pico-gz", "\n".join(lines)))
    return report


def _hints(call: pytest.CallInfo[None]) -> list[str]:
    """What an error of the kit proposes; its message alone is shown by pytest."""
    hint = getattr(call.excinfo.value, "hint", "") if call.excinfo else ""
    return [f"hint: {hint}"] if hint else []


def _repeat_command(item: pytest.Item, harness: SitlHarness) -> str:
    _, _, inner = item.nodeid.partition("::")
    path = os.path.relpath(item.path, item.config.invocation_params.dir)
    words = ["pytest", f"{path}::{inner}" if inner else path]
    seeds = {sitl.seed for sitl in harness.sitls}
    if len(seeds) == 1:
        words += ["--sim-seed", str(seeds.pop())]
    if harness.options.adapter:
        words += ["--sim", harness.options.adapter]
    if harness.options.speed is not None:
        words += ["--sim-speed", f"{harness.options.speed:g}"]
    return shlex.join([*words, "--sim-record", "always"])


@pytest.fixture(scope="session")
def _sim_options(request: pytest.FixtureRequest) -> SimOptions:
    from pico_gz.testing.harness import SimOptions

    option = request.config.getoption
    return SimOptions(
        adapter=option("--sim"),
        speed=option("--sim-speed"),
        seed=option("--sim-seed"),
        record=option("--sim-record"),
        keep_dir=Path(option("--sim-record-dir")),
    )


@pytest.fixture
def ports() -> Iterator[PortLeases]:
    """Ports that no other test, worker or process of this machine gets: ``ports.take(3)``."""
    from pico_gz.testing.port_lease import PortLeases

    with PortLeases() as leases:
        yield leases


@pytest.fixture
def _sitl_harness(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    ports: PortLeases,
    _sim_options: SimOptions,
) -> Iterator[SitlHarness]:
    from pico_gz.testing.harness import SitlHarness

    harness = SitlHarness(
        _sim_options,
        scratch=tmp_path,
        # pytest may remove the other one before it is known whether the test fails.
        record_dir=tmp_path_factory.mktemp("sim-recordings"),
        test_id=request.node.nodeid,
        leases=ports,
    )
    request.node.stash[_HARNESS] = harness
    request.node.stash[_FAILED] = False
    yield harness
    harness.close()


@pytest.fixture
def fleet_file(_sitl_harness: SitlHarness) -> Callable[..., Path]:
    """Write a fleet file from keywords: ``fleet_file(rovers=2, rover={"noise": "off"})``."""
    return _sitl_harness.write_fleet


@pytest.fixture
def sitl(_sitl_harness: SitlHarness) -> Callable[..., Sitl]:
    """Start a fleet from a file or from keywords: ``sitl("fleet.toml")``, ``sitl(rovers=3)``."""
    return _sitl_harness.open


@pytest.fixture
def rover(request: pytest.FixtureRequest, sitl: Callable[..., Sitl]) -> RoverHandle:
    """One rover; ``@pytest.mark.sitl(...)`` describes its fleet, of which it is the first."""
    marker = request.node.get_closest_marker("sitl")
    arguments: tuple[Any, ...] = marker.args if marker else ()
    keywords: dict[str, Any] = dict(marker.kwargs) if marker else {}
    return sitl(*arguments, **keywords).rovers[0]


@pytest.fixture
def ardurover_release(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The release of ArduRover that this test uses, such as ``4.6.3``; it sees no other.

    The test runs once on each release of ``--ardurover``, or of PICO_GZ_ARDUROVER, and is
    skipped where there is none.
    """
    from pico_gz.vehicle.external.releases import PROGRAM_VARIABLE, ArduRoverProgram, named_programs

    named = named_programs()
    program: ArduRoverProgram | None = getattr(request, "param", named[0] if named else None)
    if program is None:
        pytest.skip(f"no ArduRover: set {PROGRAM_VARIABLE} or put ardurover on the PATH")
    monkeypatch.setenv(PROGRAM_VARIABLE, str(program.path))
    return program.release


@pytest.fixture
def ardurover(_sitl_harness: SitlHarness, ardurover_release: str) -> ArduRovers:
    """Start a real ArduRover for every external vehicle: ``ardurover(sitl(...))``."""
    from pico_gz.testing.ardurover import ArduRovers, find_ardurover

    return ArduRovers(_sitl_harness, find_ardurover())
