# Sourced by ./scripts/test --all: which lines of pico_gz/ the tests run, and the gate on it.
# shellcheck shell=bash
#
# PICO_GZ_COVERAGE  on: measure and apply the gate; off: neither. Default of --all: on with Python
#                   3.12 or newer, off with 3.11, where counting lines takes three times as long.
#
# coverage's own start-up file, which pip installs into $VENV, measures every Python process that
# sees COVERAGE_PROCESS_START: pytest, its workers, and the programs that tests start. The settings
# and the limit are in pyproject.toml, [tool.coverage].

COVERAGE_DATA=$ROOT/.coverage

coverage_on() { [ "${PICO_GZ_COVERAGE:-off}" = on ]; }

# Python 3.12 and newer count lines almost for free; older ones take the C tracer.
coverage_core() {
    if "$VENV/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 12))'; then
        printf 'sysmon\n'
    else
        printf 'ctrace\n'
    fi
}

# coverage_default yes|no (--all): what PICO_GZ_COVERAGE is when it is not set.
coverage_default() {
    if [ "$1" = yes ] && [ "$(coverage_core)" = sysmon ]; then
        printf 'on\n'
    else
        [ "$1" = no ] || say "Coverage is not measured with this Python (3.12 or newer is quick enough)."
        printf 'off\n'
    fi
}

# Forget what an earlier run has measured.
coverage_start() {
    coverage_on || return 0
    COVERAGE_FILE="$COVERAGE_DATA" "$VENV/bin/python" -m coverage erase
}

# measured COMMAND...: run it under measurement, if that is on. Not for tests that measure time.
measured() {
    if coverage_on; then
        COVERAGE_PROCESS_START="$ROOT/pyproject.toml" COVERAGE_FILE="$COVERAGE_DATA" \
            COVERAGE_CORE="$(coverage_core)" "$@"
    else
        "$@"
    fi
}

# Print the table and fail below the limit of pyproject.toml.
coverage_gate() {
    coverage_on || return 0
    say "== coverage"
    local -x COVERAGE_FILE=$COVERAGE_DATA
    "$VENV/bin/python" -m coverage combine --quiet >&2 &&
        "$VENV/bin/python" -m coverage report --skip-covered --sort=cover >&2
}
