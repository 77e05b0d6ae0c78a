"""Runs ``pico-gz`` commands and reports what they did to the world outside.

Usage: watched_command.py REPORT JOBS, where JOBS is a JSON list of command lines. The report is a
JSON list: for each its exit code, words, time [s] and events, which are (what, where).
Started by the attack tests, as a process of its own: an audit hook cannot be removed.
"""

import contextlib
import io
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

# What the commands import by themselves is imported before anything is watched and timed.
from pico_gz.cli import console, recordings  # noqa: F401
from pico_gz.cli.app import run_command
from pico_gz.view import app  # noqa: F401

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
SHOWN_S = 0.1  # how long a replay is watched
CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.link", "os.chmod")
SENDS = ("socket.bind", "socket.connect", "socket.sendto", "socket.sendmsg")
PROGRAMS = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "os.fork")
events = []


def place(name, folder=-1):
    if isinstance(name, int):
        return str(Path(f"/proc/self/fd/{name}").readlink())
    base = Path(f"/proc/self/fd/{folder}").readlink() if folder >= 0 else Path.cwd()
    return os.path.normpath(base / os.fsdecode(name))


def opened(name, _, flags):
    if not isinstance(name, int):
        events.append(("write" if flags & WRITING else "read", place(name)))


def watch(event, arguments):
    if event == "open":
        opened(*arguments)
    elif event in CHANGES:
        folders = [part for part in arguments[1:] if isinstance(part, int)]
        # The mode of a new folder or file stands before its folder.
        events.append(("write", place(arguments[0], folders[-1] if folders else -1)))
    elif event in SENDS:
        events.append((event, str(arguments[1])))
    elif event == "socket.getaddrinfo":
        events.append((event, str(arguments[0])))
    elif event in PROGRAMS:
        events.append(("program", str(arguments[:1])))
    elif event in ("import", "pickle.find_class", "ctypes.dlopen", "os.chown"):
        events.append((event, str(arguments[0])))


def stop_replay(words, ended):
    """End a replay that shows something; one that is refused ends by itself."""
    while not ended.wait(0.02):
        if "Browser view" in words.getvalue():
            time.sleep(SHOWN_S)
            os.kill(os.getpid(), signal.SIGINT)
            return


def run(job):
    events.clear()
    words = io.StringIO()
    ended = threading.Event()
    stopper = threading.Thread(target=stop_replay, args=(words, ended))
    stopper.start()
    started_s = time.monotonic()
    with contextlib.redirect_stdout(words), contextlib.redirect_stderr(words):
        code = run_command(job)
    took_s, seen = time.monotonic() - started_s, events.copy()
    ended.set()
    stopper.join()
    return {"code": int(code), "words": words.getvalue(), "took_s": took_s, "events": seen}


if __name__ == "__main__":
    target, jobs = Path(sys.argv[1]), json.loads(sys.argv[2])
    sys.addaudithook(watch)
    results = [run(job) for job in jobs]
    target.write_text(json.dumps(results))
    os._exit(0)
