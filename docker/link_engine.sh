#!/bin/sh
# Gives a library of Gazebo the name that Gazebo asks for, which only development packages have.
#
# Usage: link_engine.sh physics 7 dartsim-plugin [LIBRARY_FOLDER]
set -eu
part=$1 major=$2 engine=$3
libraries=${4:-/usr/lib/$(uname -m)-linux-gnu}
folder=$libraries/gz-$part-$major/engine-plugins
wanted=$folder/libgz-$part-$engine.so
[ ! -e "$wanted" ] || exit 0
# Harmonic's libraries carry the version in their names, those of later releases do not.
for found in "$folder/libgz-$part$major-$engine.so".* "$wanted".*; do
    [ -e "$found" ] || continue
    ln -s "$(basename "$found")" "$wanted"
    exit 0
done
echo "There is no $engine in $folder." >&2
exit 1
