"""`rocketns views check`, `get route --as`, and the views in the API of the management port."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.ports import free_port
from interop.harness.servers import NameServer
from interop.harness.wire import Client
from rocketns.protocol.body.route import BrokerData
from rocketns.tools.main import main
from rocketns.views.checking import notices, overlaps, problems, view_named
from rocketns.views.views import Views
from rocketns.views.views_file import read_views

FILE = """\
[views.outside]
networks = ["203.0.113.0/24"]
[views.outside.addresses]
"a/0" = "203.0.113.7:1"
"10.0.0.2:10911" = "203.0.113.7:1"
"10.9.0.0/16" = "198.51.0.0/16"
[views.office]
networks = ["203.0.113.128/25", "127.0.7.0/24"]
[views.port]
listen = "0.0.0.0:19876"
"""
GROUPS = {
    "a": BrokerData("c", "a", {0: "10.0.0.1:10911", 1: "10.0.0.2:10911"}),
    "b": BrokerData("c", "b", {0: "203.0.113.200:10911"}),
}


def test_what_is_wrong_and_what_is_to_be_noticed() -> None:
    views = Views(read_views("f", FILE))
    assert list(overlaps(list(views))) == [
        "203.0.113.128/25 of the view office is in 203.0.113.0/24 of outside: the smaller one counts"
    ]
    assert list(problems(views, GROUPS, {"10.0.0.2:10911": "port"})) == [
        "view outside: 203.0.113.7:1 is the address of several brokers: a/0 10.0.0.1:10911, a/1 10.0.0.2:10911",
        "the broker a/1 10.0.0.2:10911 is in the view port: take its host out of the networks, or let it register at "
        "listenPort",
        "the broker b/0 203.0.113.200:10911 is in the view office: take its host out of the networks, or let it "
        "register at listenPort",
    ]
    assert list(notices(views, GROUPS))[:2] == [
        "view outside: 1 of 3 addresses have no rule, and are shown as announced: b/0 203.0.113.200:10911",
        "view outside: no registered broker uses 10.9.0.0/16 = 198.51.0.0/16",
    ]


@pytest.mark.parametrize(
    ("who", "view"),
    [("203.0.113.7", "outside"), ("203.0.113.129", "office"), ("192.0.2.1", None), ("port", "port"),
     ("0.0.0.0:19876", "port"), ("::ffff:203.0.113.7", "outside")],
)  # fmt: skip
def test_client_is_named_by_its_address_or_its_view(who: str, view: str | None) -> None:
    found = view_named(Views(read_views("f", FILE)), who)
    assert (None if found is None else found.name) == view


def test_nobody_is_named_by_another_text() -> None:
    with pytest.raises(LookupError, match=r"x: an IP address, or the name of a view \(outside, office, port\)"):
        view_named(Views(read_views("f", FILE)), "x")


@pytest.fixture
def server(server_class: type[NameServer], tmp_path: Path) -> Iterator[NameServer]:
    path, port = tmp_path / "views.toml", free_port()
    path.write_text(FILE.replace("[views.port]\nlisten", f'[views.port]\nlisten = "127.0.0.1:{port}"\n#'), "utf-8")
    properties = {"rocketns.viewsFile": path, "rocketns.adminPort": free_port()}
    with server_class(tmp_path / "ns", properties) as started:
        yield started


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run_it(*words: str) -> tuple[int, str, str]:
        status = main(words)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run_it


def test_commands_ask_the_server_that_has_the_views(server: NameServer, run: Run, tmp_path: Path) -> None:
    addr, path = f"127.0.0.1:{server.port}", str(tmp_path / "views.toml")
    body = register_body([topic_config("T"), topic_config("U")])
    with Client(server.port) as broker, Client(server.port, source="127.0.7.1") as behind:
        assert broker.request(103, register_ext(broker="a", addr="10.0.0.1:10911", body=body), body).code == 0
        assert behind.request(103, register_ext(broker="b", addr="10.9.0.1:10911", body=body), body).code == 0
        status, out, _ = run("get", "route", "T", "--as", "203.0.113.7", "-n", addr, "--json")
        assert (status, json.loads(out)["view"]) == (0, "outside")
        assert [one["addresses"] for one in json.loads(out)["queues"]] == [
            {"0": "203.0.113.7:1"}, {"0": "198.51.0.1:10911"},
        ]  # fmt: skip
        status, out, _ = run("get", "route", "T", "--as", "outside", "-n", addr)
        assert status == 0
        assert "203.0.113.7:1" in out
        assert run("get", "route", "nobody", "--as", "outside", "-n", addr)[0] == 1
        status, _, err = run("get", "route", "T", "--as", "x", "-n", addr)
        assert (status, "an IP address, or the name of a view" in err) == (2, True)
        status, out, _ = run("views", "check", path, "-n", addr)
        assert status == 1
        assert "the broker b/0 10.9.0.1:10911 is in the view office" in out
        assert "view outside: no registered broker uses 10.0.0.2:10911 = 203.0.113.7:1" in out
        status, out, _ = run("views", "check", path, "-n", addr, "--as", "203.0.113.7")
        assert (status, out.splitlines()[0]) == (0, "203.0.113.7 is in the view outside")
        assert [line.split()[:4] for line in out.splitlines()[3:]] == [
            ["a", "0", "10.0.0.1:10911", "203.0.113.7:1"], ["b", "0", "10.9.0.1:10911", "198.51.0.1:10911"],
        ]  # fmt: skip
        assert run("get", "route", "T", "-n", addr)[1].count("10.0.0.1:10911") == 1
    server.stop()


def test_file_alone_is_checked_without_a_name_server(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "views.toml"
    path.write_text(FILE, "utf-8")
    status, out, _ = run("views", "check", str(path))
    assert (status, out.splitlines()[-1]) == (
        0, "no broker was looked at: -n HOST:PORT names a name server that has them",
    )  # fmt: skip
    path.write_text("[views.a]\n", "utf-8")
    status, _, err = run("views", "check", str(path))
    assert (status, "line 1: views.a.networks: who is in the view?" in err) == (1, True)
    status, _, err = run("views", "check", str(path), "--as", "x")
    assert status == 1
