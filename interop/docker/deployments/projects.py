"""A deployment of several containers, as a Compose file describes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from interop.docker.containers import Container
from interop.docker.engine import Engine

FILES = Path(__file__).parents[1] / "compose"
UP_TIMEOUT_S = 400.0


@dataclass
class Project:
    """The containers of one file. ``environment`` has the variables of the file."""

    engine: Engine
    name: str
    environment: dict[str, str]
    file: Path = field(init=False)
    command: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.file = FILES / f"{self.name}.yaml"
        self.command = [*self.engine.compose_command(), "--project-name", self._name]

    @property
    def _name(self) -> str:
        return f"rocketns-{self.name}"

    def compose(self, *words: str) -> str:
        """``docker-compose words``; its standard output."""
        command = [*self.command, "--file", str(self.file), *words]
        return self.engine.run(command, timeout_s=UP_TIMEOUT_S, environment=self.environment)

    def up(self, *options: str) -> None:
        """Make what the file describes, and change what differs from it."""
        self.compose("up", "--detach", "--no-build", *options)

    def down(self) -> None:
        """Remove its containers, networks and volumes."""
        self.compose("down", "--volumes", "--timeout", "1")

    def containers(self, service: str) -> list[Container]:
        """Also those that have stopped, by the labels that Compose gives them: docker-compose is a second of Python."""
        labels = {"project": self._name, "service": service}
        filters = [f"--filter=label=com.docker.compose.{key}={value}" for key, value in labels.items()]
        found = self.engine.docker("ps", "--all", "--quiet", "--no-trunc", *filters)
        return [Container(self.engine, one) for one in found.split()]

    def container(self, service: str) -> Container:
        """The only container of a service."""
        (only,) = self.containers(service)
        return only

    def run(self, image: str, *command: str, options: tuple[str, ...] = ()) -> Container:
        """A further container in the project's network."""
        words = ["run", "--detach", f"--network={self._name}_default", *options, image, *command]
        return Container(self.engine, self.engine.docker(*words).split()[-1])
