"""Starts the own half with the upstream's settings, watches it, and says since when its answers count."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import Field
from pathlib import Path
from subprocess import PIPE, STDOUT
from typing import Any

from rocketns.client.name_server import NameServer, UnusableError
from rocketns.client.remoting_client import RemotingClient
from rocketns.config import properties
from rocketns.config.java import NamesrvConfig, NettyServerConfig
from rocketns.protocol.codes import RESERVED_NAMESPACES, SerializeType

log = logging.getLogger("rocketns.shadow")

# Before the next start; it doubles after each run that was shorter than GOOD_RUN_S.
PAUSE_S, PAUSE_S_MAX, GOOD_RUN_S = 1.0, 30.0, 60.0
STOP_WITHIN_S = 5.0
LINE_BYTES_MAX = 1024 * 1024  # of its output: it cuts its lines itself
STAMP = re.compile(r"[0-9-]{10} [0-9:]{8} (?=[A-Z]+ )")  # of its log: ours has another one
BOOT_LINE = re.compile(r"boot success\. .*address 127\.0\.0\.1:(\d+)")
WATCH_EVERY_S, WATCH_WITHIN_S = 2.0, 10.0

# What the upstream's configuration says of its own machine, or of what rocketns has not.
_NOT_COPIED = frozenset({
    "bindAddress", "configStorePath", "enableControllerInNamesrv", "kvConfigPath", "listenPort", "productEnvName",
})  # fmt: skip
# All requests come from one address. Limits by host would be limits of everybody; those in bytes are an eighth.
_BYTES = str(4 * 1024**3)


class OwnHalf:
    """``port`` is None while it does not run. ``changed`` is called after each change of it and of ``began_ms``, since
    when brokers have had time to register there.

    ``upstream`` is read for settings; None where that is not possible. ``configured`` are the operator's properties.
    """

    def __init__(
        self, folder: Path, upstream: NameServer, client: RemotingClient, configured: Mapping[str, str],
        changed: Callable[[], None], *, settle_s: float,
    ) -> None:  # fmt: skip
        self._folder, self._upstream, self._client, self._properties = folder, upstream, client, configured
        self._changed, self._settle_s = changed, settle_s
        self._process: asyncio.subprocess.Process | None = None
        self._stops = False
        self._is_replaced = False  # it was ended on purpose, so that the next one has the upstream's settings
        self._settings: dict[str, str] = {}
        self._has_read = False
        self._kv: dict[str, dict[str, str]] = {}
        self._settled_at = float("inf")
        self._task: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self.port: int | None = None
        self.began_ms = 0

    @property
    def settles_in_s(self) -> float:
        """How long that takes; endless while it does not run."""
        return max(0.0, self._settled_at - time.monotonic()) if self.port is not None else float("inf")

    def unsettle(self, why: str) -> None:
        """It lost something that the upstream still has: until brokers have registered again nothing counts."""
        if not self.settles_in_s:
            log.warning("%s: for %g s it may miss a broker", why, self._settle_s)
        self._begin_settling()
        self._changed()

    def start(self) -> None:
        """On the running loop: start its process, and again with a pause when it ends."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """End its process for good: with SIGTERM, and if that takes long with SIGKILL."""
        self._stops = True
        if self._watching is not None:
            self._watching.cancel()
        self._end()
        if self._process is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), STOP_WITHIN_S)
        self._end(signal.SIGKILL)
        if self._task is not None:
            await self._task

    async def _run(self) -> None:
        pause_s = PAUSE_S
        while not self._stops:
            began_s = time.monotonic()
            status = await self._run_once()
            self._ended()
            if self._stops:
                return
            if self._is_replaced:
                self._is_replaced = False
                continue
            pause_s = PAUSE_S if time.monotonic() - began_s >= GOOD_RUN_S else pause_s
            log.error("rocketns' own half ended (%s): it starts again in %g s. Clients notice nothing", status, pause_s)
            await asyncio.sleep(pause_s)
            pause_s = min(PAUSE_S_MAX, pause_s * 2)

    async def _run_once(self) -> str:
        await self._read_upstream()
        (self._folder / "kvConfig.json").write_text(json.dumps({"configTable": self._kv}), "utf-8")
        file = self._folder / "half.properties"
        file.write_bytes(properties.dump(settings(self._properties, self._settings, self._folder)))
        # Not its warnings: peers decide how many there are.
        command = (sys.executable, "-m", "rocketns.shadow.half_process", "-c", str(file), "--log-level", "ERROR")
        try:  # with a session of its own, so that Ctrl-C of a terminal reaches only us
            self._process = process = await asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, stderr=STDOUT, start_new_session=True, limit=LINE_BYTES_MAX
            )
        except OSError as error:
            return f"it could not be started: {error}"
        if self._stops:  # meanwhile: nobody else ends it
            self._end(signal.SIGKILL)
        assert process.stdout is not None
        async for line in process.stdout:
            self._line(line.decode("utf-8", "replace").rstrip("\n"))
        return f"status {await process.wait()}"

    def _end(self, by: signal.Signals = signal.SIGTERM) -> None:
        """Unless `stop` was called it is started again."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(by)

    async def _read_upstream(self) -> None:
        """What cannot be read is as it was at the last start."""
        try:
            self._settings = copied_settings(await self._upstream.configuration())
            self._kv = {name: items for name in RESERVED_NAMESPACES if (items := await self._upstream.kv(name))}
            self._has_read = True
        except UnusableError as error:
            log.warning("the upstream's configuration and KV items cannot be read (%s): rocketns' answers may differ "
                        "where these matter, until it starts again with them", error)  # fmt: skip

    def _line(self, line: str) -> None:
        """A line of its output."""
        found = BOOT_LINE.search(line) if self.port is None else None
        if found is None:
            log.info("own half: %s", STAMP.sub("", line))
            return
        self.port = int(found[1])
        self._begin_settling()
        pid = None if self._process is None else self._process.pid
        log.info("rocketns' own half, process %s, listens at 127.0.0.1:%d", pid, self.port)
        self._watching = asyncio.get_running_loop().create_task(self._watch(self.port))
        self._changed()

    def _begin_settling(self) -> None:
        self.began_ms = time.time_ns() // 1_000_000  # first: the judge, which goes by it, is not to settle later
        self._settled_at = time.monotonic() + self._settle_s

    def _ended(self) -> None:
        self.port = None
        self._settled_at = float("inf")
        if self._watching is not None:
            self._watching.cancel()
        self._changed()

    async def _watch(self, port: int) -> None:
        """A half that runs and does not answer is ended, and started again; so is one that lacks the settings."""
        server = NameServer(self._client, f"127.0.0.1:{port}", SerializeType.JSON, WATCH_WITHIN_S)
        while True:
            await asyncio.sleep(WATCH_EVERY_S)
            try:
                await server.lookup_code(None)
            except UnusableError as error:
                log.error("rocketns' own half does not answer: %s", error)
                self._end(signal.SIGKILL)
                return
            with contextlib.suppress(UnusableError):
                if not self._has_read:
                    await self._upstream.configuration()
                    log.info("the upstream's configuration can be read now: rocketns' own half starts again with it")
                    self._is_replaced = True
                    self._end(signal.SIGKILL)
                    return


def copied_settings(configuration: str) -> dict[str, str]:
    """Those lines of the upstream's configuration (request 319) that rocketns would start with."""
    declared = properties.declared(NamesrvConfig) | properties.declared(NettyServerConfig)
    configured = dict(line.split("=", 1) for line in configuration.splitlines() if "=" in line)
    return {
        name: text for name, text in configured.items()
        if name in declared and name not in _NOT_COPIED and _is_usable(declared[name], text)
    }  # fmt: skip


def _is_usable(declaration: Field[Any], text: str) -> bool:
    value = properties.parse(declaration, text)
    low, high = declaration.metadata["bounds"]
    return value is not None and (declaration.type != "int" or low <= value <= high)


def settings(configured: Mapping[str, str], upstream: Mapping[str, str], folder: Path) -> dict[str, str]:
    """All properties of the half. ``configured`` are the operator's. ``folder`` is its own."""
    return dict(upstream) | dict(configured) | {
        "bindAddress": "127.0.0.1", "listenPort": "0", "kvConfigPath": str(folder / "kvConfig.json"),
        "rocketns.mute": "true",
        "rocketns.hostConnectionsPerSecond": "0", "rocketns.hostRequestsPerSecond": "0",
        "rocketns.incomingBytesMax": _BYTES, "rocketns.outgoingBytesTotalMax": _BYTES,
    }  # fmt: skip
