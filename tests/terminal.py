"""A terminal for tests: a program in a pty of a given size, and the screen that it draws."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable

_CONTROL = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|\x1b[()].|\x1b.")


class Screen:
    """What a person sees: rows of the screen, and above them what has scrolled off."""

    def __init__(self, columns: int, lines: int) -> None:
        self.columns, self.lines = columns, lines
        self._rows = [""]
        self._row = self._column = 0
        self._pending = ""

    def feed(self, data: bytes) -> None:
        text = self._pending + data.decode(errors="replace")
        # An escape sequence may be cut: its rest comes with the next read.
        cut = text.rfind("\x1b")
        if cut >= 0 and not _CONTROL.match(text, cut):
            text, self._pending = text[:cut], text[cut:]
        else:
            self._pending = ""
        place = 0
        while place < len(text):
            control = _CONTROL.match(text, place)
            if control:
                self._control(control[1] or "", control[2] or "")
                place = control.end()
            else:
                self._put(text[place])
                place += 1

    def _put(self, char: str) -> None:
        if char == "\r":
            self._column = 0
        elif char == "\n":
            self._down()
        elif char == "\t":
            self._column += 8 - self._column % 8
        elif char >= " ":
            if self._column == self.columns:
                self._column = 0
                self._down()
            row = self._rows[self._row].ljust(self._column)
            self._rows[self._row] = row[: self._column] + char + row[self._column + 1 :]
            self._column += 1

    def _down(self) -> None:
        self._row += 1
        if self._row == len(self._rows):
            self._rows.append("")

    def _control(self, numbers: str, letter: str) -> None:
        count = int(numbers) if numbers.isdigit() else 1
        top = max(0, len(self._rows) - self.lines)
        if letter == "A":
            self._row = max(top, self._row - count)
        elif letter == "B":
            self._row = min(len(self._rows) - 1, self._row + count)
        elif letter == "K":
            row = self._rows[self._row]
            self._rows[self._row] = "" if numbers == "2" else row[: self._column]
        elif letter == "J":
            self._rows[self._row] = self._rows[self._row][: self._column]
            self._rows[self._row + 1 :] = [""] * (len(self._rows) - self._row - 1)
        elif letter == "H":
            self._row, self._column = top, 0

    @property
    def text(self) -> str:
        """All rows, those that have scrolled off too."""
        return "\n".join(row.rstrip() for row in self._rows)

    @property
    def visible(self) -> list[str]:
        """The rows on the screen."""
        return [row.rstrip() for row in self._rows[-self.lines :]]


class TerminalProgram:
    """A program in a terminal. Use it in a ``with`` block."""

    def __init__(
        self, command: list[str], *, columns: int, lines: int, env: dict[str, str], cwd: object
    ) -> None:
        self.screen = Screen(columns, lines)
        self._person, program = pty.openpty()
        fcntl.ioctl(program, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        unwanted = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR")
        env = {name: value for name, value in env.items() if name not in unwanted}
        self.process = subprocess.Popen(
            command,
            stdin=program,
            stdout=program,
            stderr=program,
            env=env,
            cwd=str(cwd),
            start_new_session=True,
        )
        os.close(program)

    def __enter__(self) -> TerminalProgram:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._person)

    def type(self, keys: bytes) -> None:
        os.write(self._person, keys)

    def read(self, seconds: float = 0.1) -> None:
        """Take what it writes in that time."""
        end_s = time.monotonic() + seconds
        while (left_s := end_s - time.monotonic()) > 0:
            if select.select([self._person], [], [], left_s)[0]:
                try:
                    data = os.read(self._person, 65536)
                except OSError:  # it has ended
                    return
                self.screen.feed(data)

    def until(self, condition: Callable[[Screen], bool], limit_s: float = 30.0) -> None:
        """Read until the screen is so."""
        end_s = time.monotonic() + limit_s
        while not condition(self.screen):
            assert time.monotonic() < end_s, "\n".join(self.screen.visible)
            self.read()

    def finish(self, limit_s: float = 20.0) -> int:
        """Read to its end; its exit code."""
        end_s = time.monotonic() + limit_s
        while self.process.poll() is None:
            assert time.monotonic() < end_s, "\n".join(self.screen.visible)
            self.read()
        self.read()
        return self.process.returncode
