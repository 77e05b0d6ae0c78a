"""What the pytest fixtures of one test share."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import shutil
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pico_gz.run.config import load_fleet
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.config.fleet_text import fleet_toml
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.options import RunOptions
from pico_gz.testing.port_lease import PortLeases
from pico_gz.testing.sitl import Sitl

log = logging.getLogger(__name__)

LIGHTWEIGHT = "lightweight"
_IN_PROCESS = (LIGHTWEIGHT, "mujoco")
AUTO = "auto"
_LONGEST_NAME = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class SimOptions:
    """The ``--sim...`` options of a test run.

    Attributes:
        adapter: ``--sim``; ``None`` = as the fleet file says, and Lightweight for ``auto``.
        speed: simulated seconds per second; ``None`` = as fast as possible.
        seed: of every fleet; ``None`` = as the test says.
        record: ``on-failure``, ``always`` or ``never``.
        keep_dir: where recordings are kept.
    """

    adapter: str | None = None
    speed: float | None = None
    seed: int | None = None
    record: str = "on-failure"
    keep_dir: Path = Path("sim-runs")


class SitlHarness:
    """Makes fleets for one test and closes all of them.

    Attributes:
        options: of the whole test run.
        scratch: folder of this test alone.
        record_dir: folder for its recordings alone, until ``settle``.
        kept: where recordings of this test go if they are kept.
    """

    def __init__(
        self,
        options: SimOptions,
        *,
        scratch: Path,
        record_dir: Path,
        test_id: str,
        leases: PortLeases,
    ) -> None:
        self.options = options
        self.scratch = scratch
        self.record_dir = record_dir
        self.kept = options.keep_dir / _file_name(test_id)
        self.leases = leases
        self.sitls: list[Sitl] = []
        self._closing = contextlib.ExitStack()
        self._settled = False
        self._files = 0

    def write_fleet(self, **tables: Any) -> Path:
        """A new fleet file, from keywords (see ``fleet_toml``)."""
        self._files += 1
        name = "fleet.toml" if self._files == 1 else f"fleet_{self._files}.toml"
        path = self.scratch / name
        path.write_text(fleet_toml(**tables))
        return path

    def open(
        self,
        fleet: str | Path | FleetConfig | None = None,
        *,
        mavlink: bool = False,
        rc: str = "none",
        demo: bool = False,
        contacts: bool = True,
        **tables: Any,
    ) -> Sitl:
        """Start a fleet; it is closed at the end of the test.

        Args:
            fleet: a fleet file or a fleet; ``None`` = from the keywords, one rover by default.
            mavlink: whether ground stations can connect, on leased ports.
            rc: where radio control comes from.
            demo: rovers without a mission drive a square of their own.
            contacts: whether rovers and obstacles block each other.
            **tables: see ``fleet_toml``.
        """
        if fleet is None:
            fleet = self.write_fleet(**{"rovers": 1, **tables})
        elif tables:
            raise TypeError("Give a fleet, or keywords, not both.")
        if not isinstance(fleet, FleetConfig):
            overrides = FleetOverrides(adapter=self.options.adapter, contacts=contacts)
            fleet = load_fleet(fleet, overrides)
        config = self._settle(fleet)
        options = RunOptions(
            run_folder=self.scratch / "runs",
            record_dir=None if self.options.record == "never" else self.record_dir,
            mavlink=mavlink,
            control=False,
            check_ports=False,
            rc=rc,
            demo=demo,
            contacts=contacts,
        )
        sitl = self._closing.enter_context(Sitl(self._with_ports(config, mavlink), options))
        self.sitls.append(sitl)
        return sitl

    def on_close(self, callback: Any) -> None:
        """Call this before anything that was opened earlier is closed."""
        self._closing.callback(callback)

    def close(self) -> None:
        """End every fleet; harmless when called twice."""
        self._closing.close()

    def settle(self, *, failed: bool) -> None:
        """When all is over, keep the recordings if they are wanted, and remove them if not."""
        if not self._settled:
            self._settled = True
            if self.options.record == "always" or (failed and self.options.record != "never"):
                self._keep()
            shutil.rmtree(self.record_dir, ignore_errors=True)

    def notes(self) -> list[str]:
        """What to know about a failure, except how to repeat it."""
        seeds = sorted({sitl.seed for sitl in self.sitls})
        lines = ["seed: " + ", ".join(map(str, seeds))]
        driven = any(sitl.time_s > 0.0 for sitl in self.sitls)
        if driven and self.options.record != "never" and (not self._settled or self.kept.exists()):
            lines.append(f"recordings and plots: {self.kept}")
        return lines

    # --- fleets -----------------------------------------------------------------------------

    def _settle(self, fleet: FleetConfig) -> FleetConfig:
        """Let the options of the test run win, and ``auto`` mean Lightweight."""
        if self.options.adapter is None:
            undecided = [plan.id for plan in fleet.vehicles if plan.config.adapter == AUTO]
            fleet = fleet.with_adapters(dict.fromkeys(undecided, LIGHTWEIGHT))
        speed: Any = "max" if self.options.speed is None else self.options.speed
        seed = fleet.seed if self.options.seed is None else self.options.seed
        return dataclasses.replace(
            fleet, seed=seed, time=dataclasses.replace(fleet.time, speed=speed)
        )

    def _with_ports(self, fleet: FleetConfig, mavlink: bool) -> FleetConfig:
        """Move a fleet that opens sockets to ports that are its own."""
        inside = all(
            fleet.adapter_type(plan.config.adapter) in _IN_PROCESS and not plan.config.is_external
            for plan in fleet.vehicles
        )
        if inside and not mavlink:
            return fleet
        base = fleet.rules.offset
        offset = self.leases.offset_for(
            lambda offset: fleet.with_port_offset(base + offset).port_plan(dashboard=False)
        )
        return fleet.with_port_offset(base + offset)

    # --- what is left -----------------------------------------------------------------------

    def _keep(self) -> None:
        for number, sitl in enumerate(self.sitls, start=1):
            folder = sitl.recording
            if folder is None or not sitl.time_s:  # there is nothing in it
                continue
            target = self.kept if number == 1 else self.kept.with_name(f"{self.kept.name}-{number}")
            try:
                shutil.rmtree(target, ignore_errors=True)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(folder, target)
                _plot(target)
            except OSError as exc:
                log.warning("The recording cannot be kept in %s: %s", target, exc)


def _plot(folder: Path) -> None:
    from pico_gz.run.recording.plots import plot_run

    try:
        plot_run(folder)
    except Exception as exc:  # a picture is not worth hiding the failure itself
        log.warning("The recording %s cannot be drawn: %s", folder, exc)


def _file_name(test_id: str) -> str:
    """A folder name for a test, the same in every run of it."""
    words = test_id.replace(".py::", "-", 1)
    name = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in words)
    if name == words and len(name) <= _LONGEST_NAME:
        return name
    # Others may look the same now, as "a b" and "a_b".
    return f"{name[: _LONGEST_NAME - 9]}-{zlib.crc32(test_id.encode()):08x}"
