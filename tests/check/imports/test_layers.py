"""rocketns imports in one direction only, and its inner layers know no socket, clock or thread."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.check.imports.layers import violations
from tests.check.source import ROOT, plant, sources


def test_every_import_follows_the_order() -> None:
    found = violations(ROOT)
    assert not found, "\n".join(found)


def test_the_management_port_names_no_controller() -> None:
    named = [source.name for source in sources(ROOT, "rocketns/admin") if "controller" in source.text.casefold()]
    assert not named, f"take what is needed from rocketns/server/facts: {named}"


def test_the_checker_reads_the_whole_package() -> None:
    seen = {source.name for source in sources(ROOT, "rocketns")}
    assert {"rocketns/protocol/frame.py", "rocketns/_fast/codec/wire.pyx", "rocketns/_fast/codec/wire.pxd"} <= seen


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("protocol/frame.py", "from rocketns.routeinfo import tables"),
        ("protocol/frame.py", "import rocketns.server.connections.asyncio_transport"),
        ("protocol/frame.py", "from rocketns import kvconfig"),
        ("protocol/frame.py", "def f():\n    from rocketns.processor.dispatch import x"),
        ("errors.py", "from rocketns.protocol.codes import X"),
        ("routeinfo/tables.py", "from rocketns.processor import dispatch"),
        ("processor/broker.py", "from rocketns._fast.codec.wire import next_frame"),
        ("processor/broker.py", "from rocketns import _fast"),
        ("protocol/frame.py", "from rocketns._fast.routes.routes import RouteSlots"),
        ("protocol/frame.py", "from rocketns._fast.reactor import reactors"),
        ("routeinfo/tables.py", "from rocketns._fast.codec.wire import next_frame"),
        ("kvconfig/manager.py", "from rocketns._fast.system.allocation import give_back_large_blocks"),
        ("namesrv_controller.py", "from rocketns._fast.reactor.reactors import Reactors"),
        ("startup.py", "from rocketns._fast.codec.wire import next_frame"),
        ("_fast/system/sockets.pxd", "from rocketns._fast.codec.wire cimport read_uint32"),
        ("_fast/codec/register_body.pyx", "from rocketns._fast.routes.slots cimport Slot"),
        ("_fast/codec/register_body.pyi", "from rocketns._fast.routes.routes import RouteSlots"),
        ("_fast/routes/lookup.pxd", "from rocketns._fast.connections.connection cimport Connection"),
        ("_fast/connections/holders.pyx", "cimport rocketns._fast.reactor.turns"),
        ("_fast/novelty/part.pyx", "import os"),
        ("_fast/novelty.pyx", "import os"),
        ("kvconfig/manager.py", "import rocketns.namesrv_controller"),
        ("processor/admin.py", "from rocketns.server.control.control import x"),
        ("server/connections/asyncio_transport.py", "from rocketns.namesrv_controller import NamesrvController"),
        ("server/connections/asyncio_transport.py", "from rocketns.journal import writer"),
        ("server/connections/asyncio_transport.py", "from rocketns.pipeline import report"),
        ("namesrv_controller.py", "from rocketns.__main__ import main"),
        ("namesrv_controller.py", "import rocketns.pipeline.report"),
        ("namesrv_controller.py", "from rocketns.tools.main import main"),
        ("fleet/digests.py", "from rocketns.server.fleet.peer import Peer"),
        ("client/connection.py", "from rocketns.server.requests.traffic import Traffic"),
        ("tools/main.py", "from rocketns.server.clock import Clock"),
        ("fleet/digests.py", "import time"),
        ("admin/view.py", "from rocketns.namesrv_controller import NamesrvController"),
        ("admin/metrics/journal.py", "from rocketns.journal.journal import Journal"),
        ("tools/main.py", "from rocketns.namesrv_controller import NamesrvController"),
        ("__init__.py", "from rocketns.namesrv_controller import NamesrvController"),
        ("_fast/codec/wire.pyx", "from rocketns.protocol.frame import next_frame"),
        ("_fast/codec/wire.pyx", "    from rocketns.protocol.frame import next_frame"),
        ("_fast/codec/wire.pxd", "from rocketns cimport errors"),
        ("_fast/codec/wire.pyi", "import rocketns.config"),
        ("_fast/codec/wire.pyx", "cimport libc.stdint, rocketns.config"),
        ("protocol/frame.py", "import socket"),
        ("protocol/frame.py", "from time import monotonic"),
        ("protocol/frame.py", "import logging.handlers"),
        ("routeinfo/tables.py", "import threading as t"),
        ("routeinfo/tables.py", "from concurrent.futures import Future"),
        ("novelty.py", "import os"),
        ("novelty/part.py", "import os"),
    ],
)
def test_a_planted_violation_is_found(tmp_path: Path, path: str, line: str) -> None:
    plant(tmp_path, f"rocketns/{path}", line)
    assert len(violations(tmp_path)) == 1, violations(tmp_path)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("config.py", "from rocketns.errors import RocketnsError"),
        ("protocol/frame.py", "from rocketns.errors import MalformedFrame\nimport struct"),
        ("protocol/frame.py", "from rocketns.protocol.codes import X"),
        ("protocol/body/registration/decoding.py", "from rocketns._fast.codec import register_body"),
        ("routeinfo/tables.py", "import logging"),
        ("routeinfo/registration.py", "from rocketns._fast.routes.queue_table import put_queues"),
        ("routeinfo/tables.py", "from rocketns.protocol.body.bodies import X"),
        ("kvconfig/manager.py", "import time"),
        ("server/connections/asyncio_transport.py", "import asyncio\nfrom rocketns._fast.codec import wire"),
        ("server/connections/asyncio_transport.py", "from rocketns._fast.reactor.reactors import Reactors"),
        ("startup.py", "from rocketns._fast.system.allocation import give_back_large_blocks"),
        ("_fast/routes/lookup.pxd", "from rocketns._fast.codec.route_reply cimport put_success"),
        ("server/connections/asyncio_transport.py", "from rocketns import __version__"),
        ("namesrv_controller.py", "from rocketns.journal.writer import JournalWriter"),
        ("journal/record.py", "from rocketns.routeinfo.events import Event"),
        ("pipeline/report.py", "from rocketns.journal.record import SCHEMA"),
        (
            "_fast/reactor/reactor.pyx",
            "from rocketns._fast.codec.wire cimport frame_size\nfrom libc cimport stdint",
        ),
        ("_fast/reactor/reactor.pyx", "# from rocketns.protocol import frame"),
    ],
)
def test_the_order_passes_allowed_imports(tmp_path: Path, path: str, line: str) -> None:
    plant(tmp_path, f"rocketns/{path}", line)
    assert violations(tmp_path) == []
