"""Finds mistakes in SDF worlds and models, above all the traps of the ArduPilot plugin."""

from pico_gz.lint.finding import Finding, Severity
from pico_gz.lint.lint import lint_file, lint_text

__all__ = ["Finding", "Severity", "lint_file", "lint_text"]
