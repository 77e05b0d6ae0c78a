"""Writes generated files into a folder, without harming what people wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pico_gz.errors import ConfigError
from pico_gz.worldgen.stamp import Origin, origin_of

# Only there do files of rovers lie that are no longer in the fleet.
_MODEL_FILES = ("models/*/model.sdf", "models/*/model.config")


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderState:
    """How a folder differs from what would be generated; paths relative to it."""

    missing: tuple[str, ...] = ()
    different: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    left_over: tuple[str, ...] = ()

    @property
    def is_current(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.missing or self.different or self.edited or self.left_over)

    def lines(self) -> list[str]:
        """What differs, a line per file."""
        kinds = (
            ("missing", self.missing),
            ("out of date", self.different),
            ("edited by hand", self.edited),
            ("left over", self.left_over),
        )
        return [f"{path}: {what}" for what, paths in kinds for path in paths]


def compare_folder(folder: Path, files: Mapping[str, str]) -> FolderState:
    """Look at a folder; nothing is written.

    Args:
        folder: it need not exist.
        files: what would be generated: relative path -> text.
    """
    missing: list[str] = []
    different: list[str] = []
    edited: list[str] = []
    for name, text in sorted(files.items()):
        present = _read(_inside(folder, name))
        if present is None:
            missing.append(name)
        elif present != text:
            ours = origin_of(present) is Origin.GENERATED
            (different if ours else edited).append(name)
    return FolderState(
        missing=tuple(missing),
        different=tuple(different),
        edited=tuple(edited),
        left_over=tuple(_left_over(folder, files)),
    )


def write_folder(folder: Path, files: Mapping[str, str], *, force: bool = False) -> FolderState:
    """Bring a folder up to date; either all files are written or none.

    Returns:
        How it was before.

    Raises:
        ConfigError: a file was edited by hand, or is somebody else's, and ``force`` is off.
    """
    state = compare_folder(folder, files)
    if state.edited and not force:
        names = ", ".join(state.edited)
        raise ConfigError(
            f"Edited by hand, or not made by pico-gz: {names} in {folder}.",
            hint="--force overwrites; -o DIR writes elsewhere.",
        )
    for name in (*state.missing, *state.different, *state.edited):
        path = _inside(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[name], encoding="utf-8", newline="\n")
    for name in state.left_over:
        path = folder / name
        path.unlink()
        if not any(path.parent.iterdir()):
            path.parent.rmdir()
    return state


def _left_over(folder: Path, files: Mapping[str, str]) -> list[str]:
    """Untouched models of rovers that are no longer there."""
    found = (path for pattern in _MODEL_FILES for path in folder.glob(pattern))
    names = {path.relative_to(folder).as_posix(): path for path in found}
    return sorted(
        name
        for name, path in names.items()
        if name not in files and origin_of(_read(path) or "") is Origin.GENERATED
    )


def _inside(folder: Path, name: str) -> Path:
    """The place of a file, which must not lead out of the folder, not even by a link."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ConfigError(f"{name} would be written outside of {folder}.")
    return path


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
