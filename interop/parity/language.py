"""The steps of which scenarios consist. All of it is data: ``perform`` executes it, ``requests`` writes the frames.

A name that ends in NAME is the scenario's own: NAME becomes a number of three characters in every frame, so that one
pair of servers can serve all scenarios, and each as often as wanted. PORTS do the same for addresses that the servers
are to connect to. Both keep their length, so no length in a frame changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

NAME = "~~~"
PORTS = ("@1@@@", "@2@@@", "@3@@@")
VERSIONS = (0, 36, 37, 400, 401, 475, 513)


@dataclass(frozen=True)
class Form:
    """How a peer writes its requests: the header's encoding and its protocol version."""

    binary: bool
    version: int

    def __str__(self) -> str:
        return f"{'binary' if self.binary else 'json'}-{self.version}"

    @classmethod
    def of(cls, text: str) -> Form:
        encoding, _, version = text.partition("-")
        return cls(encoding == "binary", int(version))


JSON_513 = Form(False, 513)
EVERY_FORM = tuple(Form(binary, version) for binary, version in product((False, True), VERSIONS))
ONE_FORM = (JSON_513,)
BOTH_ENCODINGS = (JSON_513, Form(True, 513))


@dataclass(frozen=True)
class RegisterBody:
    """A registration's body as brokers of the sending version write it: the bare wrapper before 37, then the whole."""

    topics: tuple[Mapping[str, Any], ...]
    version: Mapping[str, int]
    filters: tuple[str, ...] | None = ()
    mapping: Mapping[str, Any] | None = None
    deflated: bool = False


@dataclass(frozen=True)
class Deflated:
    """A body that is compressed when it is sent, after its names got their numbers. ``level`` is zlib's."""

    inner: bytes | Callable[[], bytes]
    level: int = -1


# A function makes a body that is too large to be made in advance.
Body = bytes | RegisterBody | Deflated | Callable[[], bytes]


@dataclass(frozen=True)
class Request:
    """A well-formed request. ``form`` overrides the one that the scenario is played in."""

    code: int
    ext: Mapping[str, Any] | None = None
    body: Body = b""
    flag: int = 0
    opaque: int | None = None
    language: str = "JAVA"
    form: Form | None = None


@dataclass(frozen=True)
class Differs:
    """A difference by its id in docs/differences.md: patterns of what Java and what rocketns answers."""

    id: str
    java: str
    rocketns: str


@dataclass(frozen=True)
class Step:
    """The base of all steps: the connection that a step uses, opened at its first use."""

    on: str = field(default="main", kw_only=True)
    # The differences of docs/differences.md that this step must show.
    differs: Differs | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Ask(Step):
    """Send a request and compare the answer or the close. ``exact``: nothing is sorted before."""

    what: Request | bytes
    exact: bool = False


@dataclass(frozen=True)
class Until(Step):
    """Ask again and again, each server for itself, until the answer has a text, lacks one, or has a code."""

    what: Request
    has: str = ""
    lacks: str = ""
    code: int | None = None
    # False where the rest of the answer is a matter of time.
    compared: bool = True


@dataclass(frozen=True)
class HowMany(Step):
    """Only how often the answer has a text is compared: which of several it is, Java leaves open."""

    what: Request
    of: str


@dataclass(frozen=True)
class Send(Step):
    """Send bytes or a request and expect no answer."""

    what: Request | bytes


@dataclass(frozen=True)
class Quiet(Step):
    """Check that nothing has arrived: the next answer must be that to a request sent now."""


@dataclass(frozen=True)
class Waits(Step):
    """The server neither answers nor closes for a moment."""

    for_s: float = 0.1


@dataclass(frozen=True)
class Closed(Step):
    """The server closes, having sent nothing more."""


@dataclass(frozen=True)
class Together(Step):
    """Send several requests in one piece; their answers may come in any order."""

    what: tuple[Request, ...]
    # Compare only which codes and remarks there are: how many of each is a matter of time.
    kinds_only: bool = False


@dataclass(frozen=True)
class Dribble(Step):
    """Send in pieces of ``size`` bytes, then compare as Ask does."""

    what: Request | bytes
    size: int = 1


@dataclass(frozen=True)
class HangUp(Step):
    """Close the connection, or only its sending half."""

    half: bool = False


@dataclass(frozen=True)
class Settle(Step):
    """Wait until all earlier unregistrations and closes have taken effect."""


@dataclass(frozen=True)
class Handshake(Step):
    """Open TLS on the connection: the certificate shown, or that the server closes, is compared.

    ``client`` names the certificate that the peer has; ``version`` is the only one of TLS that it speaks. ``until`` a
    certificate of this name is shown, reconnecting.
    """

    client: str = ""
    version: str = ""
    until: str = ""


@dataclass(frozen=True)
class Write(Step):
    """Write a file of both servers' folders: a text as in Setup.files."""

    name: str
    content: str


@dataclass(frozen=True)
class SameFile(Step):
    """Compare a file of both servers' folders; of a JSON file the members may be in any order."""

    name: str


@dataclass(frozen=True)
class Notified(Step):
    """Wait until the listeners got ``count`` requests from each server since the last such step; they are compared.

    ``rocketns``: where rocketns sends fewer than Java, so many.
    """

    count: int
    rocketns: int | None = None


@dataclass(frozen=True)
class Alone(Step):
    """Steps that each server plays alone, for requests that must follow each other quickly.

    Nothing of them is compared.
    """

    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Expired(Step):
    """Wait until the server closed the connection, or no group has the address any more."""

    addr: str


@dataclass(frozen=True)
class Journalled(Step):
    """Wait until rocketns' journal has a name."""

    name: str


@dataclass(frozen=True)
class Compare(Step):
    """Compare everything that can be queried, as at the end of a scenario."""


@dataclass(frozen=True)
class Terminate(Step):
    """SIGTERM to both servers."""


@dataclass(frozen=True)
class Restart(Step):
    """Stop both servers, or kill them, and start them again on their files."""

    killed: bool = False


@dataclass(frozen=True)
class Setup:
    """The start of a pair of servers. HOME in any value is the server's own folder.

    ``files`` are written there before: texts, or what of certificates and keys follows "pem:".
    """

    name: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    # Whether brokers can register without TLS, so that plays can be cleaned up after.
    plain: bool = True
    # Whether its queues are so short that a second request may be refused.
    narrow: bool = False
    # Of the Java name server.
    release: str = "5.5.0"
    # Whether a peer opens TLS and sees the certificate that each server makes for itself. OpenSSL refuses a short key.
    long_key: bool = False


@dataclass(frozen=True)
class Scenario:
    """``rows`` are of the table of the Java server's behaviour. ``forms``: those in which it can be played, if not all.

    ``state``: whether everything that can be asked about the servers is compared at the end.
    ``attempts``: how often a race of Java may be played until it shows, when it is recorded.
    """

    name: str
    rows: str
    steps: tuple[Step, ...]
    setup: str = "base"
    forms: tuple[Form, ...] = ()
    state: bool = True
    listeners: int = 0
    attempts: int = 1
