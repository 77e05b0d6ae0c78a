"""The parameters of one vehicle, their files and presets.

Servo functions are not among them: they follow the wiring of the platform.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, Final, NamedTuple

from pico_gz.core.ground_control import GcsParams, ParamInfo, ParamType, Result
from pico_gz.core.snapshot import Snapshot
from pico_gz.errors import ConfigError, did_you_mean
from pico_gz.vehicle.autopilot.fitted_parameters import FITTED_NAMES
from pico_gz.vehicle.autopilot.parameter_table import PARAMETERS, READ_ONLY, ParamSpec

logger = logging.getLogger(__name__)

_NAMES = tuple(PARAMETERS)
_INDEX = {name: index for index, name in enumerate(_NAMES)}

SIM_PREFIX = "SIM_"
# Ground stations send single precision: 0.4 comes as 0.4000000059604645.
_SINGLE_ROUNDING: Final = 6e-8


def allowed(spec: ParamSpec, value: float) -> bool:
    """Whether ``value`` is in range and of the right type (whole, unless it is a float)."""
    low = spec.low - _SINGLE_ROUNDING * abs(spec.low)
    high = spec.high + _SINGLE_ROUNDING * abs(spec.high)
    if not isfinite(value) or not low <= value <= high:
        return False
    return spec.type is ParamType.REAL32 or value == int(value)


def spec_text(spec: ParamSpec) -> str:
    """What a parameter may be, for people."""
    return f"It takes {_range_text(spec)}."


def _range_text(spec: ParamSpec) -> str:
    kind = "a number" if spec.type is ParamType.REAL32 else "a whole number"
    return f"{kind}, {spec.low:.10g}..{spec.high:.10g}"


class ParamStore(Snapshot, GcsParams):
    """Named numbers with a table of what they may be, kept in a file if there is one.

    ``base`` are the values of this vehicle before any change: defaults, preset, fleet file.

    Attributes:
        values: what counts now.
        on_change: called after a value changed, so that it counts at once.

    Args:
        overrides: what preset and fleet file set.
        file: where changes are kept; ``None`` keeps them nowhere.
        report: takes status texts with their severity.
    """

    _state_fields = ("_changed", "_dirty", "_sim_changed")

    def __init__(
        self,
        overrides: Mapping[str, float] | None = None,
        *,
        file: Path | None = None,
        report: Callable[[int, str], None] = lambda _severity, _text: None,
    ) -> None:
        self.base: dict[str, float] = {name: spec.default for name, spec in PARAMETERS.items()}
        for name, value in (overrides or {}).items():
            spec = PARAMETERS.get(name)
            if spec is None:
                raise ConfigError(
                    f"There is no parameter {name!r}.", hint=did_you_mean(name, PARAMETERS)
                )
            if not allowed(spec, value):
                raise ConfigError(
                    f"Parameter {name} cannot be {value}.",
                    hint=spec_text(spec),
                )
            self.base[name] = float(value)
        self.values: dict[str, float] = dict(self.base)
        self._changed: dict[str, None] = {}
        # What a parameter file sets is a change to the simulator, which has defaults of its own.
        self._sim_changed = {n: None for n in overrides or {} if n.startswith(SIM_PREFIX)}
        self.on_change: Callable[[], None] = lambda: None
        self._file = file
        self._report = report
        self._save_failed = False
        if file is not None and file.exists():
            for name, value in read_parameter_file(file, strict=False).items():
                self._try_set(name, value)
            self._changed.clear()
        self._dirty = False

    # --- the ground station's side --------------------------------------------------------

    def count(self) -> int:
        return len(_NAMES)

    def by_name(self, name: str) -> ParamInfo | None:
        index = _INDEX.get(name)
        return None if index is None else self._info(index)

    def by_index(self, index: int) -> ParamInfo | None:
        return self._info(index) if 0 <= index < len(_NAMES) else None

    def set(self, name: str, value: float) -> ParamInfo | None:
        if name in PARAMETERS and not self._try_set(name, value):
            reason = "is read-only" if name in READ_ONLY else "out of range"
            self._report(4, f"{name} refused: {reason}")
        return self.by_name(name)

    def drain_changes(self) -> list[ParamInfo]:
        self.flush()
        if not self._changed:
            return []
        names, self._changed = self._changed, {}
        return [self._info(_INDEX[name]) for name in names]

    def reset(self) -> Result:
        for name, value in self.base.items():
            if self.values[name] != value:
                self.values[name] = value
                self._note_set(name)
                self._dirty = True
        self.on_change()
        self._report(5, "Parameters reset to defaults")
        return Result.ACCEPTED

    def flush(self) -> Result:
        if self._file is None or not self._dirty:
            return Result.ACCEPTED
        changed = {name: v for name, v in self.values.items() if v != self.base[name]}
        try:
            write_parameter_file(self._file, changed)
        except OSError as error:
            if not self._save_failed:
                logger.warning("Parameters cannot be saved to %s: %s", self._file, error)
                self._report(3, "Parameters could not be saved")
            self._save_failed = True
            return Result.FAILED
        self._dirty = self._save_failed = False
        return Result.ACCEPTED

    # --- the vehicle's side ---------------------------------------------------------------

    def _try_set(self, name: str, value: float) -> bool:
        """Change one; refused are values out of range or of the wrong type, and read-only ones."""
        if not allowed(PARAMETERS[name], value):
            return False
        if name in READ_ONLY and value != self.values[name]:
            return False
        # What was set is reported even if it did not change: the sender waits for the echo.
        self._note_set(name)
        if self.values[name] != value:
            self.values[name] = float(value)
            self._dirty = True
            self.on_change()
        return True

    def _note_set(self, name: str) -> None:
        self._changed[name] = None
        if name.startswith(SIM_PREFIX):
            self._sim_changed[name] = None

    def note(self, name: str, value: float) -> None:
        """Change one that only reports (MIS_TOTAL): sent to the ground, not kept in a file."""
        if self.values[name] != value:
            self.values[name] = self.base[name] = float(value)
            self._changed[name] = None
            self.on_change()

    def drain_sim_changes(self) -> dict[str, float]:
        """Take the ``SIM_*`` parameters set since the last call: they belong to the simulator."""
        if not self._sim_changed:
            return {}
        names, self._sim_changed = self._sim_changed, {}
        return {name: self.values[name] for name in names}

    def save_state(self) -> dict[str, Any]:
        return {**super().save_state(), "values": dict(self.values), "base": dict(self.base)}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from what ``save_state`` gave; parameters it does not name keep their value."""
        super().load_state(state)
        for name, value in state["values"].items():
            if name in self.values:  # changed in place: parts of the autopilot hold it
                self.values[name] = float(value)
                self.base[name] = float(state["base"][name])
        self.on_change()

    def _info(self, index: int) -> ParamInfo:
        name = _NAMES[index]
        return ParamInfo(name, self.values[name], PARAMETERS[name].type, index)


_SEPARATOR = re.compile(r"[,=\s]+")
_HEX = re.compile(r"-?0[xX]")
_READ_ONLY_MARK = "@READONLY"  # of ArduPilot's defaults files


class ParameterFile(NamedTuple):
    """What a parameter file holds for the built-in autopilot.

    Attributes:
        values: of the parameters that it has.
        unknown: names that it does not have, such as most of an ArduRover's, or that report
            what is fitted to that vehicle.
        out_of_range: values that it does not take, each with its line and the range.
        read_only: names whose value it sets itself.
        problems: lines that make no sense, each with its number.
    """

    values: dict[str, float]
    unknown: tuple[str, ...]
    out_of_range: tuple[str, ...]
    read_only: tuple[str, ...]
    problems: tuple[str, ...]


def scan_parameter_file(path: Path) -> ParameterFile:
    """Read a parameter file as ArduPilot's tools and QGroundControl write it.

    ArduPilot has wider ranges for some parameters. A value out of range is left out, not
    clamped: the nearest value of a mode or of a set of bits means something else.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"Parameter file {path} cannot be read: {error}.") from error
    values: dict[str, float] = {}
    unknown: dict[str, None] = {}
    out_of_range: dict[str, str] = {}
    read_only: dict[str, None] = {}
    problems: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.partition("#")[0].strip()
        if not content:
            continue
        try:
            name, value = _parse_line(content)
        except ConfigError as error:
            problems.append(f"line {number}: {error.message}")
            continue
        spec = PARAMETERS.get(name)
        if spec is None or name in FITTED_NAMES:
            unknown[name] = None
            continue
        if name in READ_ONLY:
            read_only[name] = None
        values.pop(name, None)  # the last line of a name counts
        out_of_range.pop(name, None)
        if allowed(spec, value):
            values[name] = value
        else:
            out_of_range[name] = f"line {number}: {name} {value:.10g} ({_range_text(spec)})"
    return ParameterFile(
        values, tuple(unknown), tuple(out_of_range.values()), tuple(read_only), tuple(problems)
    )


def read_parameter_file(path: Path, *, strict: bool = True) -> dict[str, float]:
    """The values of a parameter file that the built-in autopilot takes; others are left out.

    Args:
        path: the file.
        strict: raise on a line that makes no sense; otherwise leave such lines out.

    Raises:
        ConfigError: it cannot be read, or (strict) a line makes no sense; names file and line.
    """
    found = scan_parameter_file(path)
    if strict and found.problems:
        raise ConfigError(f"{path}, " + " ".join(found.problems))
    return found.values


def read_any_parameters(path: Path) -> dict[str, float]:
    """Every value of a parameter file, for an autopilot with other names than the built-in one.

    Raises:
        ConfigError: it cannot be read, or a line makes no sense; names file and line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"Parameter file {path} cannot be read: {error}.") from error
    values: dict[str, float] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.partition("#")[0].strip()
        if content:
            try:
                name, value = _parse_line(content)
            except ConfigError as error:
                raise ConfigError(f"{path}, line {number}: {error.message}") from error
            values[name] = value
    return values


def write_parameter_file(path: Path, values: Mapping[str, float]) -> None:
    """Replace a parameter file in one move: a kill leaves the old one or the new one, whole.

    Raises:
        OSError: the disk is full or the folder cannot be written; the old file is untouched.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"{name},{value!r}\n" for name, value in sorted(values.items()))
    # The process id keeps two runs that share a file from writing into one temporary.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _parse_line(content: str) -> tuple[str, float]:
    parts = [part for part in _SEPARATOR.split(content) if part]
    if len(parts) == 5 and parts[0].isdigit() and parts[1].isdigit():
        parts = parts[2:4]  # QGroundControl: system, component, name, value, type
    if len(parts) == 3 and parts[2].upper() == _READ_ONLY_MARK:
        del parts[2]
    if len(parts) == 1 and parts[0].upper() not in PARAMETERS:
        return parts[0].upper(), 0.0  # ArduPilot ignores such a line
    if len(parts) != 2:
        raise ConfigError(f"{content!r} is not NAME,VALUE.")
    name, text = parts[0].upper(), parts[1]
    try:
        value = float.fromhex(text) if _HEX.match(text) else float(text)
    except ValueError:
        raise ConfigError(f"{text!r} is no number.") from None
    if name in PARAMETERS and not isfinite(value):
        raise ConfigError(f"{name} cannot be {text}.")
    return name, value


# A small rover: 1 m/s at full throttle, so 0.7 m/s takes 70 %.
_PICO_TRAIL = {
    "CRUISE_SPEED": 0.7,
    "CRUISE_THROTTLE": 70.0,
    "WP_SPEED": 0.7,
    "ATC_SPEED_P": 0.4,
    "ATC_SPEED_I": 0.4,
    "ATC_ACCEL_MAX": 0.8,
    "MOT_SLEWRATE": 300.0,
    "MOT_THR_MIN": 5.0,
    "BATT_MONITOR": 4.0,
    "BATT_CAPACITY": 2000.0,
}

_PRESETS: dict[str, dict[str, float]] = {
    # Track 0.15 m, chi 1.6: full differential steering turns at 2/0.24 = 8.3 rad/s.
    "pico_trail_freenove": {
        **_PICO_TRAIL,
        "ATC_STR_RAT_FF": 0.12,
        "ATC_STR_RAT_P": 0.05,
        "ATC_STR_RAT_I": 0.1,
        "ATC_STR_RAT_MAX": 100.0,
        "ATC_STR_ACC_MAX": 360.0,
        "TURN_RADIUS": 0.2,
        "WENC_RADIUS": 0.033,
    },
    "pico_trail_ackermann": {
        **_PICO_TRAIL,
        "ATC_STR_RAT_FF": 0.2,
        "ATC_STR_RAT_P": 0.1,
        "ATC_STR_RAT_I": 0.1,
        "ATC_STR_RAT_MAX": 120.0,
        "ATC_STR_ACC_MAX": 360.0,
        "TURN_RADIUS": 0.3,
        "WENC_RADIUS": 0.033,
    },
    "ardupilot_skid": {
        "CRUISE_SPEED": 3.0,
        "CRUISE_THROTTLE": 75.0,
        "WP_SPEED": 3.0,
        "WENC_RADIUS": 0.06,
        "ATC_STR_RAT_FF": 0.2,
        "ATC_ACCEL_MAX": 2.0,
    },
    "ardupilot_car": {
        "CRUISE_SPEED": 5.0,
        "CRUISE_THROTTLE": 30.0,
        "WP_SPEED": 5.0,
        "WENC_RADIUS": 0.1,
        "ATC_STR_RAT_FF": 0.2,
        "ATC_ACCEL_MAX": 2.0,
        "ATC_SPEED_I": 0.1,
        "TURN_RADIUS": 0.9,
    },
}
# No dead zone, and wheels that do not scrub: 2/0.15 = 13.3 rad/s.
_PRESETS["ideal"] = {
    **_PRESETS["pico_trail_freenove"],
    "MOT_THR_MIN": 0.0,
    "ATC_STR_RAT_FF": 0.075,
    "ATC_STR_RAT_P": 0.03,
}


def preset_params(preset_name: str) -> dict[str, float]:
    """Return the parameters of a rover description.

    Raises:
        ConfigError: there is no such description; the hint names the nearest.
    """
    found = _PRESETS.get(preset_name)
    if found is None:
        raise ConfigError(
            f"There are no parameters for a rover {preset_name!r}.",
            hint=did_you_mean(preset_name, _PRESETS),
        )
    return dict(found)
