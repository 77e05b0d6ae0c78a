"""Finds mistakes in SDF worlds and models.

A file is read into a ``document``; the ``rules_*`` and ``sdformat`` run on it. Each rule names a
trap, why it is one and what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pico_gz.gazebo.lint import rules_cost, rules_plugin, rules_rover, rules_world, sdformat
from pico_gz.gazebo.lint.document import Finding, Rule, Severity, Trap, open_scene
from pico_gz.gazebo.sdf import MAX_BYTES, SdfError, parse_sdf

__all__ = ["Finding", "Severity", "lint_file", "lint_text"]

NOT_READABLE = Trap(
    name="not-readable",
    severity=Severity.ERROR,
    why="This is no plain XML: programs disagree about such files, and some never finish reading"
    " them. Gazebo may load it all the same, but nothing in it was checked.",
    fix="Correct the place; SDF needs no document type and no entities.",
)
NO_SDF = Trap(
    name="no-sdf",
    severity=Severity.ERROR,
    why="Gazebo loads files whose outermost element is <sdf>, with a version.",
    fix='<sdf version="1.9"> around the world or model.',
)

RULES: tuple[Rule, ...] = (
    *rules_plugin.RULES,
    *rules_rover.RULES,
    *rules_world.RULES,
    *rules_cost.RULES,
)


def lint_file(
    path: Path, *, environ: Mapping[str, str] | None = None, in_container: bool = False
) -> list[Finding]:
    """All findings about a file, by line.

    Args:
        path: a world or model.
        environ: default: the environment of this process; says where models lie.
        in_container: the world will run in a container.

    Raises:
        OSError: it cannot be read.
    """
    if path.stat().st_size > MAX_BYTES:
        return [NOT_READABLE.at(1, f"The file is larger than {MAX_BYTES // 1_000_000} MB.")]
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        return [NOT_READABLE.at(1, f"This is no UTF-8 text: {error.reason}.")]
    findings = lint_text(text, path, environ=environ, in_container=in_container)
    if any(finding.rule in (NOT_READABLE.name, NO_SDF.name) for finding in findings):
        return findings
    known = {(finding.line, finding.rule) for finding in findings}
    asked = sdformat.check_strictly(text, parse_sdf(text))
    more = [finding for finding in asked if (finding.line, finding.rule) not in known]
    return sorted([*findings, *more], key=_order)


def lint_text(
    text: str,
    path: Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    in_container: bool = False,
) -> list[Finding]:
    """All findings about a text, by line; ``path`` is where to look for included models."""
    try:
        scene = open_scene(text, path, environ=environ, in_container=in_container)
    except SdfError as error:
        return [NOT_READABLE.at(error.line, f"{error.message[0].upper()}{error.message[1:]}.")]
    if scene.root.tag != "sdf":
        return [NO_SDF.at(scene.root.line, f"The outermost element is <{scene.root.tag}>.")]
    if "version" not in scene.root.attributes:
        return [NO_SDF.at(scene.root.line, "<sdf> has no version.")]
    found = [finding for rule in RULES for finding in rule(scene)]
    return sorted([*found, *sdformat.check_own(text)], key=_order)


def _order(finding: Finding) -> tuple[int, int, str]:
    rank = list(Severity).index(finding.severity)
    return finding.line, rank, finding.rule
