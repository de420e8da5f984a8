"""The image without any right: read-only root, no capability, no new privileges, its own seccomp profile."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from interop.docker import containers
from interop.docker.containers import Container, announce, assert_registers_and_finds
from interop.docker.engine import Engine
from interop.docker.images import ROOT, Images
from interop.harness.wire import eventually
from tests.behaviour import calls, views
from tests.check import locks
from tests.hostile import confined as profiles
from tests.support.tlsclient import TlsClient, answers

CONFINED = (
    "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", f"--security-opt=seccomp={profiles.IMAGE}",
    "--health-interval=1s",
)  # fmt: skip
PROPERTIES = (
    "listenPort=9876\\njournalPath=/home/rocketmq/namesrv/journal\\njournalNs=confined\\n"
    "rocketns.adminPort=9877\\nrocketns.addressServer=9878\\nrocketns.announcedAddress=127.0.0.1:9876\\n"
)
# The properties are written into the volume, because nothing else can be written.
COMMAND = ("bash", "-c", f"printf '{PROPERTIES}' > ~/namesrv/p && exec ./mqnamesrv -c ~/namesrv/p")
ASK = "import sys, urllib.request as http; print(http.urlopen(sys.argv[1], timeout=30).read().decode())"
# An attacker's first steps, each with what the kernel says.
REFUSED = {
    "unshare": "import ctypes; sys.exit(ctypes.CDLL(None).unshare(0x10000000) == -1)",
    "packet socket": "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "ptrace": "import ctypes; sys.exit(ctypes.CDLL(None).ptrace(0, 0, 0, 0) == -1)",
    "writable and executable memory": "import mmap; mmap.mmap(-1, 4096, prot=7)",
    "a file outside of its volumes": "open('/opt/rocketns/x', 'w')",
}


@pytest.fixture(scope="module")
def confined(engine: Engine, built: Images) -> Iterator[Container]:
    container = containers.run(engine, built.rocketns, *COMMAND, options=CONFINED)
    try:
        container.wait_until_it_serves()
        yield container
    finally:
        container.remove()


def test_the_kernel_confines_it(confined: Container) -> None:
    status = confined.execute("cat", "/proc/1/status")
    found = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert found["Uid"].split() == ["3000"] * 4
    assert {found[name] for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb", "CapInh")} == {"0" * 16}
    assert (found["NoNewPrivs"], found["Seccomp"]) == ("1", "2")


@pytest.mark.parametrize("what", REFUSED)
def test_whoever_takes_it_over_gets_no_more(what: str, confined: Container) -> None:
    script = f"import sys\ntry:\n    {REFUSED[what]}\nexcept OSError:\n    sys.exit(1)\n"
    shell = '/opt/rocketns/bin/python -c "$1" && echo done || echo refused'
    assert confined.execute("sh", "-c", shell, "sh", script).strip() == "refused"


def test_the_bill_of_materials_names_what_is_installed(confined: Container) -> None:
    """Each distribution with a hash that the lock file allows."""
    bill = json.loads(confined.execute("cat", "/opt/rocketns/sbom.cdx.json"))
    lists = "import importlib.metadata as m, json; print(json.dumps({d.name: d.version for d in m.distributions()}))"
    there = json.loads(confined.execute("/opt/rocketns/bin/python", "-c", lists))
    root = bill["metadata"]["component"]
    listed = {one["name"]: one["version"] for one in (*bill["components"], root)}
    assert listed == {locks.canonicalize_name(name): version for name, version in there.items()}
    pins = locks.pins(ROOT / "packaging" / "docker" / "requirements.txt")
    for one in bill["components"]:
        [taken] = one["hashes"]
        assert f"sha256:{taken['content']}" in pins[one["name"]].hashes


def test_it_serves_with_journal_management_port_and_address_server(start: Callable[..., Container]) -> None:
    """Also over TLS, and after a restart, with the routes of its journal; health check and stop command work, too."""
    confined = start(*COMMAND, options=CONFINED)
    confined.wait_for_output("boot success")  # then the other ports are open, too
    with confined.connect() as broker:
        announce(broker, "broker-a", ["Orders", "Payments"])
        with confined.connect() as client, TlsClient(confined.port()) as encrypted:
            assert views.route(client, "Orders")["brokerDatas"]
            assert answers(encrypted)
            calls.put_kv(client, "N", "key", "kept")
            calls.switch(client, "orderMessageEnable", "true")
        assert "rocketns_" in asked(confined, "http://127.0.0.1:9877/metrics")
        assert asked(confined, "http://127.0.0.1:9878/rocketmq/nsaddr").strip()
        eventually(lambda: confined.state()["Health"]["Status"] == "healthy", 120.0, every_s=0.5)
    confined.restart()
    confined.wait_until_it_serves()
    with confined.connect() as client:
        assert calls.get_kv(client, "N", "key").ext == {"value": "kept"}
    assert_registers_and_finds(confined)
    assert "sending SIGTERM" in confined.execute("sh", "mqshutdown", "namesrv")
    assert confined.wait() == 0


def asked(container: Container, url: str) -> str:
    return container.execute("/opt/rocketns/bin/python", "-c", ASK, url)
