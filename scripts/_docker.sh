# Sourced by _programs.sh: what the tests marked 'docker' need.
# shellcheck shell=bash

# An engine that answers, or one that the tests can start themselves.
have_engine() {
    have docker || return 1
    works docker version && return 0
    [ "$(id -u)" -eq 0 ] && have dockerd && have iptables
}

have_compose() { works docker compose version; }

have_debootstrap() { have debootstrap || works docker image inspect python:3.12-slim; }

# Debian 12 has only Compose 1: take the program alone out of the next release's package.
compose_from_next_debian() {
    have apt-get && have dpkg && grep -q '^VERSION_CODENAME=bookworm' /etc/os-release || return 1
    local folder site
    folder=$(mktemp -d)
    site=$(apt_site bookworm) || return 1
    mkdir -p "$folder/lists/partial" "$folder/cache"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site trixie main" \
        > "$folder/sources.list"
    local -a apt=(apt-get -q -o "Dir::Etc::sourcelist=$folder/sources.list" -o Dir::Etc::sourceparts=-
        -o "Dir::State::lists=$folder/lists" -o "Dir::Cache=$folder/cache" -o APT::Sandbox::User=root)
    (
        cd "$folder" && timeout 300 "${apt[@]}" update && timeout 300 "${apt[@]}" download docker-compose &&
            dpkg -x docker-compose_*.deb . &&
            install -D -m 755 usr/libexec/docker/cli-plugins/docker-compose \
                "${DOCKER_CONFIG:-$HOME/.docker}/cli-plugins/docker-compose"
    ) >/dev/null 2>&1
    local status=$?
    rm -rf "$folder"
    [ "$status" -eq 0 ] && say "Took Docker Compose out of Debian's next release."
    return "$status"
}

# get_docker true|false: engine, Compose and the means to make a base image without a registry.
get_docker() {
    local may_install=$1
    if [ "$may_install" = true ] && ! have_engine; then
        apt_install docker.io || true
        have iptables || apt_install iptables || true
    fi
    need "A Docker engine" docker have_engine
    if [ "$may_install" = true ] && ! have_compose; then
        apt_install docker-compose-v2 docker-compose-plugin >/dev/null || compose_from_next_debian || true
    fi
    need "Docker Compose v2" docker have_compose
    if [ "$may_install" = true ] && [ "$(id -u)" -eq 0 ]; then
        need "debootstrap (for a base image without a registry)" docker have_debootstrap debootstrap
    fi
}
