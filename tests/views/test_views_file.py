"""What a file of views is read as, or refused for, with line and reason."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from rocketns.access.policy_values import PolicyError
from rocketns.errors import StartupError
from rocketns.routeinfo.tables import RouteTables
from rocketns.server import following
from rocketns.server.following import ViewsFile
from rocketns.views.views import View
from rocketns.views.views_file import read_views

OUTSIDE = """\
[views.outside]
networks = ["203.0.113.0/24", "198.51.100.0/24"]
[views.outside.addresses]
"broker-a/0" = "203.0.113.7:30911"
"10.1.0.6:10911" = "203.0.113.8:30911"
"10.2.0.0/16" = "198.51.0.0/16:+20000"
[views.port]
listen = "0.0.0.0:19876"
"""
ONE = '[views.a]\nnetworks = ["10.0.0.0/8"]\n'


def test_file_of_the_documentation_is_read() -> None:
    outside, port = read_views("views.toml", OUTSIDE)
    assert [str(one) for one in outside.networks] == ["203.0.113.0/24", "198.51.100.0/24"]
    assert dict(outside.mapping.brokers) == {("broker-a", 0): "203.0.113.7:30911"}
    assert dict(outside.mapping.addresses) == {"10.1.0.6:10911": "203.0.113.8:30911"}
    assert [rule.text for rule in outside.mapping.networks] == ["10.2.0.0/16 = 198.51.0.0/16:+20000"]
    assert (port.name, port.listen, port.networks, len(port.mapping)) == ("port", "0.0.0.0:19876", (), 0)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[views.a\n", "it is no TOML"),
        ("x = " + "[" * 5000, "nested too deeply"),
        (ONE.rstrip("\n"), "line 2: the last line has no end"),
        ("[other]\n", "other: only views are here"),
        ("views = 1\n", "line 1: views: must be a table"),
        ('[views."a b"]\nlisten = "h:1"\n', "1 to 64 letters"),
        ("[views.a]\n", "line 1: views.a.networks: who is in the view?"),
        ('[views.a]\nnetworks = ["10.0.0.0/8"]\nlisten = "h:1"\n', "line 2: views.a.networks: who is in the view?"),
        ("[views.a]\nnetworks = []\n", "line 2: views.a.networks: who is in the view?"),
        ('[views.a]\nnetworks = ["10.0.0.1/8"]\n', "line 2: views.a.networks: 10.0.0.1/8 has host bits set"),
        ('[views.a]\nlisten = "9876"\n', "line 2: views.a.listen: '9876' must be host:port"),
        ('[views.a]\nlisten = "h:0"\n', "must be host:port"),
        (ONE + 'zone = "z"\n', "line 3: views.a.zone: there is no such key"),
        (
            ONE + '[views.b]\nnetworks = ["10.0.0.0/8"]\n',
            "line 4: views.b.networks: 10.0.0.0/8 is also of the view 'a'",
        ),
        (ONE + '[views.b]\nnetworks = ["::ffff:10.0.0.0/104"]\n', "10.0.0.0/8 is also of the view 'a'"),
        ('[views.a]\nlisten = "h:1"\n[views.b]\nlisten = "h:1"\n', "line 4: views.b.listen: h:1 is also of"),
        (ONE + '[views.a.addresses]\n"broker-a" = "h:1"\n', "line 4: views.a.addresses.broker-a: must be a broker"),
        (ONE + '[views.a.addresses]\n"broker-a/0" = "203.0.113.7"\n', "line 4: views.a.addresses.broker-a/0: "),
        (ONE + '[views.a.addresses]\n"broker-a/0" = 10911\n', "must be a text"),
        (ONE + '[views.a.addresses]\n"10.0.0.1:10911" = "203.0.113.7:0"\n', "must be host:port"),
        (ONE + '[views.a.addresses]\n"10.0.0.0/16" = "203.0.113.0/24"\n', "line 4: .*differ in size"),
        (ONE + '[views.a.addresses]\n"10.0.0.0/16" = "2001::/16"\n', "differ in size"),
        (ONE + '[views.a.addresses]\n"10.0.0.1/16" = "203.0.0.0/16"\n', "10.0.0.1/16 has host bits set"),
        (ONE + '[views.a.addresses]\n"10.0.0.0/16" = "203.0.0.0/16:20000"\n', "must be a network of the same size"),
        (ONE + '[views.a.addresses]\n"10.0.0.0/16" = "203.0.0.0/16:+65535"\n', "no port moves by 65535"),
        ("".join(f'[views.v{n}]\nlisten = "h:{n + 1}"\n' for n in range(17)), "17 views, more than 16"),
    ],
)
def test_wrong_file_is_refused_whole(text: str, why: str) -> None:
    with pytest.raises(PolicyError, match=f"^views.toml.*{why}"):
        read_views("views.toml", text)


def test_too_many_networks_and_rules_are_refused() -> None:
    lists = [", ".join(f'"10.{place}.{n}.0/24"' for n in range(256)) for place in range(5)]
    text = "".join(f"[views.v{place}]\nnetworks = [{one}]\n" for place, one in enumerate(lists))
    with pytest.raises(PolicyError, match="1280 networks of all views, more than 1024"):
        read_views("f", text)
    rules = "".join(f'"10.{n // 256}.{n % 256}.1:1" = "h:1"\n' for n in range(4097))
    with pytest.raises(PolicyError, match="4097 rules of all views"):
        read_views("f", f"{ONE}[views.a.addresses]\n{rules}")
    many = "".join(f'"10.{n // 256}.{n % 256}.0/24" = "20.{n // 256}.{n % 256}.0/24"\n' for n in range(257))
    with pytest.raises(PolicyError, match="257 networks, more than 256"):
        read_views("f", f"{ONE}[views.a.addresses]\n{many}")


def test_each_beginning_of_a_file_is_refused_or_has_whole_lines() -> None:
    """A file that is written in place may be read half written: no rule of it is another than in the whole."""
    whole = {view.name: view for view in read_views("f", OUTSIDE)}
    for end in range(1, len(OUTSIDE)):
        try:
            views = read_views("f", OUTSIDE[:end])
        except PolicyError:
            continue
        assert OUTSIDE[end - 1] == "\n"
        for view in views:
            assert set(view.networks) <= set(whole[view.name].networks)
            assert view.mapping.brokers.items() <= whole[view.name].mapping.brokers.items()


def test_file_is_followed_and_a_wrong_one_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, followed = tmp_path / "views.toml", list[tuple[View, ...]]()
    monkeypatch.setattr(following, "in_a_thread", lambda read, take: take(read()))
    file = ViewsFile(str(path), lambda _: {}, lambda views, _: followed.append(tuple(views)), RouteTables())
    with pytest.raises(StartupError, match=r"views of rocketns\.viewsFile cannot be used: .*cannot be read"):
        file.read_first()
    path.write_text(ONE, "utf-8")
    file.read_first()
    for text, count in (("[views]\n", 2), ("", 2), ("[views.a]\n", 2), (textwrap.dedent(OUTSIDE), 3)):
        path.write_text(text, "utf-8")
        file.check()
        file.check()
        assert len(followed) == count
    assert [[view.name for view in views] for views in followed] == [["a"], [], ["outside", "port"]]
    assert file.failures == 2
