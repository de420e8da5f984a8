"""Names that peers send, in the log of a running server: they forge no line and send no terminal commands."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.servers import NameServer
from rocketns.logtext import HOSTILE
from tests.behaviour.calls import put_kv, update_settings

# Control writes the log.

FORGED = "x\n2026-01-01 00:00:00 INFO MainThread - forged\r\x1b[2J\u2028\u202e"
LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (DEBUG|INFO|WARN|ERROR) \S+ - .*")
PRINTED = re.compile(r"load config properties file OK, .*|The Name Server boot success\. .*")


def test_hostile_names_are_escaped_in_every_line(server: NameServer) -> None:
    """Topics, brokers, clusters, addresses, KV items, settings. Only log lines are printed."""
    with server.connect() as client:
        for addr in ("10.0.0.1:10911", "10.0.0.2:10911", FORGED):
            ext = register_ext(FORGED, FORGED, addr, 0) | {"haServerAddr": FORGED, "bodyCrc32": "0"}
            client.request(codes.REGISTER_BROKER, ext, register_body([topic_config(FORGED)]))
        put_kv(client, FORGED, FORGED, FORGED)
        update_settings(client, "productEnvName=" + FORGED.encode("unicode_escape").decode() + "\n")
        update_settings(client, "productEnvName=\\u2028\\u202e\\u009b\n")
        client.request(codes.UNREGISTER_BROKER, register_ext(FORGED, FORGED, FORGED, 0))
        client.request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": FORGED})
    assert server.stop() == 0
    text = server.process.text()
    assert r"x\n2026-01-01 00:00:00 INFO MainThread - forged\r\x1b[2J\u2028\u202e" in text
    assert r"Replace, key: productEnvName, value: \u2028\u202e\x9b" in text
    assert not [line for line in text.split("\n")[:-1] if not LINE.fullmatch(line) and not PRINTED.fullmatch(line)]
    assert not HOSTILE.search(text.replace("\n", ""))


def test_the_log_says_the_zone_of_its_times(server: NameServer) -> None:
    """GMT+8 as in Java's log, whatever the machine's zone is."""
    before = datetime.now(UTC)
    server.stop()
    lines = [line for line in server.process.text().splitlines() if LINE.fullmatch(line)]
    assert lines[0].endswith(" INFO MainThread - times in this log are GMT+8, as in the log of the Java name server")
    written = datetime.strptime(lines[-1][:19], "%Y-%m-%d %H:%M:%S").replace(tzinfo=timezone(timedelta(hours=8)))
    assert before - timedelta(minutes=1) < written < datetime.now(UTC) + timedelta(seconds=1)


def test_printed_items_are_a_line_each(tmp_path: Path) -> None:
    """-p shows a value of the file with a line break or an escape sequence escaped."""
    file = tmp_path / "ns.properties"
    file.write_text("own=a\\nlistenPort\\=1\\u001b[2J\n")
    command = [sys.executable, "-m", "rocketns", "-c", str(file), "-p"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert r"own=a\nlistenPort=1\x1b[2J" in shown
    assert "listenPort=9876" in shown
