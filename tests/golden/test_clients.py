"""rocketns answers what real clients asked as the Java name server did; `interop/traffic` recorded both."""

from __future__ import annotations

import base64
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from interop.harness.servers import NameServer
from interop.traffic.corpus import CORPUS, play
from rocketns.protocol.command import decode
from rocketns.shadow.recording import read_recording
from rocketns.shadow.replay import Result
from rocketns.tools.decode.showing import SECRET_FIELDS

CLIENTS = (
    "broker-4.9.7", "broker-5.3.3", "broker-5.5.0", "go", "java-4.9.7", "java-5.5.0", "master-5.5.0", "mqadmin-5.5.0",
    "node", "node-ons", "proxy-5.5.0", "python", "rust", "slave-5.5.0",
)  # fmt: skip
ASKED = {100, 101, 102, 103, 104, 105, 106, 205, 206, 216, 224, 318, 319, 322, 327}
BYTES_MAX = 1024 * 1024
# What a machine would leave in frames.
MACHINE = (b"/tmp", b"/root", b"/home", b"/var")


@pytest.fixture(scope="module")
def played(server_class: type[NameServer]) -> Iterator[Result]:
    """The whole corpus, played to one fresh server: clients see what brokers and mqadmin did before."""
    with tempfile.TemporaryDirectory() as home, server_class(Path(home)) as server:
        yield play(server)


def test_every_client_gets_the_answers_that_java_gave(played: Result) -> None:
    assert played.differing == []
    assert (played.unanswered, played.listed) == (0, Counter())
    pairs = list(read_recording(CORPUS))
    assert (played.sent, played.judged) == (len(pairs), sum(pair.upstream is not None for pair in pairs))
    assert {pair.peer for pair in pairs} == set(CLIENTS)
    assert {decode(pair.request).code for pair in pairs} == ASKED


def test_the_corpus_has_nothing_of_a_machine_or_a_key() -> None:
    for line in CORPUS.read_bytes().splitlines()[1:]:
        fields = json.loads(line)
        frames = [base64.b64decode(fields[name]) for name in ("request", "upstream") if fields[name]]
        shown = b"".join(frames)
        assert not [word for word in MACHINE if word in shown]
        assert not [name for name in SECRET_FIELDS if name.encode() in shown.lower()]
