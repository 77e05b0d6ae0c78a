"""Parameter files: one ``NAME,VALUE`` per line, as Mission Planner and MAVProxy write them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from pico_gz.autopilot.parameter_table import PARAMETERS
from pico_gz.autopilot.parameters import allowed
from pico_gz.errors import ConfigError, did_you_mean

_SEPARATOR = re.compile(r"[,\s]+")


def read_parameter_file(path: Path, *, strict: bool = True) -> dict[str, float]:
    """Read a parameter file; ``#`` starts a comment.

    Args:
        path: the file.
        strict: raise on a name or value that cannot be; otherwise leave such lines out.

    Raises:
        ConfigError: it cannot be read, or (strict) a line makes no sense; names file and line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"Parameter file {path} cannot be read: {error}.") from error
    values: dict[str, float] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.partition("#")[0].strip()
        if not content:
            continue
        try:
            name, value = _parse_line(content)
        except ConfigError as error:
            if strict:
                raise ConfigError(
                    f"{path}, line {number}: {error.message}", hint=error.hint
                ) from None
            continue
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
    parts = _SEPARATOR.split(content)
    if len(parts) != 2:
        raise ConfigError(f"{content!r} is not NAME,VALUE.")
    name = parts[0].upper()
    spec = PARAMETERS.get(name)
    if spec is None:
        raise ConfigError(f"there is no parameter {name!r}.", hint=did_you_mean(name, PARAMETERS))
    try:
        value = float(parts[1])
    except ValueError:
        raise ConfigError(f"{parts[1]!r} is no number.") from None
    if not allowed(spec, value):
        raise ConfigError(
            f"{name} cannot be {parts[1]}.", hint=f"{spec.type.name}, {spec.low:g}..{spec.high:g}."
        )
    return name, value
