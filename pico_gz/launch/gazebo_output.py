"""What Gazebo writes: the last lines, and those that mean trouble."""

from __future__ import annotations

import logging
import re
import threading
from collections import deque

log = logging.getLogger(__name__)

TAIL_LINES = 40
_MOST_TOLD = 20
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_ERROR = re.compile(r"\[(?:Err|Error)\]|^Error|\[GUI\] \[Err\]")
# A world without these runs on, but nobody can drive in it.
_NEEDED = re.compile(r"ArduPilotPlugin|gz-sim-(?:physics|imu)-system")
_NOT_LOADED = "Failed to load system plugin"
_NOT_BOUND = "failed to bind"
# Gazebo says this and tries another engine; without any it crashes.
_NO_ENGINE = re.compile(
    r"Failed to load plugin \[ogre|Engine \[ogre2?\] is not supported|Unable to open display"
    r"|Unable to create the rendering window|OGRE EXCEPTION"
)


class GazeboOutput:
    """Takes Gazebo's lines, keeps the last ones and shows its errors once each.

    Safe from any thread.

    Attributes:
        problem: the first line after which the world is of no use; empty while all is well.
        hint: what to do about it, or about an end that is to be expected.
    """

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=TAIL_LINES)
        self._told: set[str] = set()
        self._lock = threading.Lock()
        self.problem = ""
        self.hint = ""

    def take(self, line: str) -> None:
        """Take a line."""
        text = _COLOURS.sub("", line).strip()
        if not text:
            return
        with self._lock:
            self._lines.append(text)
            is_news = self._is_error(text) and text not in self._told
            if is_news:
                self._told.add(text)
            told = len(self._told)
        self._judge(text)
        if is_news and told <= _MOST_TOLD:
            log.warning("Gazebo: %s", text)

    def tail(self) -> tuple[str, ...]:
        """The last lines."""
        with self._lock:
            return tuple(self._lines)

    @staticmethod
    def _is_error(text: str) -> bool:
        return bool(_ERROR.search(text)) or _NOT_LOADED in text or _NOT_BOUND in text

    def _judge(self, text: str) -> None:
        if self.problem:
            return
        if _NOT_LOADED in text and _NEEDED.search(text):
            self.hint = (
                "Set PICO_GZ_PLUGIN_PATH to the folder of libArduPilotPlugin.so; "
                "pico-gz doctor tells more."
            )
            self.problem = text
        elif _NOT_BOUND in text:
            self.hint = "Another program has that port; --port-offset auto moves the fleet."
            self.problem = text
        elif _NO_ENGINE.search(text):
            self.hint = (
                "A camera or lidar in the world needs a render engine, and this Gazebo could not "
                "use one: leave them out, or install all of gz-harmonic (ogre2, with EGL or a "
                "display)."
            )
