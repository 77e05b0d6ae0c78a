# Sourced by ./scripts/fresh: a minimal Debian root, or an empty folder, to run commands in.
# shellcheck shell=bash
#
# Both define: place (in words), home, decoys, clean_path, decoy_path, and how a command is run
# there: in_root or in_folder LIMIT_S NETWORK PATH COMMAND.

PACKAGES=python3,python3-venv,git
GUEST=1000 # the user inside: no rights at all
# What a folder's PATH has beside Python and git: of what every Debian has, what scripts and tests use.
TOOLS="awk basename bash cat chmod cksum cp cut date dd dirname du env expr false find getconf grep
    gzip head hostname id kill ldd ln ls mkdir mkfifo mktemp mv nice printf pwd readlink realpath rm
    rmdir sed seq sh sleep sort stat tail tar tee test timeout touch tr true uname uniq wc xargs"

# --- a Debian root ------------------------------------------------------------------------------

can_make_root() {
    [ "$(id -u)" -eq 0 ] || { say "Not root: no Debian root." && return 1; }
    if ! have debootstrap && [ "${CI:-}" = true ]; then
        timeout 300 apt-get update -q >/dev/null 2>&1 || say "apt-get update failed."
        apt_install debootstrap || true
    fi
    have debootstrap || { say "No debootstrap: no Debian root." && return 1; }
    unshare --mount --pid --net --fork -- mount -t tmpfs none /mnt 2>/dev/null ||
        { say "Mounts are not allowed here: no Debian root." && return 1; }
}

# make_root: $work/root, from the kept archive or by debootstrap; fails with a reason.
make_root() {
    can_make_root || return 1
    local id suite kept
    id=$(. /etc/os-release && echo "${ID:-}")
    suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    case $id in debian | ubuntu) ;; *) suite=stable ;; esac
    kept=${XDG_CACHE_HOME:-$HOME/.cache}/pico-gz/fresh-$suite-$(uname -m)-${PACKAGES//,/-}.tar.gz
    root=$work/root
    mkdir "$root"
    if ! tar -xpzf "$kept" --numeric-owner -C "$root" 2>/dev/null; then
        rm -rf "$root"
        bootstrap "$suite" || { say "debootstrap failed: no Debian root." && return 1; }
        mkdir -p "${kept%/*}"
        tar -cpf - --numeric-owner -C "$root" . | gzip -1 >"$kept.$$"
        mv "$kept.$$" "$kept"
    fi
    copy_settings
    place="in a minimal Debian root ($suite)"
    home=$root/home/guest
    decoys=$root/opt/decoys
    clean_path=/usr/local/bin:/usr/bin:/bin
    decoy_path=/opt/decoys:$clean_path
}

# bootstrap SUITE: from the mirror and through the proxy that apt uses here.
bootstrap() {
    local site components=main proxy=""
    [ "$(. /etc/os-release && echo "${ID:-}")" != ubuntu ] || components=main,universe
    say "Making a minimal Debian root ($1); the first time takes a minute or two ..."
    site=$(apt_site "$1" || true)
    eval "$(apt-config shell proxy Acquire::http::Proxy 2>/dev/null || true)"
    [ -z "$proxy" ] || local -x http_proxy=$proxy
    timeout 600 debootstrap --variant=minbase --components=$components --include="$PACKAGES" \
        "$1" "$root" ${site:+"$site"} >"$work/debootstrap.log" 2>&1 ||
        { tail -n 5 "$work/debootstrap.log" >&2 && return 1; }
    chroot "$root" useradd --uid "$GUEST" --user-group --create-home guest
    rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
}

# How names and the package index are found here.
copy_settings() {
    local file
    for file in /etc/resolv.conf /etc/hosts /etc/pip.conf; do
        [ ! -e "$file" ] || cp -L "$file" "$root$file"
    done
    mkdir -p "$root/etc/ssl/certs"
    cp -RL /etc/ssl/certs/. "$root/etc/ssl/certs/" 2>/dev/null || true # links may lead nowhere
}

# In namespaces of its own: mounts and processes end with it, however it and we end.
in_root() {
    local -a apart=(--mount --pid --fork --kill-child)
    [ "$2" = outside ] || apart+=(--net)
    exec setpriv --pdeathsig KILL unshare "${apart[@]}" -- \
        bash "$here/_fresh_enter.sh" "$root" "$GUEST" "$1" "$2" \
        "$4" "${environment[@]}" HOME=/home/guest USER=guest PATH="$3"
}

# --- an empty folder ----------------------------------------------------------------------------

make_folder() {
    local tool path python
    python=$(find_python) || exit $?
    home=$work/home
    decoys=$work/decoys
    mkdir "$home" "$work/bin"
    for tool in $TOOLS git; do
        path=$(type -P "$tool") || continue # such as kill, which bash has itself
        ln -s "$path" "$work/bin/$tool"
    done
    ln -s "$("$python" -c 'import sys; print(sys._base_executable)')" "$work/bin/python3"
    place="in an empty folder with a clean PATH and HOME"
    clean_path=$work/bin
    decoy_path=$decoys:$clean_path
    chmod 711 "$work"
    as_guest=()
    if [ "$(id -u)" -eq 0 ]; then
        as_guest=(setpriv --reuid "$GUEST" --regid "$GUEST" --clear-groups)
        # A Python in root's own folder cannot be used by others.
        "${as_guest[@]}" "$work/bin/python3" -c pass 2>/dev/null || as_guest=()
    fi
}

# The network is this machine's.
in_folder() {
    cd "$home/pico-gz"
    exec timeout --kill-after=10 "$1" "${as_guest[@]+"${as_guest[@]}"}" \
        env -i "${environment[@]}" HOME="$home" PATH="$3" bash -c "$4"
}

# --- what is put into both ----------------------------------------------------------------------

# clone_into FOLDER: the commit, whichever user owns this checkout and however little of it is here.
clone_into() {
    printf '[safe]\n\tdirectory = *\n' >"$work/.gitconfig"
    HOME=$work XDG_CONFIG_HOME=$work git clone --quiet --depth 1 "file://$ROOT" "$1"
    [ "$(HOME=$work git -C "$1" rev-parse HEAD)" = "$commit" ] || die "The clone is not of $commit."
}

# make_decoys FOLDER: programs as they are found on machines, and of no use.
make_decoys() {
    mkdir -p "$1"
    cat >"$1/docker" <<'END'
#!/bin/sh
case $1 in
    compose) echo "docker: unknown command: docker compose" ;;
    *) echo "Cannot connect to the Docker daemon. Is the docker daemon running?" ;;
esac >&2
exit 1
END
    printf '#!/bin/sh\necho "[Err] cannot open shared object file" >&2\nexit 255\n' >"$1/gz"
    printf '#!/bin/sh\nexit 1\n' >"$1/ardurover"
    printf '#!/bin/sh\nexec sleep 100000\n' >"$1/chromium"
    chmod 755 "$1" "$1"/*
}

copy_pip_settings() {
    mkdir -p "$1/.config"
    local file
    for file in .config/pip .pip; do
        [ ! -e "$HOME/$file" ] || cp -RL "$HOME/$file" "$1/$file"
    done
}

give_away() {
    [ "$(id -u)" -ne 0 ] || chown -R "$GUEST:$GUEST" "$1"
}
