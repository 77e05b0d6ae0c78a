# Sourced by ./scripts/test: how the suite is run.
# shellcheck shell=bash
#
# PICO_GZ_TEST_JOBS  how many tests run beside each other (default: 2)

JOBS=${PICO_GZ_TEST_JOBS:-2}

# What measures time or lives with sockets, processes and threads: other load can make it fail.
LIVE="gcs or ardupilot or gazebo or docker or browser or alone or live"

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

# What a busy machine may have disturbed is tried once more, alone, and named. A failure of
# anything else stands.
second_attempt() {
    local again=(--last-failed --last-failed-no-failures none) names
    names=$(pytest_here "${again[@]}" --collect-only -q | grep "::") || return 1
    ! pytest_here "${again[@]}" --collect-only -q -m "not ($LIVE)" >/dev/null || return 1
    say "== pytest, second attempt"
    pytest_here "${again[@]}" || return 1
    say "UNSTEADY, passed only alone and at the second attempt:"
    say "$names"
}
