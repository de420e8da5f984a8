"""The section about administrators: who changed what, whose requests were refused, brokers from new addresses."""

from __future__ import annotations

from rocketns.languages import N_
from rocketns.pipeline.contract.tables import Row
from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Block, Section, listed, meaning
from rocketns.pipeline.report.grid import Column
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.saying import _

REQUESTS = {
    100: N_("put KV item"), 101: N_("get KV item"), 102: N_("delete KV item"),
    103: N_("register broker"), 104: N_("unregister broker"), 105: N_("look up route"),
    106: N_("list brokers"), 205: N_("wipe write permission"), 206: N_("list topics"),
    216: N_("delete topic"), 217: N_("register topic"), 219: N_("list KV items"),
    224: N_("list topics of cluster"), 318: N_("change properties"), 319: N_("show properties"),
    322: N_("query data version"), 327: N_("add write permission"), 901: N_("get broker group"),
    904: N_("broker heartbeat"),
}  # fmt: skip


def _request(code: int) -> str:
    return f"{code} {_(REQUESTS[code])}" if code in REQUESTS else str(code)


WHO = (
    Column("host", N_("Host"), wide=True),
    Column("principal", N_("Principal"), wide=True),
    Column("access_key", N_("Access key"), wide=True),
)
REQUEST = Column("code", N_("Request"), _request, wide=True)
COUNT = Column("n", N_("Requests"), text.number, number=True)


def access_section(data: ReportInput) -> Section:
    """What administrators did, who was refused, and where brokers came from."""
    changes, refused, addresses = (data[name].total for name in ("admin_changes", "refused_requests", "new_addresses"))
    answer = _("%(changes)s, %(refused)s, %(addresses)s.") % {
        "changes": _.plural("%(n)s request of administrators", "%(n)s requests of administrators", changes)
        % {"n": f"{changes:,}"},
        "refused": _.plural("%(n)s kind of refused requests", "%(n)s kinds of refused requests", refused)
        % {"n": f"{refused:,}"},
        "addresses": _.plural("%(n)s new address of brokers", "%(n)s new addresses of brokers", addresses)
        % {"n": f"{addresses:,}"},
    }
    return Section("access", answer, [_changes(data), _refused(data), _addresses(data)])


def _changes(data: ReportInput) -> Block:
    columns = (
        Column("t", N_("When"), text.moment, unit="UTC"),
        *WHO,
        REQUEST,
        Column("what", N_("Fields"), wide=True),
        Column("before", N_("Before"), wide=True),
        Column("after", N_("After"), wide=True),
        Column("result", N_("Response code"), text.number, number=True),
        COUNT,
        Column("ns", N_("Name server"), wide=True),
    )
    empty = N_("No administrator sent a request.")
    return listed(N_("Who changed what"), meaning("admin_changes"), columns, data["admin_changes"], empty)


def _refused(data: ReportInput) -> Block:
    columns = (
        Column("host", N_("Host"), wide=True),
        Column("access", N_("Class"), wide=True),
        REQUEST,
        Column("reason", N_("Reason"), wide=True),
        Column("enforced", N_("Refused"), _enforced, whole=True),
        COUNT,
        Column("t1", N_("First"), text.moment, unit="UTC"),
        Column("t2", N_("Last"), text.moment, unit="UTC"),
        Column("principals", N_("Principals"), text.names, wide=True),
        Column("access_keys", N_("Access keys"), text.names, wide=True),
        Column("ns", N_("At"), text.names, wide=True),
    )
    empty = N_("No request was refused, and none would have been.")
    return listed(N_("Refused requests"), meaning("refused_requests"), columns, data["refused_requests"], empty)


def _enforced(row: Row) -> str:
    return _("yes") if row["enforced"] else _("no, only observed")


def _addresses(data: ReportInput) -> Block:
    columns = (
        Column("t", N_("When"), text.moment, unit="UTC"),
        Column("broker", N_("Broker"), wide=True),
        Column("bid", N_("Id"), text.number, number=True),
        Column("cluster", N_("Cluster"), wide=True),
        Column("host", N_("From host"), wide=True),
        Column("before", N_("Before from"), wide=True),
        Column("hosts", N_("Hosts before"), text.number, number=True),
        Column("addr", N_("Registers"), wide=True),
        Column("ns", N_("First at"), wide=True),
    )
    empty = N_("No broker registered from a host that was new for it.")
    return listed(N_("Brokers from new addresses"), meaning("new_addresses"), columns, data["new_addresses"], empty)
