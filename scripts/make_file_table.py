#!/usr/bin/env python3
"""Write the table of rooms and files into docs/architecture.md, from the modules' first lines.

A file's first line names its one idea in at most twelve words; tests compare both.
"""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- files: begin -->\n", "<!-- files: end -->"
ROOMS = [
    "core",
    "simulator",
    "wire",
    "adapters",
    "bridge",
    "vehicle",
    "mavlink",
    "gazebo",
    "run",
    "view",
    "testing",
    "cli",
]


def idea_of(path: Path) -> str:
    """The first line of a module's docstring."""
    return (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0]


def file_table() -> str:
    """Every room with its files, in the order of the data."""
    lines = []
    for room in ROOMS:
        folder = ROOT / "pico_gz" / room
        lines += [
            f"### `{room}`: {idea_of(folder / '__init__.py')}",
            "",
            "| File | Idea |",
            "|---|---|",
        ]
        for path in sorted(folder.rglob("*.py")):
            if path != folder / "__init__.py":
                lines.append(f"| `{path.relative_to(folder)}` | {idea_of(path)} |")
        lines.append("")
    return "\n".join(lines)


def page_with_table(page: str) -> str:
    """The page with the present table in its place."""
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + file_table() + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page_with_table(PAGE.read_text()))
