"""How a world was made: what to type to make it again, and to drive it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from pico_gz.config import FleetConfig

# The switches that ``pico-gz run`` has too, and needs to find the same rovers.
_RUN_SWITCHES = ("--rovers", "--layout", "--autopilot", "--port-offset", "--allow-gcs-sysid")

Value = str | int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The command that made a world.

    Attributes:
        fleet_file: its name, without the folder; empty for the default fleet.
        switches: option -> value; True for one without a value, None or False for one not given.
    """

    fleet_file: str = ""
    switches: Mapping[str, Value] = field(default_factory=dict)

    @classmethod
    def of(cls, fleet: FleetConfig, switches: Mapping[str, Value] | None = None) -> Recipe:
        """The recipe for a fleet; without a file and switches its size is what matters."""
        name = fleet.source.name if fleet.source else ""
        if switches is None:
            switches = {} if name else {"--rovers": len(fleet.vehicles)}
        return cls(fleet_file=name, switches=switches)

    @property
    def world_command(self) -> str:
        """What makes it again, in the folder of the fleet file."""
        return shlex.join(["pico-gz", "world", *self._arguments(self.switches), "-o", "DIR"])

    def run_command(self, *, choose_gazebo: bool) -> str:
        """What drives it, in the folder of the fleet file."""
        switches = {name: self.switches.get(name) for name in _RUN_SWITCHES}
        adapter = ["--adapter", "gazebo"] if choose_gazebo else []
        return shlex.join(["pico-gz", "run", *self._arguments(switches), *adapter])

    @property
    def words(self) -> str:
        """The same for a comment, where two dashes cannot stand."""
        given = [
            name.lstrip("-") if value is True else f"{name.lstrip('-')}={value}"
            for name, value in self.switches.items()
            if value
        ]
        source = self.fleet_file or "the default fleet"
        return f"{source} with {', '.join(given)}" if given else source

    def _arguments(self, switches: Mapping[str, Value]) -> list[str]:
        words = [self.fleet_file] if self.fleet_file else []
        for name, value in switches.items():
            if value:
                words += [name] if value is True else [name, str(value)]
        return words
