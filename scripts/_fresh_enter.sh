# Run by ./scripts/fresh as the first process of new mount and process namespaces.
# shellcheck shell=bash
#
# Arguments: ROOT USER LIMIT_S NETWORK COMMAND VARIABLE=VALUE...
set -euo pipefail
root=$1 user=$2 limit_s=$3 network=$4 command=$5
shift 5

mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for name in null zero full random urandom tty; do
    : >"$root/dev/$name"
    mount --bind "/dev/$name" "$root/dev/$name"
done
ln -s /proc/self/fd "$root/dev/fd"
for name in stdin:0 stdout:1 stderr:2; do ln -s "/proc/self/fd/${name#*:}" "$root/dev/${name%:*}"; done
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"

# The loopback of a network of our own is down at first.
[ "$network" = outside ] || chroot "$root" python3 - <<'END'
import fcntl, socket, struct
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as anything:
    fcntl.ioctl(anything, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
END

# Folders and files that pip's variables name, such as one with wheels, are where they are outside.
for variable in "$@"; do
    case $variable in PIP_* | SSL_* | REQUESTS_CA_BUNDLE=*) ;; *) continue ;; esac
    for path in ${variable#*=}; do
        [[ $path = /* && -e $path && ! -e $root$path ]] || continue
        if [ -d "$path" ]; then
            mkdir -p "$root$path"
        else
            mkdir -p "$root${path%/*}" && : >"$root$path"
        fi
        mount --bind -o ro "$path" "$root$path"
    done
done

# Not by exec: the first process takes over what its children leave behind, and bash does.
status=0
chroot --userspec="$user:$user" --groups="" "$root" /usr/bin/env -i "$@" \
    timeout --kill-after=10 "$limit_s" bash -c "cd ~/pico-gz && exec $command" || status=$?
exit "$status"
