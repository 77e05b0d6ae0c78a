"""Fixtures that several integration tests share: Gazebo, a Docker engine, and the images on it."""

import hashlib

import docker_engine
import docker_images
import pytest
from docker_stack import build
from external_programs import need_gazebo

# Tests of another checkout may use the same engine.
IMAGE = f"pico-gz-test:{hashlib.sha256(bytes(docker_images.ROOT)).hexdigest()[:8]}"


@pytest.fixture(scope="session")
def gazebo():
    """The Gazebo of this machine; without one that works the test is skipped."""
    return need_gazebo()


@pytest.fixture(scope="session")
def engine():
    """The environment that reaches a Docker engine; without one the test is skipped, loudly."""
    try:
        with docker_engine.engine() as environ:
            problem = docker_engine.compose_problem()
            if problem:
                pytest.skip(f"no container was tested: {problem}")
            yield environ
    except docker_engine.NoEngineError as exc:
        pytest.skip(f"no container was tested: {exc}")


@pytest.fixture(scope="session")
def base(engine):
    """The base image's name."""
    try:
        return docker_images.base_image(engine)
    except docker_images.NoImageError as exc:
        pytest.skip(f"no container was tested: {exc}")


@pytest.fixture(scope="session")
def context(engine, base, tmp_path_factory):
    """A copy of the project to build images from, with all wheels."""
    try:
        wheels = docker_images.wheels(engine, base)
    except docker_images.NoImageError as exc:
        pytest.skip(f"no container was tested: {exc}")
    return docker_images.make_context(tmp_path_factory.mktemp("context"), wheels)


@pytest.fixture(scope="session")
def image(context, engine, base):
    """The lightweight image, built from this checkout."""
    with docker_images.one_at_a_time("build"):
        # Named, so that the next run finds its layers and removes those that it replaces.
        for target in ("builder", "environment"):
            build(context, engine, base, target=target, tag=f"{IMAGE}-{target}")
        return build(context, engine, base, tag=IMAGE)
