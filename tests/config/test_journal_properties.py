"""The journal's properties: names, limits, and an id that is a valid folder name on every system."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rocketns.config import Configuration, JournalConfig
from rocketns.config.journal import BUFFER_BYTES_MIN, NS_SAFE
from rocketns.errors import StartupError


def built(tmp_path: Path, text: str) -> JournalConfig:
    file = tmp_path / "a.properties"
    file.write_text(text)
    return Configuration.build(str(file), home=tmp_path).journal


def test_there_is_no_journal_unless_a_folder_is_named(tmp_path: Path) -> None:
    assert built(tmp_path, "").journal_path == ""
    assert built(tmp_path, "journalPath=/var/j\n").journal_path == "/var/j"


def test_properties_are_read_from_the_file(tmp_path: Path) -> None:
    config = built(tmp_path, "journalNs=a.b_c-1\njournalRetentionBytes=5000000000\njournalLookupClients=true\n")
    assert config.journal_ns == "a.b_c-1"
    assert config.journal_retention_bytes == 5_000_000_000
    assert config.journal_lookup_clients is True


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("journalBufferBytes=1", f"journalBufferBytes is 1, but must be a number from {BUFFER_BYTES_MIN} to"),
        ("journalFsyncMs=0", "journalFsyncMs is 0, but must be a number from 1 to 60000"),
        ("journalRotationSeconds=-5", "journalRotationSeconds is -5, but must be"),
        ("journalRetentionDays=soon", "journalRetentionDays is 'soon', but must be"),
        ("journalLookupClients=maybe", "journalLookupClients is 'maybe', but must be true or false"),
    ],
)
def test_an_unusable_journal_setting_stops_the_start(tmp_path: Path, text: str, message: str) -> None:
    """The sentence names the property, its value and what it may be."""
    with pytest.raises(StartupError, match=re.escape(message)):
        built(tmp_path, f"{text}\n")


@pytest.mark.parametrize("ns", ["a/b", "a%b", "a:1", "x" * 129, "a b", "a=b"])
def test_an_id_that_is_no_folder_name_stops_the_start(tmp_path: Path, ns: str) -> None:
    with pytest.raises(StartupError, match="journalNs is"):
        built(tmp_path, f"journalNs={ns}\n")


@pytest.mark.parametrize(
    ("bind_address", "expected"),
    [("10.0.0.1", "10.0.0.1_9876"), ("fe80::1%eth0", "fe80--1-eth0_9876"), ("ns.example.com", "ns.example.com_9876")],
)
def test_the_id_is_host_and_port_by_default(bind_address: str, expected: str) -> None:
    assert JournalConfig().ns(bind_address, 9876) == expected


@pytest.mark.parametrize("bind_address", ["0.0.0.0", "::", ""])
def test_a_server_on_all_addresses_is_called_by_its_machine(bind_address: str) -> None:
    ns = JournalConfig().ns(bind_address, 1)
    assert NS_SAFE.fullmatch(ns)
    assert re.fullmatch(r".+_1", ns)


def test_a_given_id_is_taken() -> None:
    assert JournalConfig(journal_ns="n1").ns("10.0.0.1", 9876) == "n1"
