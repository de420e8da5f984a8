"""The section about administrators: who changed what, whose requests were refused, brokers from new addresses."""

from __future__ import annotations

from rocketns.pipeline.contract.tables import Row
from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Block, Section, listed, meaning
from rocketns.pipeline.report.grid import Column
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.text import plural

REQUESTS = {
    100: "put KV item", 101: "get KV item", 102: "delete KV item", 103: "register broker", 104: "unregister broker",
    105: "look up route", 106: "list brokers", 205: "wipe write permission", 206: "list topics", 216: "delete topic",
    217: "register topic", 219: "list KV items", 224: "list topics of cluster", 318: "change properties",
    319: "show properties", 322: "query data version", 327: "add write permission", 901: "get broker group",
    904: "broker heartbeat",
}  # fmt: skip
WHO = (
    Column("host", "Host", wide=True),
    Column("principal", "Principal", wide=True),
    Column("access_key", "Access key", wide=True),
)
REQUEST = Column("code", "Request", lambda code: f"{code} {REQUESTS.get(code, '')}".strip(), wide=True)
COUNT = Column("n", "Requests", text.number, number=True)


def access_section(data: ReportInput) -> Section:
    """What administrators did, who was refused, and where brokers came from."""
    changes, refused, addresses = (data[name].total for name in ("admin_changes", "refused_requests", "new_addresses"))
    answer = (
        f"{plural(changes, 'request')} of administrators, {plural(refused, 'kind')} of refused requests, "
        f"{plural(addresses, 'new address', 'new addresses')} of brokers."
    )
    return Section("access", answer, [_changes(data), _refused(data), _addresses(data)])


def _changes(data: ReportInput) -> Block:
    columns = (
        Column("t", "When", text.moment, unit="UTC"),
        *WHO,
        REQUEST,
        Column("what", "Fields", wide=True),
        Column("before", "Before", wide=True),
        Column("after", "After", wide=True),
        Column("result", "Response code", text.number, number=True),
        COUNT,
        Column("ns", "Name server", wide=True),
    )
    empty = "No administrator sent a request."
    return listed("Who changed what", meaning("admin_changes"), columns, data["admin_changes"], empty)


def _refused(data: ReportInput) -> Block:
    columns = (
        Column("host", "Host", wide=True),
        Column("access", "Class", wide=True),
        REQUEST,
        Column("reason", "Reason", wide=True),
        Column("enforced", "Refused", _enforced, whole=True),
        COUNT,
        Column("t1", "First", text.moment, unit="UTC"),
        Column("t2", "Last", text.moment, unit="UTC"),
        Column("principals", "Principals", text.names, wide=True),
        Column("access_keys", "Access keys", text.names, wide=True),
        Column("ns", "At", text.names, wide=True),
    )
    empty = "No request was refused, and none would have been."
    return listed("Refused requests", meaning("refused_requests"), columns, data["refused_requests"], empty)


def _enforced(row: Row) -> str:
    return "yes" if row["enforced"] else "no, only observed"


def _addresses(data: ReportInput) -> Block:
    columns = (
        Column("t", "When", text.moment, unit="UTC"),
        Column("broker", "Broker", wide=True),
        Column("bid", "Id", text.number, number=True),
        Column("cluster", "Cluster", wide=True),
        Column("host", "From", wide=True),
        Column("before", "Before from", wide=True),
        Column("hosts", "Hosts before", text.number, number=True),
        Column("addr", "Registers", wide=True),
        Column("ns", "First at", wide=True),
    )
    empty = "No broker registered from a host that was new for it."
    return listed("Brokers from new addresses", meaning("new_addresses"), columns, data["new_addresses"], empty)
