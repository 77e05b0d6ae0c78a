# Sourced by ./scripts/test: how the suite is run.
# shellcheck shell=bash
#
# PICO_GZ_TEST_JOBS  how many tests run beside each other (default: 2)

JOBS=${PICO_GZ_TEST_JOBS:-2}

# What drives a real program or measures wall time: only these are tried a second time.
UNCERTAIN="gcs or ardupilot or gazebo or docker or browser or alone"
MAX_UNSTEADY=5
NONE_COLLECTED=5 # pytest's exit code

# Without compiled files each of the hundreds of processes that tests start takes twice as long;
# who wants none beside the sources gets them in the environment.
if [ -n "${PYTHONDONTWRITEBYTECODE:-}" ]; then
    unset PYTHONDONTWRITEBYTECODE
    export PYTHONPYCACHEPREFIX=$VENV/pycache
fi

pytest_here() {
    "$VENV/bin/python" -m pytest "$@"
}

# Everything of a kind: most tests beside each other, those that measure time one by one.
whole_suite() {
    local kind=${1:+"($1) and "} status=0 alone=0
    measured pytest_here --cache-clear -n "$JOBS" --dist worksteal -m "${kind}not alone" || status=$?
    say "== pytest, one by one"
    pytest_here -m "${kind}alone" || alone=$?
    [ "$alone" -le "$status" ] || status=$alone
    [ "$status" -ne 1 ] || { second_attempt && status=0; }
    return "$status"
}

# Uncertain tests that failed are tried once more, alone, and named; too many of them fail the run.
# A failure of any other test stands.
second_attempt() {
    local again=(--last-failed --last-failed-no-failures none) certain=0
    local -a names
    pytest_here "${again[@]}" --collect-only -q -m "not ($UNCERTAIN)" >/dev/null || certain=$?
    [ "$certain" -eq "$NONE_COLLECTED" ] || return 1
    mapfile -t names < <(pytest_here "${again[@]}" --collect-only -q | grep "::")
    [ ${#names[@]} -gt 0 ] || return 1
    say "== pytest, second attempt"
    pytest_here "${again[@]}" || return 1
    say "Passed only alone and at the second attempt:"
    printf 'UNSTEADY %s\n' "${names[@]}" >&2
    [ ${#names[@]} -le "$MAX_UNSTEADY" ] || {
        say "FAILED: ${#names[@]} tests are unsteady; $MAX_UNSTEADY are allowed."
        return 1
    }
}
