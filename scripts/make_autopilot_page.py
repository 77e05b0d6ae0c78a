#!/usr/bin/env python3
"""Write the tables of docs/builtin-autopilot.md from the autopilot's own tables.

A test compares the page with the code, so the page cannot go stale.
"""

import ast
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from unittest.mock import MagicMock

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from pico_gz.core.ground_control import Mode  # noqa: E402
from pico_gz.mavlink import commands, files, missions, params, setpoints, streams  # noqa: E402
from pico_gz.mavlink.codec import mav  # noqa: E402
from pico_gz.vehicle.autopilot import (  # noqa: E402
    mission,
    modes_auto,  # noqa: F401 (defines modes)
    modes_places,  # noqa: F401 (defines modes)
    parameter_table,
)
from pico_gz.vehicle.autopilot.failsafe import Action  # noqa: E402
from pico_gz.vehicle.autopilot.modes_commanded import RoverMode  # noqa: E402

PAGE = ROOT / "docs" / "builtin-autopilot.md"
BEGIN, END = "<!-- tables: begin -->\n", "<!-- tables: end -->"
NUMBERED = str.maketrans("0123456789", "#" * 10)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(str(cell) for cell in row) + " |" for row in lines] + [""]


def summary(kind: type) -> str:
    """The first line of a class's docstring, from its source: compiled classes have none."""
    source = ROOT.joinpath(*kind.__module__.split(".")).with_suffix(".py").read_text()
    classes = (node for node in ast.parse(source).body if isinstance(node, ast.ClassDef))
    doc = next(ast.get_docstring(node) for node in classes if node.name == kind.__name__)
    return (doc or "").partition("\n")[0].rstrip(".")


def modes() -> list[str]:
    """Every mode with its number, what it does, and what it needs."""
    known = {mode.number: mode for mode in RoverMode.__subclasses__()}
    assert set(known) == set(Mode)
    return table(
        ["Number", "Mode", "What it does", "Needs a position", "May be armed in it"],
        (
            [
                int(mode.number),
                mode.number.name,
                summary(mode),
                "yes" if mode.needs_position else "no",
                "yes" if mode.arms else "no",
            ]
            for _, mode in sorted(known.items())
        ),
    )


def command_names(numbers: Iterable[int]) -> str:
    """MAV_CMD names, in order of their numbers."""
    names = [mav.enums["MAV_CMD"][number].name for number in sorted(numbers)]
    return ", ".join(f"`{name.removeprefix('MAV_CMD_')}`" for name in names)


def message_names(ids: Iterable[int]) -> str:
    """Message names, in order of their numbers."""
    return ", ".join(f"`{mav.mavlink_map[i].msgname}`" for i in sorted(ids))


def items() -> list[str]:
    """Mission, fence and rally items."""
    kinds = {
        "Mission": mission._MISSION_COMMANDS,
        "Mission: accepted, reported and skipped": mission.SKIPPED_COMMANDS,
        "Fence": mission._FENCE_COMMANDS,
        "Rally": [mission.MissionCommand.RALLY_POINT],
    }
    return table(["List", "Items"], ([kind, command_names(c)] for kind, c in kinds.items()))


def messages() -> list[str]:
    """What it sends, by stream, and what it understands."""
    sent = [
        [f"`{parameter}`", message_names(ids) or "none"]
        for parameter, ids in streams.GROUPS.values()
    ]
    sent.append(["only on request", message_names(streams.ON_REQUEST)])
    endpoint = MagicMock()
    services = [
        commands.CommandService,
        missions.MissionService,
        params.ParamService,
        files.FileService,
        setpoints.SetpointService,
    ]
    heard = {mav.MAVLINK_MSG_ID_HEARTBEAT}
    for service in services:
        heard |= set(service(endpoint).handlers())
    return [
        *table(["Rate parameter", "Messages"], sent),
        f"It understands {message_names(heard)}.",
        "",
    ]


def parameters() -> list[str]:
    """Every parameter with its default and range; numbered families in one row."""
    lines = []
    for title, rows in parameter_table.GROUPS.items():
        families: dict[tuple[object, ...], list[str]] = {}
        for name, kind, low, high, default in rows:
            key = (name.translate(NUMBERED), kind, low, high, default)
            families.setdefault(key, []).append(name)
        lines += [f"#### {title}", ""]
        lines += table(
            ["Parameter", "Default", "Range"],
            (
                [
                    f"`{names[0]}`" + (f" ... `{names[-1]}`" if len(names) > 1 else ""),
                    f"{default:g}",
                    "read only"
                    if names[0] in parameter_table.READ_ONLY
                    else f"{low:g} .. {high:g}",
                ]
                for (_, _, low, high, default), names in families.items()
            ),
        )
    return lines


def tables() -> str:
    """All tables of the page."""
    table_of_commands = commands.CommandService(MagicMock())._table
    actions = ", ".join(f"{action.value} = {action.name}" for action in Action)
    return "\n".join(
        [
            "## Modes\n",
            *modes(),
            "## Commands\n",
            "As COMMAND_LONG or COMMAND_INT; any other is answered with UNSUPPORTED.\n",
            command_names(table_of_commands) + ".\n",
            "## Mission, fence and rally items\n",
            *items(),
            "## Messages\n",
            "Rates are per second of simulation time at any speed of the run, as ArduPilot's are. "
            "Only a link on which nobody has spoken yet is held to four times the rate per second "
            "of wall time. Heartbeats come once per second of wall time.\n",
            *messages(),
            "## Failsafe actions\n",
            f"{actions}. `FS_ACTION`, `FENCE_ACTION` and `BATT_FS_*_ACT` take those of their range "
            "below. A mode that refuses "
            "falls back to the next one of its name, last to HOLD.\n",
            f"## Parameters ({len(parameter_table.PARAMETERS)})\n",
            *parameters(),
        ]
    )


def page_with_tables(page: str) -> str:
    """The page with the present tables in their place."""
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + tables() + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page_with_tables(PAGE.read_text()))
