"""Which restored brokers are asked whether they are gone: the journal knows which host announced an address."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from interop.harness.wire import eventually
from tests.behaviour.views import group
from tests.hostile.listeners import announce, connect_from
from tests.journal.files import records_of
from tests.support.inprocess import TimedServer
from tests.timed.steps import SECOND, pass_time

Serve = Callable[..., TimedServer]
HERE, THERE = "127.0.0.2", "127.0.0.3"
ASKING = {"rocketns.askUnconfirmed": "true", "rocketns.confirmSeconds": 20}
NOBODY_LISTENS = 1  # a port


def announce_both(server: TimedServer) -> None:
    """One host announces itself, and another host. Neither accepts connections."""
    with connect_from(server.port, HERE) as client:
        announce(client, "own", f"{HERE}:{NOBODY_LISTENS}")
        announce(client, "other", f"{THERE}:{NOBODY_LISTENS}")
        server.stop()


def known(server: TimedServer) -> list[str]:
    with server.connect() as client:
        return [name for name in ("own", "other") if group(client, name) is not None]


@pytest.mark.parametrize("restarts", [1, 3])
def test_an_address_that_another_host_announced_is_not_asked(serve: Serve, restarts: int) -> None:
    """It stays as long as one whose host does not answer. Also after restarts that only wrote snapshots."""
    announce_both(serve())
    for _ in range(restarts - 1):
        serve().stop()
    server = serve(**ASKING)
    eventually(lambda: known(server) == ["other"])
    pass_time(server, 19 * SECOND)
    assert known(server) == ["other"]
    pass_time(server, 2 * SECOND)
    eventually(lambda: known(server) == [])


def test_all_brokers_in_networks_of_the_operator_are_asked(serve: Serve) -> None:
    """rocketns.askNetworks."""
    announce_both(serve())
    server = serve(**ASKING | {"rocketns.askNetworks": f"{THERE};10.0.0.0/8"})
    eventually(lambda: known(server) == [])


def test_a_journal_of_an_older_version_names_no_host(serve: Serve, tmp_path: Path) -> None:
    """Then nobody is asked outside of askNetworks, and all leave at the end of their time."""
    announce_both(serve())
    for file in (tmp_path / "j").rglob("*.jsonl"):
        text = file.read_text("utf-8")
        assert f'"from_host":"{HERE}"' in text
        file.write_text(text.replace(f',"from_host":"{HERE}"', ""), "utf-8")
    server = serve(**ASKING)
    pass_time(server, 19 * SECOND)
    assert known(server) == ["own", "other"]
    pass_time(server, 2 * SECOND)
    eventually(lambda: known(server) == [])


def test_the_journal_notes_a_change_of_the_host_once(serve: Serve, tmp_path: Path) -> None:
    server = serve()
    with connect_from(server.port, THERE) as first, connect_from(server.port, HERE) as second:
        for client in (first, first, second, second, first):
            announce(client, "own", f"{HERE}:{NOBODY_LISTENS}")
        server.stop()
    beats = [one for one in records_of(tmp_path / "j") if one["ev"] in ("reg", "hb")]
    assert [one.get("from_host") for one in beats] == [THERE, None, HERE, None, None]
