"""One stack of containers in a project of its own."""

import json
import secrets
import time
import urllib.request
from pathlib import Path

from docker_images import docker


class Stack:
    """Containers of one Compose project; ``down`` removes all of it.

    Attributes:
        folder: what the images were built from, with ``compose.yaml``.
        project: its name, used by nobody else.
        environ: what Compose sees.
    """

    def __init__(self, folder, engine_environ, *, files=(), **settings):
        self.folder = Path(folder)
        self.project = f"picogz{secrets.token_hex(4)}"
        self.engine_environ = dict(engine_environ)
        # Published on any port that is free, so the one inside must be said.
        self.environ = {**self.engine_environ, "DASHBOARD_INSIDE": "8085", **settings}
        self._files = [word for file in files for word in ("-f", str(file))]

    def compose(self, *words, timeout_s=240, check=True):
        """Run a Compose command for this project."""
        done = docker(
            self.environ, "compose", "-p", self.project, *self._files, *words,
            timeout_s=timeout_s, check=False, cwd=self.folder,
        )  # fmt: skip
        if check and done.returncode != 0:
            raise AssertionError(f"{words}: {done.stderr[-2000:]}\n{self.logs()[-3000:]}")
        return done.stdout

    def logs(self):
        """What the containers said."""
        return self.compose("--profile", "*", "logs", "--no-color", check=False)

    def down(self):
        """Remove everything."""
        self.compose("--profile", "*", "down", "-v", "--timeout", "5", check=False)

    def container(self, service):
        """The id of a service's container."""
        return self.compose("ps", "-a", "-q", service).strip()

    def inspect(self, service):
        """All that the engine knows of a service's container."""
        return json.loads(docker(self.environ, "inspect", self.container(service)).stdout)[0]

    def run_inside(self, service, *words, check=True):
        """Run a command in a service's container."""
        done = docker(self.environ, "exec", self.container(service), *words, check=False)
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout

    def port(self, service, inside):
        """Where a port was published, HOST, PORT."""
        host, _, port = self.compose("port", service, str(inside)).strip().rpartition(":")
        return host, int(port)

    def get(self, service, path, *, port=8085):
        """Fetch a page of the browser view; returns the status and the text."""
        host, number = self.port(service, port)
        request = urllib.request.urlopen(f"http://{host}:{number}{path}", timeout=10)
        with request as answer:
            return answer.status, answer.read().decode()

    def health(self, service):
        """The engine's opinion of a service."""
        return self.inspect(service)["State"]["Health"]["Status"]

    def stop(self, service):
        """Stop a service, which must need less than its 5 s; returns its exit code.

        On a machine that is busy with other things the limit grows with the time of a bare Python
        in the same container, and the engine is told to be as patient.
        """
        assert self.inspect(service)["Config"]["StopTimeout"] == 5
        started_s = time.monotonic()
        self.run_inside(service, "python3", "-c", "pass")
        limit_s = max(5.0, 20 * (time.monotonic() - started_s))
        started_s = time.monotonic()
        docker(self.environ, "stop", "--time", "120", self.container(service))
        assert time.monotonic() - started_s < limit_s
        return self.inspect(service)["State"]["ExitCode"]

    def wait_for_health(self, service, wanted="healthy", timeout_s=60.0):
        """Wait until the engine's opinion is the wanted one."""
        deadline_s = time.monotonic() + timeout_s
        while (found := self.health(service)) != wanted:
            assert time.monotonic() < deadline_s, f"{service} is {found}: {self.logs()[-2000:]}"
            time.sleep(0.3)


def build(folder, environ, base, *, target="lightweight", tag, **arguments):
    """Build an image with the classic builder, which every engine has.

    An older image of the same tag is removed, with its layers.
    """
    words = ["build", "-f", "docker/lightweight.Dockerfile", "--target", target, "-t", tag]
    for name, value in {"BASE_IMAGE": base, "PIP_NO_INDEX": "1", **arguments}.items():
        words += ["--build-arg", f"{name}={value}"]
    before = _id_of(environ, tag)
    done = docker(
        {**environ, "DOCKER_BUILDKIT": "0"}, *words, ".", timeout_s=400, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    if before not in ("", _id_of(environ, tag)):
        docker(environ, "image", "rm", before, check=False)
    return tag


def _id_of(environ, tag):
    return docker(environ, "image", "inspect", "-f", "{{.Id}}", tag, check=False).stdout.strip()
