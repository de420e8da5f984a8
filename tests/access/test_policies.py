"""What becomes of a policy's files while they are watched: written in place, removed, no files at all, links."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from interop.harness.servers import NameServer
from interop.harness.wire import eventually
from rocketns.access.classes import Access, Mode
from rocketns.access.policy import Policy
from rocketns.errors import StartupError
from rocketns.files import read_text
from rocketns.server.access_file import AccessFile, Reading
from tests.access.conftest import StartGuarded, write_policy
from tests.access.signing import signed

PRINCIPAL = '[principals.p]\nnetworks = ["192.0.2.0/24"]\nmay = ["admin"]\n'
ENFORCED = f'[modes]\nadmin = "enforce"\n{PRINCIPAL}'
OBSERVED = f'[modes]\nadmin = "observe"\n{PRINCIPAL}'


class Watched:
    """A policy's file, and the policies that were followed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.followed: list[Policy] = []
        self.file = AccessFile(str(path), self.followed.append)
        self.file.start(9876)

    @property
    def mode(self) -> Mode:
        return self.followed[-1].mode_of(Access.ADMIN)

    def check(self, times: int = 2) -> None:
        """A change is read when a second check sees the same."""
        for _ in range(times):
            self.file.check()


@pytest.fixture
def watched(policy_file: Path) -> Watched:
    policy_file.write_text(ENFORCED, "utf-8")
    return Watched(policy_file)


def test_file_that_changes_between_checks_is_not_read(watched: Watched) -> None:
    """Written in place: each part of it is a policy, and refuses nothing."""
    for written in range(0, len(OBSERVED), 5):
        watched.path.write_text(OBSERVED[:written], "utf-8")
        watched.check(1)
        assert watched.mode is Mode.ENFORCE
    watched.path.write_text(OBSERVED, "utf-8")
    watched.check()
    assert watched.mode is Mode.OBSERVE
    assert (len(watched.followed), watched.file.failures) == (2, 0)


def test_file_that_is_left_empty_changes_nothing(watched: Watched) -> None:
    watched.path.write_text("\n", "utf-8")
    watched.check()
    assert (watched.mode, watched.file.failures) == (Mode.ENFORCE, 1)


def a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def a_device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def a_circle(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


def a_large_file(path: Path) -> None:
    path.write_text("# " + "x" * 5_000_000, "utf-8")


@pytest.mark.parametrize("put", [Path.unlink, a_directory, a_fifo, a_device, a_circle, a_large_file])
def test_what_is_no_policy_changes_nothing_and_waits_for_nobody(watched: Watched, put: Callable[[Path], None]) -> None:
    put(watched.path)
    watched.check(5)
    assert (watched.mode, watched.file.failures) == (Mode.ENFORCE, 1)


@pytest.mark.parametrize("put", [a_directory, a_fifo, a_device])
def test_server_does_not_start_with_what_is_no_file(policy_file: Path, put: Callable[[Path], None]) -> None:
    policy_file.write_text(ENFORCED, "utf-8")
    put(policy_file)
    with pytest.raises(StartupError, match=r"it is no regular file|Is a directory"):
        AccessFile(str(policy_file), lambda _: None).start(9876)


def test_reading_a_fifo_does_not_wait_for_its_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(ValueError, match="no regular file"):
        read_text(str(tmp_path / "fifo"), 10)


def test_links_that_kubernetes_switches_are_followed(tmp_path: Path) -> None:
    """A mounted secret: access.toml → ..data/access.toml, and ..data → a folder, which is replaced as a whole."""
    versions = [mounted(tmp_path, number, text) for number, text in enumerate((ENFORCED, OBSERVED))]
    (tmp_path / "..data").symlink_to(versions[0].name)
    for name in ("access.toml", "secrets"):
        (tmp_path / name).symlink_to(f"..data/{name}")
    watched = Watched(tmp_path / "access.toml")
    (tmp_path / "..data_tmp").symlink_to(versions[1].name)
    (tmp_path / "..data_tmp").rename(tmp_path / "..data")
    watched.check()
    assert (watched.mode, list(watched.followed[-1].secrets)) == (Mode.OBSERVE, ["key-1"])


def mounted(folder: Path, number: int, text: str) -> Path:
    version = folder / f"..version-{number}"
    version.mkdir()
    (version / "access.toml").write_text(f'secrets = "secrets"\n{text}', "utf-8")
    (version / "secrets").write_text(f"key-{number} 12345678\n", "utf-8")
    return version


def test_policy_that_changes_while_it_is_read_is_read_again(policy_file: Path) -> None:
    """One reading at a time, in a thread; what came meanwhile is another one."""
    begun: list[Callable[[], None]] = []

    def later(read: Callable[[], Reading], take: Callable[[Reading], None]) -> None:
        begun.append(lambda: take(read()))

    followed: list[Policy] = []
    policy_file.write_text(ENFORCED, "utf-8")
    file = AccessFile(str(policy_file), followed.append, later)
    file.start(9876)
    for _ in range(3):
        file.reread()
    assert (len(begun), len(followed)) == (1, 1)
    begun.pop()()
    assert (len(begun), len(followed)) == (1, 2)
    begun.pop()()
    assert (len(begun), len(followed)) == (0, 3)


# A policy that changes while the server runs.

REFUSED = 16
OFF = """
    [modes]
    [principals.p]
    networks = ["192.0.2.0/24"]
    may = ["admin"]
"""
ENFORCED_POLICY_CHANGES = OFF.replace("[modes]", '[modes]\n    admin = "enforce"')
WIPE = {"brokerName": "b"}


def is_refused(server: NameServer) -> bool:
    with server.connect() as client:
        return client.request(205, WIPE).code == REFUSED


def test_changed_policy_is_followed_by_open_connections(start_guarded: StartGuarded, policy_file: Path) -> None:
    server = start_guarded(OFF)
    with server.connect() as client:
        assert client.request(205, WIPE).code == 0
        write_policy(policy_file, ENFORCED_POLICY_CHANGES)
        assert eventually(lambda: client.request(205, WIPE).code == REFUSED)
        write_policy(policy_file, ENFORCED_POLICY_CHANGES.replace("192.0.2.0/24", "127.0.0.0/8"))
        assert eventually(lambda: client.request(205, WIPE).code == 0)


def test_sighup_reads_the_policy(start_guarded: StartGuarded, policy_file: Path) -> None:
    server = start_guarded(OFF)
    write_policy(policy_file, ENFORCED_POLICY_CHANGES)
    os.kill(server.pid, signal.SIGHUP)
    assert eventually(lambda: is_refused(server))


def test_wrong_policy_changes_nothing_and_its_line_is_logged(start_guarded: StartGuarded, policy_file: Path) -> None:
    server = start_guarded(ENFORCED_POLICY_CHANGES)
    write_policy(policy_file, OFF + "\n    no_such_key = 1\n")
    server.process.wait_for(r"the policy stays as it was: .*access.toml, line 7: principals.p.no_such_key")
    assert is_refused(server)


def test_deleted_policy_changes_nothing(start_guarded: StartGuarded, policy_file: Path) -> None:
    server = start_guarded(ENFORCED_POLICY_CHANGES)
    policy_file.unlink()
    server.process.wait_for("the policy stays as it was: .*cannot be read")
    assert is_refused(server)


def test_server_does_not_start_with_a_wrong_policy(start_guarded: StartGuarded) -> None:
    with pytest.raises(Exception, match=r"line 3: modes\.admin: 'force' must be one of off, observe, enforce"):
        start_guarded(ENFORCED_POLICY_CHANGES.replace('"enforce"', '"force"'))


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
    keyed = ENFORCED_POLICY_CHANGES + '\n    [keys.k]\n    secret = "not-to-be-seen"\n'
    server = start_guarded(keyed)
    with server.connect() as client:
        client.request(205, signed(WIPE, key="k", secret="wrong"))
        assert b"not-to-be-seen" not in (client.request(319).body or b"")
    write_policy(policy_file, keyed + "    more = 1\n")
    server.process.wait_for("the policy stays as it was")
    server.stop()
    assert "not-to-be-seen" not in server.process.text()
