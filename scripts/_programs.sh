# Sourced by ./scripts/test --all and ./scripts/fresh: gets programs, and names what is missing.
# shellcheck shell=bash

have() { command -v "$1" >/dev/null 2>&1; }

# Run a command as root, or fail at once when that needs a password.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        have sudo && sudo -n "$@"
    fi
}

# Another apt-get may run at the same time; it is waited for.
APT_WAIT="-oDPkg::Lock::Timeout=120"

# apt_install PACKAGE...: the first of the packages that can be installed.
apt_install() {
    have apt-get || return 1
    local package output reasons=""
    for package in "$@"; do
        if output=$(DEBIAN_FRONTEND=noninteractive as_root timeout 600 \
            apt-get install -y -q --no-install-recommends "$APT_WAIT" "$package" 2>&1); then
            say "Installed the system package $package."
            return 0
        fi
        reasons+="${reasons:+; }$package: $(tail -n 1 <<<"$output")"
    done
    say "Not installed: $reasons"
    return 1
}

# apt_site SUITE: print where apt gets the packages of a suite from.
apt_site() {
    have apt-get || return 1
    # shellcheck disable=SC2016 # apt fills these in
    apt-get indextargets --format '$(CODENAME) $(SITE)' 2>/dev/null |
        awk -v suite="$1" '$1 == suite && !found { print $2; found = 1 } END { exit !found }'
}

# works COMMAND...: whether it ends with success in good time.
works() { have "$1" && timeout 20 "$@" </dev/null >/dev/null 2>&1; }

have_chromium() {
    local name
    for name in chromium chromium-browser google-chrome google-chrome-stable; do
        works "$name" --version && return 0
    done
    return 1
}

# need WHAT MARKER CHECK PACKAGE...: get it if we may, else say which tests will be skipped.
need() {
    local what=$1 marker=$2 check=$3
    shift 3
    $check && return 0
    if [ "$may_install" = true ] && [ $# -gt 0 ] && apt_install "$@" && $check; then
        return 0
    fi
    say "Not here: $what; the tests marked '$marker' that need it will be skipped."
}

have_gazebo() { works gz sim --versions; }
have_ardurover() { [ -n "${PICO_GZ_ARDUROVER:-}" ] || have ardurover; }

# shellcheck source=scripts/_docker.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/_docker.sh"

# get_programs true|false: pip groups always, system packages only if the argument is true.
get_programs() {
    local may_install=$1 group
    local -a requirements
    for group in clients browser engines containers docs release; do
        mapfile -t requirements < <(group_requirements "$group")
        ensure_installed "$group" "${requirements[@]}" ||
            say "Not here: the pip packages of '$group' (${requirements[*]}); their tests are skipped."
    done
    if [ "$may_install" = true ] && have apt-get; then
        local output
        output=$(as_root timeout 300 apt-get update -q "$APT_WAIT" 2>&1) ||
            say "apt-get update failed: $(tail -n 1 <<<"$output")"
    fi
    need "Chromium" browser have_chromium chromium chromium-browser
    get_docker "$may_install"
    need "ArduRover (PICO_GZ_ARDUROVER or 'ardurover' on the PATH)" ardupilot have_ardurover
    need "Gazebo Harmonic ('gz' on the PATH)" gazebo have_gazebo
    [ "$may_install" = true ] || say "System packages are installed only with --install or CI=true."
}
