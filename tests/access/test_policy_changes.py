"""A policy that changes while the server runs."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from interop.harness.servers import NameServer
from interop.harness.wire import eventually
from tests.access.conftest import StartGuarded, write_policy
from tests.access.signing import signed

REFUSED = 16
OFF = """
    [modes]
    [principals.p]
    networks = ["192.0.2.0/24"]
    may = ["admin"]
"""
ENFORCED = OFF.replace("[modes]", '[modes]\n    admin = "enforce"')
WIPE = {"brokerName": "b"}


def is_refused(server: NameServer) -> bool:
    with server.connect() as client:
        return client.request(205, WIPE).code == REFUSED


def test_changed_policy_is_followed_by_open_connections(start_guarded: StartGuarded, policy_file: Path) -> None:
    server = start_guarded(OFF)
    with server.connect() as client:
        assert client.request(205, WIPE).code == 0
        write_policy(policy_file, ENFORCED)
        assert eventually(lambda: client.request(205, WIPE).code == REFUSED)
        write_policy(policy_file, ENFORCED.replace("192.0.2.0/24", "127.0.0.0/8"))
        assert eventually(lambda: client.request(205, WIPE).code == 0)


def test_sighup_reads_the_policy(start_guarded: StartGuarded, policy_file: Path) -> None:
    server = start_guarded(OFF)
    write_policy(policy_file, ENFORCED)
    os.kill(server.pid, signal.SIGHUP)
    assert eventually(lambda: is_refused(server))


def test_wrong_policy_changes_nothing_and_its_line_is_logged(start_guarded: StartGuarded, policy_file: Path) -> None:
    server = start_guarded(ENFORCED)
    write_policy(policy_file, OFF + "\n    no_such_key = 1\n")
    server.process.wait_for(r"the policy stays as it was: .*access.toml, line 7: principals.p.no_such_key")
    assert is_refused(server)


def test_deleted_policy_changes_nothing(start_guarded: StartGuarded, policy_file: Path) -> None:
    server = start_guarded(ENFORCED)
    policy_file.unlink()
    server.process.wait_for("the policy stays as it was: .*cannot be read")
    assert is_refused(server)


def test_server_does_not_start_with_a_wrong_policy(start_guarded: StartGuarded) -> None:
    with pytest.raises(Exception, match=r"line 3: modes\.admin: 'force' must be one of off, observe, enforce"):
        start_guarded(ENFORCED.replace('"enforce"', '"force"'))


def test_changed_file_of_secrets_is_followed(start_guarded: StartGuarded, tmp_path: Path) -> None:
    secrets = tmp_path / "secrets"
    write_policy(secrets, "rocketmq anothersecret\n")
    server = start_guarded("""
        secrets = "secrets"
        [modes]
        admin = "enforce"
        [principals.p]
        keys = ["rocketmq"]
        may = ["admin"]
    """)
    with server.connect() as client:
        assert client.request(205, signed(WIPE)).code == REFUSED
        write_policy(secrets, "# of mqadmin\nrocketmq 12345678\n")
        assert eventually(lambda: client.request(205, signed(WIPE)).code == 0)


def test_log_of_a_server_has_no_secret(start_guarded: StartGuarded, policy_file: Path) -> None:
    keyed = ENFORCED + '\n    [keys.k]\n    secret = "not-to-be-seen"\n'
    server = start_guarded(keyed)
    with server.connect() as client:
        client.request(205, signed(WIPE, key="k", secret="wrong"))
        assert b"not-to-be-seen" not in (client.request(319).body or b"")
    write_policy(policy_file, keyed + "    more = 1\n")
    server.process.wait_for("the policy stays as it was")
    server.stop()
    assert "not-to-be-seen" not in server.process.text()
