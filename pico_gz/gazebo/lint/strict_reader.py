"""Reads a file with sdformat14; runs in another Python.

A program of its own, because the library comes for the system's Python, which does not have the
kit, and because it prints as it likes: it imports nothing of the kit, reads the file from stdin
and writes one JSON object to stdout.
"""

import json
import sys
from typing import Any


def report(text: str) -> dict[str, list[dict[str, Any]]]:
    """Return the library's complaints: what it refuses, and what it only mentions."""
    import sdformat14 as sdformat

    usual = sdformat.ParserConfig()
    strict = sdformat.ParserConfig()
    strict.set_unrecognized_elements_policy(sdformat.EnforcementPolicy.ERR)
    strict.set_warnings_policy(sdformat.EnforcementPolicy.ERR)
    refused = _complaints(sdformat, text, usual)
    both = _complaints(sdformat, text, strict)
    return {"refused": refused, "mentioned": [found for found in both if found not in refused]}


def _complaints(sdformat: Any, text: str, config: Any) -> list[dict[str, Any]]:
    try:
        sdformat.Root().load_sdf_string(text, config)
    except sdformat.SDFErrorsException as failed:
        return [
            {"code": int(error.code()), "line": error.line_number(), "message": error.message()}
            for error in failed.errors
        ]
    return []


if __name__ == "__main__":
    json.dump(report(sys.stdin.read()), sys.stdout)
