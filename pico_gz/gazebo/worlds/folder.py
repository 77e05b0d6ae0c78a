"""Writes generated files and keeps edited ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pico_gz.errors import ConfigError
from pico_gz.gazebo.worlds.render import Origin, origin_of
from pico_gz.gazebo.worlds.scenery import MESH_NAME

# What an earlier world may have had and this one has not: rovers, and a mesh of the ground.
_PASSING_FILES = ("models/*/model.sdf", "models/*/model.config", MESH_NAME)


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderState:
    """How a folder differs from what would be generated; paths relative to it."""

    missing: tuple[str, ...] = ()
    different: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    left_over: tuple[str, ...] = ()
    edited_left_over: tuple[str, ...] = ()

    @property
    def is_current(self) -> bool:
        """Whether it is what would be generated."""
        return not self.lines()

    def lines(self) -> list[str]:
        """What differs, a line per file."""
        kinds = (
            ("missing", self.missing),
            ("out of date", self.different),
            ("edited by hand", self.edited),
            ("left over", self.left_over),
            ("left over, edited by hand", self.edited_left_over),
        )
        return [f"{path}: {what}" for what, paths in kinds for path in paths]


def compare_folder(folder: Path, files: Mapping[str, str]) -> FolderState:
    """Look at a folder; nothing is written.

    Args:
        folder: it need not exist.
        files: what would be generated: relative path -> text.
    """
    _require_folder(folder)
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
    left_over, edited_left_over = _left_over(folder, files)
    return FolderState(
        missing=tuple(missing),
        different=tuple(different),
        edited=tuple(edited),
        left_over=left_over,
        edited_left_over=edited_left_over,
    )


def write_folder(folder: Path, files: Mapping[str, str], *, force: bool = False) -> FolderState:
    """Bring a folder up to date; either all files are written or none.

    Left-overs that were edited by hand stay, and so does what lies beside them, unless ``force``.

    Returns:
        How it was before.

    Raises:
        ConfigError: a file was edited by hand, or was not generated, and ``force`` is off.
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
    for name in (*state.left_over, *(state.edited_left_over if force else ())):
        path = folder / name
        path.unlink()
        if not any(path.parent.iterdir()):
            path.parent.rmdir()
    return state


def _left_over(folder: Path, files: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Files of ours that are in the way no longer: untouched ones, and those people work on.

    A model is one thing: if one of its files was edited, neither is given up.
    """
    found = (path for pattern in _PASSING_FILES for path in folder.glob(pattern))
    origins = {
        path: origin_of(_read(path) or "")
        for path in sorted(found)
        if path.relative_to(folder).as_posix() not in files
    }
    touched = {path.parent for path, origin in origins.items() if origin is Origin.EDITED}
    names: dict[bool, list[str]] = {True: [], False: []}
    for path, origin in origins.items():
        if origin is not Origin.FOREIGN:
            names[path.parent in touched].append(path.relative_to(folder).as_posix())
    return tuple(names[False]), tuple(names[True])


def _require_folder(folder: Path) -> None:
    for path in (folder, *folder.parents):
        if path.exists() and not path.is_dir():
            raise ConfigError(f"{path} is no folder.", hint="-o takes a folder, new or not.")


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
