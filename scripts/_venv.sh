# Sourced by the scripts beside it: finds a Python and keeps .venv up to date.
# shellcheck shell=bash
#
# PICO_GZ_PYTHON  the Python to make .venv with (default: the newest of 3.11..3.13 found)
# PICO_GZ_VENV    where the environment lives (default: .venv in the repository)

MISSING=4 # exit code: something needed is not here

ROOT=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
VENV=${PICO_GZ_VENV:-$ROOT/.venv}

say() { printf '%s\n' "$*" >&2; }

die() {
    say "$@"
    exit "$MISSING"
}

# Whether $1 is a Python that we support.
is_supported() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

# Print the first supported Python that can make environments; explain when there is none.
find_python() {
    local candidate found="" without_venv=""
    for candidate in "${PICO_GZ_PYTHON:-python3.13}" python3.13 python3.12 python3.11 python3; do
        command -v "$candidate" >/dev/null 2>&1 || continue
        found=$candidate
        is_supported "$candidate" || continue
        if "$candidate" -c 'import venv, ensurepip' >/dev/null 2>&1; then
            printf '%s\n' "$candidate"
            return
        fi
        without_venv=$candidate
    done
    if [ -n "$without_venv" ]; then
        die "$without_venv cannot make virtual environments: its 'venv' module is missing." \
            $'\n'"On Debian and Ubuntu: sudo apt install python3-venv"
    elif [ -n "$found" ]; then
        die "Python 3.11 or newer is needed; $found is $("$found" -V 2>&1 || true)." \
            $'\n'"Install a newer one, or name it: PICO_GZ_PYTHON=/path/to/python3.12 $0"
    fi
    die "No Python was found. Python 3.11 or newer is needed (on Debian and Ubuntu:" \
        $'\n'"sudo apt install python3 python3-venv)."
}

# Make $VENV unless a working one of a supported version is there.
ensure_venv() {
    if [ -x "$VENV/bin/python" ] && is_supported "$VENV/bin/python"; then
        return
    fi
    local python
    python=$(find_python) || exit $?
    say "Making $VENV with $python ..."
    "$python" -m venv --clear "$VENV" ||
        die "$python could not make $VENV (see above)." \
            $'\n'"On Debian and Ubuntu: sudo apt install python3-venv"
}

# What an installation depends on: the project file, the Python, the place, what was asked for.
fingerprint() {
    {
        cat "$ROOT/pyproject.toml" "$VENV/pyvenv.cfg"
        printf '%s\n' "$ROOT" "$@"
    } | cksum
}

# ensure_installed NAME REQUIREMENT...: pip-install unless the stamp NAME says it was done.
ensure_installed() {
    local name=$1 stamp="$VENV/.pico-gz-$1" now
    shift
    ensure_venv
    now=$(fingerprint "$@")
    if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$now" ]; then
        return
    fi
    say "Installing into $VENV ($name; the first time takes a minute) ..."
    (cd "$ROOT" && "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check "$@") ||
        return 1
    printf '%s\n' "$now" >"$stamp"
}

# Print the requirements of the named dependency groups of pyproject.toml, one per line.
group_requirements() {
    "$VENV/bin/python" "$ROOT/scripts/_groups.py" "$ROOT/pyproject.toml" "$@"
}

# Compile the simulator's native core where a C compiler is; without one, the Python model runs.
build_core() {
    local stamp="$VENV/.pico-gz-core" now
    [ -f "$ROOT/pico_gz/simulator/native/core.c" ] || return 0
    now=$(cat "$ROOT"/pico_gz/simulator/*.py "$ROOT"/pico_gz/simulator/native/core.c | cksum)
    if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$now" ]; then
        return
    fi
    (cd "$ROOT" && "$VENV/bin/python" -m pico_gz.simulator.native_build) || return 0
    if compgen -G "$ROOT/pico_gz/simulator/native/_core-*" >/dev/null; then
        printf '%s\n' "$now" >"$stamp"
    fi
}

# Compile the modules that mypyc is for; without a C compiler they run interpreted.
build_modules() {
    local tools
    mapfile -t tools < <(group_requirements compile)
    if ensure_installed compile "${tools[@]}"; then
        (cd "$ROOT" && "$VENV/bin/python" scripts/compile_modules.py)
    else
        say "mypyc could not be installed (see above); the modules run interpreted."
    fi
}
