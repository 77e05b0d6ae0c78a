"""What sdformat says of a file in its strict mode. Runs in any Python that has ``sdformat14``.

A program of its own, because the library comes for the system's Python, which does not have the
kit: it imports nothing of it, reads the file from stdin and prints what sdformat complains about.
"""

import sys


def report(text: str) -> str:
    """Return the library's complaints, as it words them; empty when there are none."""
    import sdformat14 as sdformat

    config = sdformat.ParserConfig()
    config.set_unrecognized_elements_policy(sdformat.EnforcementPolicy.ERR)
    config.set_warnings_policy(sdformat.EnforcementPolicy.ERR)
    try:
        sdformat.Root().load_sdf_string(text, config)
    except sdformat.SDFErrorsException as error:
        return str(error)
    return ""


if __name__ == "__main__":
    sys.stdout.write(report(sys.stdin.read()))
