#!/bin/sh
# Prints the packages of a Gazebo release, by the names that its makers give them for Ubuntu 24.04.
#
# Usage: gazebo_packages.sh harmonic|jetty server|development|physics-major
set -eu
case ${1-} in
    harmonic) sim=8 physics=7 msgs=10 transport=13 sdformat=14 ;;
    jetty) sim=10 physics=9 msgs=12 transport=15 sdformat=16 ;;
    *) echo "There is no Gazebo '${1-}' for this image. Choose GAZEBO=harmonic or GAZEBO=jetty." >&2; exit 1 ;;
esac
case ${2-} in
    # Not gz-harmonic or gz-jetty: they drag all development packages in.
    server)
        echo "gz-sim$sim-cli gz-tools2 libgz-physics$physics-dartsim libgz-sim$sim-plugins" \
            "python3 python3-gz-msgs$msgs python3-gz-transport$transport python3-sdformat$sdformat"
        ;;
    development) echo "libgz-sim$sim-dev" ;;
    physics-major) echo "$physics" ;;
    *) echo "Say server, development or physics-major." >&2; exit 1 ;;
esac
