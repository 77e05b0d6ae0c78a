# pico-gz without Gazebo: the bridge of every stack, and the whole Lightweight simulator.
#
#   docker build -f docker/lightweight.Dockerfile --target lightweight -t pico-gz .
#
# Any base with python3 (3.11 or newer) and its venv module will do. It builds with the classic
# builder too. Without an index: put wheels into wheels/ and add --build-arg PIP_NO_INDEX=1; then no
# compiler is installed either, and the simulator's core is the one of ./scripts/build, if it fits.
ARG BASE_IMAGE=python:3.12-slim

# First what rarely changes, in layers of its own: a change of the sources copies none of it again.
FROM ${BASE_IMAGE} AS dependencies
# Empty is the same as not given.
ARG PIP_NO_INDEX=
ARG PIP_INDEX_URL=
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore \
    PIP_FIND_LINKS=/dependencies
RUN python3 -m venv /opt/pico-gz
# The pattern lets the folder of wheels be absent.
COPY pyproject.toml docker/requirements.py wheel[s] /dependencies/
RUN python3 /dependencies/requirements.py /dependencies/pyproject.toml web mcap \
        > /dependencies/requirements.txt \
    && /opt/pico-gz/bin/pip install --requirement /dependencies/requirements.txt

FROM dependencies AS builder
# The classic builder forgets arguments at the end of a stage.
ARG PIP_NO_INDEX=
ARG PIP_INDEX_URL=
RUN python3 /dependencies/requirements.py /dependencies/pyproject.toml build-system \
        > /dependencies/build.txt \
    && /opt/pico-gz/bin/pip install --requirement /dependencies/build.txt
# For the simulator's core. A base may have a compiler, or nothing to install one with.
# hadolint ignore=DL3008
RUN command -v cc || test -n "${PIP_NO_INDEX}" \
    || { apt-get update -q && apt-get install -y -q --no-install-recommends gcc libc6-dev \
        && rm -rf /var/lib/apt/lists/*; } \
    || echo "No C compiler was installed."
COPY . /source
RUN /opt/pico-gz/bin/pip install --no-deps --no-build-isolation --prefix /kit /source \
    && PYTHONPATH="$(echo /kit/lib/python3*/site-packages)" \
        /opt/pico-gz/bin/python3 -m pico_gz.simulator.native_build

# The programs that install packages are of no use afterwards, nor are MAVLink's other dialects: the
# kit has its own ("all"), and programs with pymavlink ask for ardupilotmega or common.
FROM dependencies AS environment
COPY docker/drop_dialects.py /dependencies/
RUN /opt/pico-gz/bin/pip uninstall --yes setuptools pip \
    && /opt/pico-gz/bin/python3 /dependencies/drop_dialects.py all ardupilotmega common

FROM ${BASE_IMAGE} AS lightweight
ARG VERSION=0.2.0
LABEL org.opencontainers.image.title="pico-gz" \
      org.opencontainers.image.description="Rover autopilots against simulated worlds" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=environment /opt/pico-gz /opt/pico-gz
COPY --from=builder /kit /opt/pico-gz
# A named volume takes over the owner of the folder that it covers.
RUN mkdir /runs && chown 10001:10001 /runs
ENV PATH=/opt/pico-gz/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOME=/tmp
WORKDIR /runs
USER 10001:10001
CMD ["python3", "-m", "pico_gz.cli.tools.containers.inside.bridge", "lightweight"]

# ArduPilot's own Rover SITL as an external autopilot. There is no default program: give the
# address of one that you trust, and its digest, which is checked.
#
#   docker build -f docker/lightweight.Dockerfile --target ardurover -t pico-gz-ardurover \
#     --build-arg ARDUROVER_URL=https://... --build-arg ARDUROVER_SHA256=... .
FROM ${BASE_IMAGE} AS ardurover-program
ARG ARDUROVER_URL=
ARG ARDUROVER_SHA256=
COPY docker/fetch_checked.py /
RUN python3 /fetch_checked.py "${ARDUROVER_URL}" "${ARDUROVER_SHA256}" /ardurover

FROM lightweight AS ardurover
COPY --from=ardurover-program /ardurover /usr/local/bin/ardurover
CMD ["python3", "-m", "pico_gz.cli.tools.containers.inside.ardurover"]
