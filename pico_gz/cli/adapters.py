"""``pico-gz adapters``: which simulators there are, and which can be used here."""

from __future__ import annotations

from typing import Annotated

import typer

from pico_gz.adapters.registry import describe_adapters
from pico_gz.cli.exits import print_json
from pico_gz.cli.table import print_table


def adapters(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Show every registered simulator, whether it is usable here, and why not.

    Example:
      pico-gz adapters
      pico-gz adapters --json
    """
    infos = describe_adapters()
    if as_json:
        print_json(
            {
                "adapters": [
                    {
                        "name": info.name,
                        "origin": info.origin,
                        "usable": info.usable,
                        "reason": info.reason,
                    }
                    for info in infos
                ]
            }
        )
        return
    rows = [(info.name, info.origin, "yes" if info.usable else "no", info.reason) for info in infos]
    print_table(("name", "from", "usable", "why not, or what to know"), rows)
