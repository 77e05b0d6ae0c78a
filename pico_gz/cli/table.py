"""Plain text tables that stay readable in a pipe."""

from __future__ import annotations

from collections.abc import Sequence


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print columns, each as wide as its widest cell; numbers to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    numeric = [
        bool(rows) and all(isinstance(row[index], int) for row in rows)
        for index in range(len(header))
    ]
    for line in [list(header), ["-" * width for width in widths], *cells]:
        padded = (
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, numeric, strict=True)
        )
        print("  ".join(padded).rstrip())
