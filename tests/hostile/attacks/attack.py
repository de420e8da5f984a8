"""An attack is a row: what is sent, by whom, and what shows that it succeeded. It is judged by its outcome only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from interop.harness import codes
from interop.harness.wire import Answer, Client
from tests.hostile.attacks.policy import STRANGER
from tests.hostile.attacks.scene import Scene

SUCCEEDS = "**succeeds**"
CLOSED = "closed"
NOTHING = "nothing to send"
BLACK_LIST = "Can not update config in black list."
WORDS = {
    codes.SUCCESS: "no effect, code 0",
    codes.SYSTEM_BUSY: "refused, code 2",
    codes.REQUEST_CODE_NOT_SUPPORTED: "not answered by a name server, code 3",
    codes.NO_PERMISSION: "refused, code 16",
}


class Request(NamedTuple):
    """One request of an attack."""

    code: int
    ext: dict[str, str] | None = None
    body: bytes = b""


class Row(Protocol):
    """``name`` and ``does`` are the first two cells; ``play`` gives the text of the others, one for each server.

    Behind `` (`` a text may have a figure, which is not the same in each run. ``is_stopped``: whether ``enforce`` must
    stop it; None where that depends on more than the policy.
    """

    @property
    def name(self) -> str: ...

    @property
    def does(self) -> str: ...

    @property
    def is_stopped(self) -> bool | None: ...

    def play(self, scene: Scene) -> str: ...


def nothing(_: Scene) -> None:
    """There is nothing to undo."""


def stranger(scene: Scene) -> Client:
    """From an address whose clients may look up routes."""
    return scene.connect(STRANGER)


@dataclass(frozen=True)
class Attack:
    """Requests on one connection of ``peer``, each sent when the one before is answered.

    ``harm``: whether the attack succeeded, seen by the fleet. ``undo``: of what other attacks would notice.
    """

    name: str
    does: str
    requests: Callable[[Scene], Iterable[Request]]
    harm: Callable[[Scene], bool]
    peer: Callable[[Scene], Client] = stranger
    undo: Callable[[Scene], None] = nothing
    is_stopped: bool | None = True

    def play(self, scene: Scene) -> str:
        """Send the requests, and say what became of them."""
        is_closed = False
        try:
            client = self.peer(scene)
            for request in self.requests(scene):
                scene.answers.append(client.request(*request))
        except ConnectionError:
            is_closed = True
        harmed = self.harm(scene)
        self.undo(scene)
        if harmed:
            return SUCCEEDS
        return CLOSED if is_closed else said(scene.answers)


def said(answers: list[Answer]) -> str:
    """Of an attack without success: what the first answer says that refuses something."""
    if not answers:
        return NOTHING
    answer = next((one for one in answers if one.code != codes.SUCCESS), answers[-1])
    if answer.remark == BLACK_LIST:
        return "refused by the black list, code 16"
    return WORDS.get(answer.code, f"refused, code {answer.code}")


def verdict(cell: str) -> str:
    """A cell without its figure."""
    return cell.partition(" (")[0]
