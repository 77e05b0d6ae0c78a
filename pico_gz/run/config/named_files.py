"""Reads the files that a fleet names, and notes what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pico_gz.errors import ConfigError
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.config.problems import Findings, KeyPath
from pico_gz.run.config.settings import FleetFile, OriginSection, TerrainSection, VehicleSection

if TYPE_CHECKING:
    from pico_gz.vehicle.autopilot.mission_files import ItemLists
    from pico_gz.vehicle.autopilot.parameters import ParameterFile

_MAX_NAMES = 40


def takes_files(autopilot: str) -> bool:
    """Whether it may take a mission and parameters; one of one's own says so when it is made."""
    return autopilot != "none" and not autopilot.startswith("script:")


def check_readable(path: Path, key: KeyPath, written: str, findings: Findings) -> bool:
    """Whether a file that the fleet names is there and readable; notes it when not."""
    try:
        with path.open("rb"):
            return True
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
    findings.add(key, f"cannot be read: {reason}.", value=written)
    return False


class NamedFiles:
    """The missions and parameter files of a fleet's vehicles; each file is read once."""

    def __init__(
        self, file: FleetFile, base: Path, overrides: FleetOverrides, findings: Findings
    ) -> None:
        self._origin = file.origin
        self._base = base
        self._overrides = overrides
        self._findings = findings
        self._missions: dict[Path, ItemLists | None] = {}
        self._parameters: dict[Path, ParameterFile | None] = {}
        self._warned: set[Path] = set()

    def mission_of(
        self, label: str, table: VehicleSection, path: KeyPath, autopilot: str
    ) -> Path | None:
        """The mission file of a vehicle, checked for its autopilot; None when it has none."""
        common = self._overrides.mission
        if common is not None:
            if not takes_files(autopilot):
                message = f"{label} does not use it: {autopilot} takes none."
                self._findings.warn(("--mission",), message)
                return None
            self._check_mission(common, ("--mission",), str(common), autopilot)
            return common
        key = (*path, "mission")
        if table.mission is None or not self._is_taken(label, table.mission, key, autopilot):
            return None
        self._check_mission(self._base / table.mission, key, table.mission, autopilot)
        return self._base / table.mission

    def params_of(
        self, label: str, table: VehicleSection, path: KeyPath, autopilot: str
    ) -> Path | None:
        """The parameter file of a vehicle, checked for its autopilot; None when it has none."""
        key, written = (*path, "params"), table.params
        if written is None or not self._is_taken(label, written, key, autopilot):
            return None
        file = self._base / written
        if check_readable(file, key, written, self._findings) and autopilot == "builtin":
            self._check_params(file, key, written)
        return file

    def check_takers(self, autopilots: list[str]) -> None:
        """Note a ``--mission`` that no vehicle takes."""
        if self._overrides.mission and not any(map(takes_files, autopilots)):
            message = "no vehicle of this fleet takes a mission."
            hint = "Use the autopilot builtin, ardurover or external."
            self._findings.add(("--mission",), message, hint=hint)

    def _is_taken(self, label: str, written: str, key: KeyPath, autopilot: str) -> bool:
        """Whether the autopilot uses such a file; one that the file names must."""
        if takes_files(autopilot):
            return True
        if self._overrides.autopilot == "none":
            return False  # nothing is to drive
        if self._overrides.autopilot:
            message = f"{label} does not use it: {autopilot} takes none."
            self._findings.warn(key, message, value=written)
            return False
        message = f'is never used: autopilot = "{autopilot}" takes none.'
        hint = 'Leave it out, or use autopilot = "builtin", "ardurover" or "external".'
        self._findings.add(key, message, value=written, hint=hint)
        return False

    def _check_mission(self, file: Path, key: KeyPath, written: str, autopilot: str) -> None:
        if not check_readable(file, key, written, self._findings):
            return
        if file not in self._missions:
            self._missions[file] = self._read_mission(file, key, written)
        lists = self._missions[file]
        if lists is None:
            return
        from pico_gz.run.config.mission_check import lacks_a_goal

        if autopilot == "builtin":
            self._check_items(lists, key, written)
        if lacks_a_goal(lists):
            message = "holds nothing to drive to."
            self._findings.add(key, message, value=written, is_mission=True)
        self._check_distance(lists, key, written)

    def _read_mission(self, file: Path, key: KeyPath, written: str) -> ItemLists | None:
        from pico_gz.vehicle.autopilot.mission_files import read_item_lists

        try:
            lists = read_item_lists(file)
        except ConfigError as error:
            reason = error.message.removeprefix(f"Mission file {file}: ")
            self._findings.add(key, reason, value=written, hint=error.hint)
            return None
        return lists

    def _check_items(self, lists: ItemLists, key: KeyPath, written: str) -> None:
        from pico_gz.core.ground_control import MissionType
        from pico_gz.run.config.mission_check import require_items

        for kind in MissionType:
            try:
                require_items(kind, getattr(lists, kind.name.lower()), kind.name.lower())
            except ConfigError as error:
                self._findings.add(
                    key, error.message, value=written, hint=error.hint, is_mission=True
                )

    def _check_distance(self, lists: ItemLists, key: KeyPath, written: str) -> None:
        """A mission of every vehicle may be moved to each start; then its home counts."""
        from pico_gz.run.config.mission_check import MAX_DISTANCE_M, far_items

        origin, place = self._origin, "[origin]"
        if key == ("--mission",) and lists.mission and lists.mission[0].lat_e7:
            home = lists.mission[0]
            origin = OriginSection(lat_deg=home.lat_e7 * 1e-7, lon_deg=home.lon_e7 * 1e-7)
            place = "its home"
        far = far_items(lists.mission, origin.lat_deg, origin.lon_deg)
        if far:
            item, distance_m = far[0]
            message = (
                f"item {item.seq} lies {distance_m / 1000.0:.0f} km from {place}; allowed are"
                f" {MAX_DISTANCE_M / 1000.0:.0f} km."
            )
            hint = "Is [origin] where the mission was planned?" if place == "[origin]" else ""
            self._findings.add(key, message, value=written, hint=hint, is_mission=True)

    def _check_params(self, file: Path, key: KeyPath, written: str) -> None:
        from pico_gz.vehicle.autopilot.parameters import scan_parameter_file

        if file not in self._parameters:
            try:
                self._parameters[file] = scan_parameter_file(file)
            except ConfigError as error:
                self._parameters[file] = None
                self._findings.add(key, error.message, value=written)
        found = self._parameters[file]
        if found is None:
            return
        if found.problems:
            self._findings.add(key, " ".join(found.problems), value=written)
        if file in self._warned:
            return
        self._warned.add(file)
        for words, names in (
            ("does not have, and ignores", found.unknown),
            ("does not take these values, and keeps its own", found.out_of_range),
            ("sets these itself, and ignores the file's values", found.read_only),
        ):
            if names:
                listed, more = ", ".join(names[:_MAX_NAMES]), len(names) - _MAX_NAMES
                listed += f" and {more} more" if more > 0 else ""
                message = f"the built-in autopilot {words}: {listed}."
                self._findings.warn(key, message, value=written)


def check_heightmap(terrain: TerrainSection, base: Path, findings: Findings) -> None:
    """Read the heights; NumPy is imported for it."""
    key: KeyPath = ("terrain", "file")
    if terrain.file is None:
        findings.add(key, "a heightmap needs its file.")
        return
    file = base / terrain.file
    if not check_readable(file, key, terrain.file, findings):
        return
    from pico_gz.simulator.terrain import HeightmapTerrain

    try:
        HeightmapTerrain(HeightmapTerrain.read(file), 1.0)
    except ConfigError as error:
        reason = error.message.removeprefix(f"Heightmap {file}").lstrip(":, ")
        findings.add(key, reason, value=terrain.file, hint=error.hint)


def check_signing_key(file: Path, written: str, findings: Findings) -> None:
    """Read the key; no message holds it."""
    key: KeyPath = ("mavlink", "signing_key_file")
    if not check_readable(file, key, written, findings):
        return
    from pico_gz.mavlink.signing import load_key

    try:
        load_key(file)
    except ConfigError as error:
        findings.add(key, error.message, value=written, hint=error.hint)
