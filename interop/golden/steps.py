"""A Step is one request, how its answer is compared, and the recorded answer. A Scenario is a list of steps."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """One request. An empty ``request`` closes the connection instead."""

    name: str
    shows: str
    request: bytes
    # Empty where none is due: to a oneway request nothing may come back.
    answer: bytes
    # The name of the connection that carries it; opened at its first use.
    connection: str = "main"
    # Java applies some changes after its answer, so the request is repeated until the answer contains this.
    until: bytes = b""
    # Collections that Java lists in hash order, as paths of interop.golden.compare; compared after sorting.
    unordered: tuple[str, ...] = ()
    # The remark is the text of a Java exception; only its presence is compared.
    free_remark: bool = False


@dataclass(frozen=True)
class Scenario:
    """Requests to a fresh name server with these properties."""

    name: str
    shows: str
    properties: dict[str, str]
    steps: tuple[Step, ...]

    @property
    def answers(self) -> list[bytes]:
        return [step.answer for step in self.steps]
