"""Properties whose values are lists: one reader separates them all, and what cannot be an item is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketns.config import Configuration
from rocketns.config.tls import TlsConfig
from rocketns.errors import StartupError

SEPARATORS = (",", ";", " ", " , ", ";;")


def build(home: Path, *lines: str, **system: str) -> Configuration:
    file = home / "namesrv.properties"
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return Configuration.build(
        str(file), home=home, system={name.replace("_", "."): text for name, text in system.items()}
    )


@pytest.mark.parametrize("between", SEPARATORS)
def test_every_list_is_read_as_people_type_it(tmp_path: Path, between: str) -> None:
    servers, networks, names = (
        between.join(items) for items in (("a:1", "[::1]:2"), ("10.0.0.0/8", "::1"), ("x", ".y.z"))
    )
    made = build(
        tmp_path, f"rocketns.peers={servers}", f"rocketns.seedServers={servers}", f"rocketns.adminHosts={names}",
        f"rocketns.adminDrainFrom={networks}", f"rocketns.askNetworks={networks}",
        f"rocketns.trustedProxies={networks}", f"configBlackList={names}", "clusterTest=true",
        rocketmq_namesrv_addr=servers,
    )  # fmt: skip
    for read in (made.discovery.peer_addresses, made.restore.seeds, made.product_name_servers):
        assert read == ["a:1", "[::1]:2"]
    for networks_read in (made.admin.drain_networks, made.restore.networks, made.access.proxies):
        assert [str(one) for one in networks_read] == ["10.0.0.0/8", "::1/128"]
    assert made.admin.host_names == ["x", ".y.z"]
    assert {"x", ".y.z"} <= made._black_list


@pytest.mark.parametrize("between", SEPARATORS)
def test_the_lists_of_tls_are_read_in_the_same_way(between: str) -> None:
    given = {"tls.protocols": f"TLSv1.2{between}TLSv1.3", "tls.ciphers": f"A{between}B"}
    made = TlsConfig.read(given, {})
    assert (made.protocols, made.ciphers) == (("TLSv1.2", "TLSv1.3"), ("A", "B"))


@pytest.mark.parametrize("name", ["rocketns.peers", "rocketns.seedServers"])
@pytest.mark.parametrize("item", ["b", "10.0.0.0/8", "9876", "http://b:9876", "b:c:1"])
def test_an_item_that_cannot_be_a_host_and_port_stops_the_start_and_is_named(
    tmp_path: Path, name: str, item: str
) -> None:
    with pytest.raises(StartupError) as failed:
        build(tmp_path, f"{name}=a:9876, {item}")
    assert str(failed.value) == f"{name} has {item!r}, but each must be host:port"


@pytest.mark.parametrize("name", ["rocketns.adminDrainFrom", "rocketns.askNetworks", "rocketns.trustedProxies"])
@pytest.mark.parametrize("item", ["a:9876", "10.0.0.0/33", "10.0.0.1/8"])
def test_an_item_that_cannot_be_a_network_is_named(tmp_path: Path, name: str, item: str) -> None:
    with pytest.raises(StartupError, match=f"^{name}: .*{item}"):
        build(tmp_path, f"{name}=10.0.0.0/8, {item}")


def test_a_name_server_of_the_product_environment_is_checked_where_it_is_used(tmp_path: Path) -> None:
    assert build(tmp_path, rocketmq_namesrv_addr="a,b:1").product_name_servers == ["a", "b:1"]
    with pytest.raises(StartupError, match=r"^rocketmq\.namesrv\.addr, or NAMESRV_ADDR, has 'a', but"):
        build(tmp_path, "clusterTest=true", rocketmq_namesrv_addr="a,b:1")
