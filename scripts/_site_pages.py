"""Pages of the documentation site that are no files in docs/: a hook of mkdocs.

README, CONTRIBUTING, SECURITY and CHANGELOG live at the top of the repository, where hosts show
them; the examples live in examples/. Their links are rewritten to the pages of the site. The API
reference lists the public names of the packages, wherever their modules are.
"""

from __future__ import annotations

import importlib
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
# Where a file of the repository is on the site.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "examples/README.md": "examples.md",
    "examples/pytest_project/README.md": "examples/pytest_project.md",
}
LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(?=[)#])")
# What the page of the adapter contract describes, and what it names.
CONTRACT_PAGE = {"SimulatorAdapter", "check_adapter"}
CONTRACT_MESSAGES = (
    "SimulatorCapabilities",
    "SensorCapabilities",
    "VehicleConfig",
    "ActuatorCommands",
    "SensorData",
    "VehicleTruth",
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages; called by mkdocs before it reads any."""
    programs = _programs()
    places = PAGES | programs
    for source, page in PAGES.items():
        path = ROOT / source
        if path.exists():
            files.append(_page(config, page, _with_site_links(path.read_text(), source, places)))
    for name, page in programs.items():
        files.append(_page(config, page, _program(name)))
    files.append(_page(config, "api/pico_gz.md", _reference("pico_gz")))
    files.append(_page(config, "api/testing.md", _reference("pico_gz.testing")))
    files.append(_page(config, "api/adapter.md", _adapter_contract()))
    return files


def on_page_markdown(markdown: str, page: Any, config: MkDocsConfig, files: Files) -> str:
    """Rewrite links of pages in docs/ that lead out of that folder."""
    if page.file.generated_by:
        return markdown
    return _with_site_links(markdown, f"docs/{page.file.src_uri}", PAGES | _programs())


def _page(config: MkDocsConfig, uri: str, text: str) -> File:
    return File.generated(config, uri, content=text)


def _programs() -> dict[str, str]:
    """The programs of the examples, and the page of each."""
    found = [*(ROOT / "examples").rglob("*.py"), *(ROOT / "examples").rglob("*.c")]
    names = sorted(path.relative_to(ROOT).as_posix() for path in found)
    return {name: name.removesuffix(".py").replace(".c", "_c") + ".md" for name in names}


def _with_site_links(text: str, source: str, places: dict[str, str]) -> str:
    """Point links between files of the repository to the pages that they became."""
    here = posixpath.dirname(places.get(source, source.removeprefix("docs/")))

    def moved(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[1]))
        place = places.get(target)
        if place is None and target.startswith("docs/"):
            place = target.removeprefix("docs/")
        return match[1] if place is None else posixpath.relpath(place, here or ".")

    return LINK.sub(moved, text)


def _program(name: str) -> str:
    language = "python" if name.endswith(".py") else "c"
    text = (ROOT / name).read_text()
    return f"# {name.removeprefix('examples/')}\n\n```{language}\n{text}```\n"


def _reference(package: str) -> str:
    """Every public name of a package, classes before functions, but those of the contract."""
    module = importlib.import_module(package)
    names = {name for name in module.__all__ if not name.startswith("_")}
    elsewhere = sorted(names & CONTRACT_PAGE)
    first_line = (module.__doc__ or "").strip().splitlines()[0]
    link = ", ".join(f"[`{name}`](adapter.md#{_home(package, name)})" for name in elsewhere)
    parts = [f"# {package}", first_line, f"Described with the adapter contract: {link}."]
    order = sorted(names - CONTRACT_PAGE, key=lambda name: (name.islower(), name))
    parts += [_entry(package, name) for name in order]
    return "\n\n".join(parts) + "\n"


def _adapter_contract() -> str:
    text = "How to write an adapter, step by step: [Add an adapter](../add-an-adapter.md)."
    links = (f"[`{name}`](pico_gz.md#{_home('pico_gz', name)})" for name in CONTRACT_MESSAGES)
    what = f"What travels: {', '.join(links)}."
    adapter = _entry("pico_gz", "SimulatorAdapter", private_hooks=True)
    check = _entry("pico_gz.testing", "check_adapter")
    return "\n\n".join(["# The adapter contract", text, what, adapter, check]) + "\n"


def _home(package: str, name: str) -> str:
    """The full path of the object behind a public name."""
    value = getattr(importlib.import_module(package), name)
    if hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return f"{importlib.import_module(package)._EXPORTS[name]}.{name}"  # an alias of types


def _entry(package: str, name: str, *, private_hooks: bool = False) -> str:
    lines = [
        f"::: {_home(package, name)}",
        "    options:",
        f'      heading: "{package}.{name}"',
        f'      toc_label: "{name}"',
    ]
    if private_hooks:
        lines.append('      filters: ["!^__", "!^_lock", "!^_not_connected"]')
        lines.append("      show_if_no_docstring: true")
    return "\n".join(lines)
