# Gazebo with the unmodified ArduPilot plugin, and pico-gz, which makes the world.
#
#   docker build -f docker/gazebo.Dockerfile --target gazebo -t pico-gz-gazebo .
#
# --build-arg GAZEBO=jetty takes Gazebo Jetty instead of Harmonic; never built, see docs/gazebo.md.
# It builds with the classic builder too; nothing in it is for one processor only.
ARG BASE_IMAGE=ubuntu:24.04

FROM ${BASE_IMAGE} AS osrf
# Gazebo's packages, signed by their makers. They keep only the newest point release, so no
# version is pinned; /opt/pico-gz/gazebo-packages.txt in the image says which one it is.
ARG OSRF_REPOSITORY=http://packages.osrfoundation.org/gazebo/ubuntu-stable
ARG OSRF_KEY=https://packages.osrfoundation.org/gazebo.gpg
ENV DEBIAN_FRONTEND=noninteractive
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
# hadolint ignore=DL3008
RUN apt-get update -q \
    && apt-get install -y -q --no-install-recommends ca-certificates curl \
    && curl -fsSL "${OSRF_KEY}" -o /usr/share/keyrings/gazebo.gpg \
    && . /etc/os-release \
    && echo "deb [signed-by=/usr/share/keyrings/gazebo.gpg] ${OSRF_REPOSITORY} ${VERSION_CODENAME} main" \
        > /etc/apt/sources.list.d/gazebo.list \
    && apt-get purge -y -q --auto-remove curl \
    && rm -rf /var/lib/apt/lists/*

# The plugin, as upstream has it. Without its camera plugins, which need OpenCV and GStreamer.
FROM osrf AS plugin-builder
ARG GAZEBO=harmonic
# The commit (April 2026) was compiled and driven with Gazebo 8.14, beside the pin before it (00aa219, August
# 2024). PWM 0 is no output since September 2025, and every record carries no_time_sync and no_lockstep since
# February 2026. The kit drives with both.
ARG ARDUPILOT_GAZEBO_REPOSITORY=https://github.com/ArduPilot/ardupilot_gazebo.git
ARG ARDUPILOT_GAZEBO_COMMIT=082a0fe231f6e63bc8d1598f1cba461d9e2ea7f5
COPY docker/gazebo_packages.sh /plugin/
# hadolint ignore=DL3008,SC2086
RUN packages=$(sh /plugin/gazebo_packages.sh "${GAZEBO}" development) \
    && apt-get update -q \
    && apt-get install -y -q --no-install-recommends \
        cmake g++ git make rapidjson-dev ${packages} \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /plugin
RUN git clone --filter=blob:none "${ARDUPILOT_GAZEBO_REPOSITORY}" source \
    && git -C source checkout --detach "${ARDUPILOT_GAZEBO_COMMIT}"
COPY docker/plugin/CMakeLists.txt /plugin/
RUN cmake -S /plugin -B /plugin/build -DCMAKE_BUILD_TYPE=Release \
    && cmake --build /plugin/build --parallel 2

FROM osrf AS kit-builder
ARG PIP_NO_INDEX=
ARG PIP_INDEX_URL=
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore \
    PIP_FIND_LINKS=/dependencies
# hadolint ignore=DL3008
RUN apt-get update -q \
    && apt-get install -y -q --no-install-recommends gcc libc6-dev python3-venv \
    && rm -rf /var/lib/apt/lists/* \
    && python3 -m venv --system-site-packages /opt/pico-gz
COPY pyproject.toml docker/requirements.py wheel[s] /dependencies/
RUN python3 /dependencies/requirements.py /dependencies/pyproject.toml \
        > /dependencies/requirements.txt \
    && /opt/pico-gz/bin/pip install --requirement /dependencies/requirements.txt
COPY . /source
RUN /opt/pico-gz/bin/pip install --no-deps /source \
    && /opt/pico-gz/bin/python3 -m pico_gz.simulator.native_build \
    && /opt/pico-gz/bin/python3 -m pip uninstall --yes pip

FROM osrf AS gazebo
ARG GAZEBO=harmonic
ARG VERSION=0.2.0
ARG ARDUPILOT_GAZEBO_COMMIT=082a0fe231f6e63bc8d1598f1cba461d9e2ea7f5
LABEL org.opencontainers.image.title="pico-gz with Gazebo" \
      org.opencontainers.image.version="${VERSION}" \
      pico_gz.gazebo="${GAZEBO}" \
      pico_gz.ardupilot_gazebo="${ARDUPILOT_GAZEBO_COMMIT}"
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
COPY docker/gazebo_packages.sh docker/link_engine.sh /opt/ardupilot_gazebo/
# hadolint ignore=DL3008,SC2086
RUN packages=$(sh /opt/ardupilot_gazebo/gazebo_packages.sh "${GAZEBO}" server) \
    && apt-get update -q \
    && apt-get install -y -q --no-install-recommends ${packages} \
    && rm -rf /var/lib/apt/lists/* \
    && major=$(sh /opt/ardupilot_gazebo/gazebo_packages.sh "${GAZEBO}" physics-major) \
    && sh /opt/ardupilot_gazebo/link_engine.sh physics "${major}" dartsim-plugin
COPY --from=plugin-builder /plugin/build/libArduPilotPlugin.so /opt/ardupilot_gazebo/lib/
COPY --from=plugin-builder /plugin/source/LICENSE.md /opt/ardupilot_gazebo/
COPY --from=kit-builder /opt/pico-gz /opt/pico-gz
ENV PATH=/opt/pico-gz/bin:/usr/local/bin:/usr/bin:/bin \
    PICO_GZ_PLUGIN_PATH=/opt/ardupilot_gazebo/lib \
    PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOME=/tmp
# It must load a world here, not at the user's. A missing plugin is an error as well.
RUN pico-gz world --rovers 1 -o /tmp/smoke \
    && GZ_SIM_SYSTEM_PLUGIN_PATH="${PICO_GZ_PLUGIN_PATH}" GZ_IP=127.0.0.1 \
        gz sim -s -r -v 2 --iterations 10 /tmp/smoke/world.sdf 2>&1 | tee /tmp/smoke.log \
    && ! grep -E "Failed to load system plugin|\[Err\]" /tmp/smoke.log \
    && dpkg-query -W 'libgz-*' > /opt/pico-gz/gazebo-packages.txt \
    && rm -rf /tmp/smoke /tmp/smoke.log /tmp/.gz /tmp/.sdformat
WORKDIR /tmp
USER 10001:10001
CMD ["python3", "-m", "pico_gz.cli.tools.containers.inside.gazebo"]

# Gazebo's window, for the profile gui; also a server that can draw, for worlds with cameras. The
# library of the window does not name the parts of Qt that it loads at run time. Ogre's shaders and
# materials are in development packages only (libgz-rendering8-core-dev, -ogre2-dev, which
# libgz-sim8-dev brings along); without them nothing is drawn and Gazebo ends.
FROM gazebo AS gui
ARG GAZEBO=harmonic
USER 0
RUN [ "${GAZEBO}" = harmonic ] || { echo "The window's image is made for Harmonic alone." >&2; exit 1; }
# hadolint ignore=DL3008
RUN apt-get update -q \
    && apt-get install -y -q --no-install-recommends \
        libegl1 libgl1-mesa-dri libgz-gui8 libgz-rendering8-ogre2 \
        qml-module-qt-labs-folderlistmodel qml-module-qt-labs-platform \
        qml-module-qt-labs-settings qml-module-qtcharts qml-module-qtgraphicaleffects \
        qml-module-qtqml-models2 qml-module-qtquick-controls qml-module-qtquick-controls2 \
        qml-module-qtquick-dialogs qml-module-qtquick-layouts qml-module-qtquick-templates2 \
        qml-module-qtquick-window2 qml-module-qtquick2 \
    && rm -rf /var/lib/apt/lists/* \
    && sh /opt/ardupilot_gazebo/link_engine.sh rendering 8 ogre2
COPY --from=plugin-builder /usr/share/gz/gz-rendering8 /usr/share/gz/gz-rendering8
# It must draw here, not at the user's: a world with a camera, in software, without a screen.
COPY docker/camera.sdf /tmp/smoke/
RUN test -d /usr/share/gz/gz-rendering8/ogre2/media/Hlms \
    && if ! LIBGL_ALWAYS_SOFTWARE=1 GZ_IP=127.0.0.1 timeout 120 gz sim -s -r -v 3 \
        --headless-rendering --iterations 200 /tmp/smoke/camera.sdf >/tmp/smoke.log 2>&1; \
        then cat /tmp/smoke.log; exit 1; fi \
    && ! grep -E "Failed to load (engine|plugin|system)|Unable to (load|create)|Hlms" /tmp/smoke.log \
    && rm -rf /tmp/smoke /tmp/smoke.log /tmp/.gz /tmp/.sdformat
USER 10001:10001
CMD ["gz", "sim", "-g", "-v", "2"]
