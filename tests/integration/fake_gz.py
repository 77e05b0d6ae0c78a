"""A program that behaves like ``gz``: reads a world file and is the plugin of every rover in it.

``FAKE_GZ`` says how it misbehaves: ``no_plugin``, ``no_bind``, ``crash``,
``no_engine`` (crashes for want of a render engine), ``mute`` (never answers),
``mute_once`` (only the first time), ``stubborn`` (ignores SIGTERM), ``child`` (has a child),
``window`` (as ``gz`` with a window: its child has a process group of its own and ignores SIGTERM,
and that child's has a session of its own), ``window_closed`` (the same, and ends by itself).
Everything it is told goes into ``FAKE_GZ_LOG``, a JSON line per start.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from pico_gz.testing.plugin_twin import PluginTwin


def main() -> int:
    how = os.environ.get("FAKE_GZ", "")
    if how == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    starts = note_start()
    world = Path(sys.argv[-1])
    if how == "crash":
        sys.stderr.write("\x1b[1;31m[Err] [Server.cc:1] it is broken\n\x1b[0m")
        return 139
    if how == "no_engine":
        sys.stderr.write(
            "[Err] [RenderEngineManager.cc:495] Failed to load plugin [ogre2] : couldn't find it.\n"
            "Segmentation fault (Address not mapped to object [(nil)])\n"
        )
        return 139
    text = world.read_text()
    ports = [int(port) for port in re.findall(r"<fdm_port_in>(\d+)<", text)]
    step_us = round(float(re.search(r"<max_step_size>([^<]+)<", text)[1]) * 1e6)
    if how == "no_plugin":
        sys.stderr.write(
            "[Err] [SystemLoader.cc:92] Failed to load system plugin [ArduPilotPlugin] : "
            "couldn't find shared library.\n"
        )
    if how == "no_bind":
        sys.stderr.write(
            "[Err] [ArduPilotPlugin.cc:1100] [rover_1] failed to bind with 127.0.0.1\n"
        )
    if how == "child":
        child = subprocess.Popen(["sleep", "1000"])
        note_children(child.pid)
    if how.startswith("window"):
        start_server_apart()
    if how == "window_closed":
        return 0
    sys.stderr.flush()
    if how in ("no_plugin", "no_bind", "mute") or (how == "mute_once" and starts == 1):
        time.sleep(1000)
    PluginTwin(ports, step_us=step_us).run()
    return 0


def note_start() -> int:
    """Write down how it was started; returns how often that was."""
    log = Path(os.environ["FAKE_GZ_LOG"])
    facts = {
        "pid": os.getpid(),
        "arguments": sys.argv[1:],
        "environment": {key: value for key, value in os.environ.items() if key.startswith("GZ_")},
        "home": os.environ.get("HOME"),
    }
    with log.open("a") as file:
        file.write(json.dumps(facts) + "\n")
    return len(log.read_text().splitlines())


def start_server_apart() -> None:
    """Fork as ``gz`` does; returns when the children are as they will stay."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.setpgid(0, 0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        server = os.getpid()
        if os.fork() == 0:
            os.setsid()
            note_children(server, os.getpid())
            os.write(writer, b"!")
        while True:
            time.sleep(1000)
    os.read(reader, 1)


def note_children(*pids: int) -> None:
    """Write down the children's numbers; whoever sees the file finds all of them in it."""
    note = Path(os.environ["FAKE_GZ_LOG"]).with_suffix(".children")
    draft = note.with_suffix(".draft")
    draft.write_text(" ".join(map(str, pids)))
    draft.replace(note)


if __name__ == "__main__":
    sys.exit(main())
