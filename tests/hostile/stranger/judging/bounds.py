"""The stated bounds: those of docs/limits.md, for the configuration of the stage."""

from __future__ import annotations

from interop.harness.servers import AsyncioServer
from rocketns.addressserver.http import ACCEPTED_PER_S_MAX
from rocketns.addressserver.http import CONNECTIONS_MAX as ADDRESS_CONNECTIONS_MAX
from rocketns.admin.gate import CONNECTIONS_MAX as ADMIN_CONNECTIONS_MAX
from rocketns.admin.gate import UNSENT_BYTES_MAX
from rocketns.config import NamesrvConfig
from rocketns.server.connections.totals import EXCESS_PARTS
from rocketns.server.http.heads import HEAD_BYTES_MAX
from tests.hostile.outputs.table import LOG_BYTES
from tests.hostile.stranger.honest import LISTED, OF_NEW
from tests.hostile.watch import MB

# Strangers come from three hosts. With less they could look like brokers, and who holds less than half of an even share
# of the total is not closed by it: docs/limits.md says both.
INCOMING_BYTES_MAX = OUTGOING_BYTES_MAX = 64 * MB
CONNECTIONS_MAX = 4_000
KV_BYTES_MAX = JOURNAL_BUFFER_BYTES = 4 * MB
TURN_BYTES = 2 * (256 << 10)  # a turn of each of two reactors

UNFINISHED = INCOMING_BYTES_MAX + INCOMING_BYTES_MAX // EXCESS_PARTS + TURN_BYTES
UNSENT = OUTGOING_BYTES_MAX + OUTGOING_BYTES_MAX // EXCESS_PARTS + TURN_BYTES
PARKED = INCOMING_BYTES_MAX // 4
JOURNAL_WAITING = 2 * JOURNAL_BUFFER_BYTES
ROUTES_MAX = 100_000
TABLES = ROUTES_MAX * (950 + 255)  # if all numbers differ, and the characters of names
MEMORY = {
    "unfinished frames": UNFINISHED,
    "unsent answers": UNSENT,
    "frames that control has not decoded": INCOMING_BYTES_MAX,
    "requests whose peer does not read": PARKED,
    "decoding": 200 * MB,
    "records of the journal": JOURNAL_WAITING,
    "KV items, here and in the file's thread, and what waits for the file": 3 * KV_BYTES_MAX,
    "lines of the log": 16 * MB,
    "last changes and heartbeats": 23 * MB,
    "the management port": ADMIN_CONNECTIONS_MAX * HEAD_BYTES_MAX + UNSENT_BYTES_MAX,
    "the address server": ADDRESS_CONNECTIONS_MAX * HEAD_BYTES_MAX,
    "tables": TABLES,
}
GROWTH_MAX = sum(MEMORY.values())
BEGINNING = 64 * MB  # a server without peers has less
# Strangers leave nothing in the tables. The allocator keeps some of what was freed.
LEFT_MAX = 100 * MB

WAIT_S_MAX = 1.0
# Without reactors one thread accepts, reads and serves, so a new connection also waits behind the others that the
# kernel keeps for it.
BACKLOG = 1_024
NEW_WAIT_S_MAX_ON_ASYNCIO = 2.0
LISTED_WAIT_S_MAX = BACKLOG / ACCEPTED_PER_S_MAX + 0.5
# Of records, and as many again in snapshots.
JOURNAL_BYTES_A_SECOND = 2 * JOURNAL_WAITING
LOG_BYTES_A_FRAME = LOG_BYTES

# What the server says of itself, by the names and labels of its metrics. Nothing lost: no record, no write.
_CONFIG = NamesrvConfig()
GAUGES: dict[str, float] = {
    'rocketns_connection_bytes{direction="incoming"}': UNFINISHED,
    'rocketns_connection_bytes{direction="outgoing"}': UNSENT,
    'rocketns_queue_bytes{queue="requests"}': INCOMING_BYTES_MAX,
    'rocketns_queue_bytes{queue="reactors"}': INCOMING_BYTES_MAX,
    'rocketns_queue_length{queue="unregistrations"}': _CONFIG.un_register_broker_queue_capacity,
    'rocketns_queue_length{queue="files"}': 10_000,
    'rocketns_queue_length{queue="log"}': 20_000,
    "rocketns_kv_bytes": KV_BYTES_MAX,
    "rocketns_routes_held": ROUTES_MAX,
    "rocketns_journal_waiting_bytes": JOURNAL_WAITING,
    "rocketns_journal_dropped_records_total": 0,
    "rocketns_journal_write_failures_total": 0,
    "rocketns_file_write_failures_total": 0,
    "rocketns_admin_connections": ADMIN_CONNECTIONS_MAX,
}


def wait_s_max(what: str, mode: str) -> float:
    """Seconds that an honest peer may wait for this."""
    if what == LISTED:
        return LISTED_WAIT_S_MAX
    return NEW_WAIT_S_MAX_ON_ASYNCIO if mode == AsyncioServer.mode and what in OF_NEW else WAIT_S_MAX
