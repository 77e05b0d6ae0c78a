"""Finds mistakes in SDF worlds and models.

``linter`` reads a file into a ``document`` and runs the ``rules_*`` on it; each rule names a trap,
why it is one and what to do.
"""

from pico_gz.gazebo.lint.document import Finding, Severity
from pico_gz.gazebo.lint.linter import lint_file, lint_text

__all__ = ["Finding", "Severity", "lint_file", "lint_text"]
