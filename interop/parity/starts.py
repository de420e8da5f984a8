"""How both programs start or refuse to start: arguments, files, environment → exit status and printed lines."""

from __future__ import annotations

import json
import os
import re
import signal
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from interop.harness.ports import IPV6
from interop.harness.process import Process, ProcessFailed
from interop.harness.servers import BOOT_LINE, JavaNameServer, NameServer
from interop.parity.servers import java_options
from interop.parity.setups import HOME
from interop.parity.tape import FOLDER

BOOT = r"^The Name Server boot success\. serializeType=\w+, address 127\.0\.0\.1:\d+$"
BOOT_AT_IPV6 = r"^The Name Server boot success\. serializeType=\w+, address ::1:\d+$"
USAGE = r"usage: mqnamesrv \[-c <arg>\] \[-h\] \[-n <arg>\] \[-p\]"
LOADED = r"^load config properties file OK, .*ns\.properties$"
ENDS_WITHIN_S = 120
EXIT_STATUS = "exit-status"
RECORDED = FOLDER / "starts.json"


@dataclass(frozen=True)
class Start:
    """One way to start. HOME in any value is the folder; ``says`` are patterns looked for in what is printed.

    A program that prints its boot line is stopped. ``differs`` is the id in docs/differences.md.
    """

    name: str
    rows: str
    arguments: tuple[str, ...] = ("-c", "ns.properties")
    properties: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    says: tuple[str, ...] = (BOOT, LOADED)
    differs: str = ""

    @property
    def needs_ipv6(self) -> bool:
        return IPV6 in self.properties.get("bindAddress", "")


KV = {"kvConfigPath": "HOME/kv.json"}
XML = "-Drocketmq.serialize.type=XML"
NO_CERTIFICATE = "-Dtls.test.mode.enable=false"
KV_FILES = {
    "that-is-no-json": "{",
    "without-table": '{"other":{}}',
    "that-is-null": "null",
    "with-a-null-table": '{"configTable":null}',
    "with-a-null-namespace": '{"configTable":{"ns":null}}',
    "with-a-null-key": '{"configTable":{null:{"k":"v"}}}',
    "with-a-null-inner-key": '{"configTable":{"n":{null:"v"}}}',
    "with-a-byte-order-mark": '\ufeff{"configTable":{"ns":{"k":"v"}}}',
    "of-a-byte-order-mark-alone": "\ufeff",
    "of-white-space": " \n",
}
KV_DIFFERS = {"with-a-null-key": "kv-null-key"}
STARTS = (
    Start("boot-lines", "B106 B245 B246 B247", properties=KV, files={"kv.json": ""}, differs=EXIT_STATUS),
    Start("help", "B244", ("-h",), says=(USAGE,)),
    Start("unknown-option", "B244", ("-x",), says=(USAGE, r"-x")),
    Start("missing-file", "B244", ("-c", "missing.properties"), says=(r"missing\.properties", BOOT)),
    Start("missing-home", "B244", unset=("ROCKETMQ_HOME",), differs="rocketmq-home"),
    *(
        Start(f"kv-file-{name}", "B107", properties=KV, files={"kv.json": text}, differs=KV_DIFFERS.get(name, ""))
        for name, text in KV_FILES.items()
    ),
    Start("kv-path-that-is-empty", "B107", properties={"kvConfigPath": ""}, says=(BOOT,)),
    Start("number-that-is-empty", "B244", properties={"clientRequestThreadPoolQueueCapacity": ""}, says=(BOOT,)),
    Start(
        "number-that-is-none", "B244", properties={"waitSecondsForService": "4x5"}, says=(BOOT,), differs="bad-numbers"
    ),
    Start("unknown-serialize-type", "B034", options=(XML,), says=(BOOT,)),
    Start("no-certificate", "B074", options=(NO_CERTIFICATE,)),
    Start("bind-address-of-ipv6", "B245", properties={"bindAddress": "::1"}, says=(BOOT_AT_IPV6,)),
    Start("bind-address-in-brackets", "B245", properties={"bindAddress": "[::1]"}, says=(r"address \[::1\]:\d+$",)),
    Start("controller", "B249", properties={"enableControllerInNamesrv": "true"}, differs="controller"),
)


def start(one: Start, kind: type[NameServer], folder: Path) -> dict[str, object]:
    """What a program does that is started so: its exit status, whether it ran, and what it says."""
    folder.mkdir(parents=True)
    for name, content in (dict(one.files) | {"ns.properties": _properties(one)}).items():
        (folder / name).write_text(content.replace(HOME, str(folder)), "utf-8")
    options = [f"-Duser.home={folder}", *one.options]
    if kind is JavaNameServer:
        options = [*java_options(folder), *options]
    env = {"ROCKETMQ_HOME": str(folder)} | dict(one.env)
    unset = {name: os.environ.pop(name) for name in one.unset if name in os.environ}
    env = {name: value for name, value in env.items() if name not in one.unset}
    process = Process([*kind.program(options), *one.arguments], folder / "stdout.log", env, cwd=folder)
    os.environ.update(unset)
    ran = _runs(process)
    if ran:
        # Java takes 6 s to stop at SIGTERM: only where its exit status is what is compared.
        process.signal(signal.SIGTERM if one.differs == EXIT_STATUS else signal.SIGKILL)
    try:
        status = process.wait(ENDS_WITHIN_S)
    finally:
        process.kill()
    said = {text: bool(re.search(text, process.text(), re.M)) for text in one.says}
    return {"status": status, "ran": ran, **said}


def _properties(one: Start) -> str:
    lines = {"listenPort": "0", "bindAddress": "127.0.0.1"} | dict(one.properties)
    return "".join(f"{key}={value}\n" for key, value in lines.items())


def _runs(process: Process) -> bool:
    try:
        process.wait_for(BOOT_LINE, ENDS_WITHIN_S)
    except ProcessFailed:
        return False
    return True


def differing(one: Start, java: Mapping[str, object], ours: Mapping[str, object]) -> dict[str, tuple[object, object]]:
    """What rocketns does differently. The status after a stop is compared once, with SIGTERM."""
    both_ran = java["ran"] and ours["ran"]
    compared = set(java) - ({"status"} if both_ran and one.differs != EXIT_STATUS else set())
    return {part: (java[part], ours[part]) for part in compared if java[part] != ours[part]}


def recorded() -> dict[str, dict[str, object]]:
    """What Java did, by the names of the starts."""
    return dict(json.loads(RECORDED.read_text("utf-8")))


def record() -> None:
    """Start Java in each way, and write what it does."""
    with tempfile.TemporaryDirectory() as folder:
        found = {one.name: start(one, JavaNameServer, Path(folder) / one.name) for one in STARTS}
    RECORDED.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
