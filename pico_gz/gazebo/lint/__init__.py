"""Finds mistakes in SDF worlds and models."""

from pico_gz.gazebo.lint.document import Finding, Severity
from pico_gz.gazebo.lint.linter import lint_file, lint_text

__all__ = ["Finding", "Severity", "lint_file", "lint_text"]
