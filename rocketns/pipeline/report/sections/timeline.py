"""The section about time: all incidents and name servers on a timeline, and each start and end of a name server."""

from __future__ import annotations

from rocketns.languages import N_
from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Block, Section, listed, meaning
from rocketns.pipeline.report.grid import Column
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.timeline import NAME_SERVERS_MAX, timeline
from rocketns.pipeline.saying import _


def timeline_section(data: ReportInput) -> Section:
    """The fleet over the observation, then each start of a name server."""
    servers = name_servers(data)
    if not servers:
        empty = _("No name server wrote anything in this time.")
        return Section("timeline", empty, [Block(_("Timeline"), meaning("broker_intervals"), empty=empty)])
    remarks = []
    if len(servers) > NAME_SERVERS_MAX:
        more = len(servers) - NAME_SERVERS_MAX
        remarks.append(
            _.plural("%(n)s more name server is not drawn.", "%(n)s more name servers are not drawn.", more)
            % {"n": f"{more:,}"}
        )
    if data["broker_intervals"].total > len(data["broker_intervals"].rows):
        remarks.append(
            _("Drawn from a part of all broker intervals; the whole table is in %(path)s.")
            % {"path": data["broker_intervals"].path}
        )
    starts = (
        Column("ns", N_("Name server"), wide=True),
        Column("t1", N_("Known from"), text.moment, unit="UTC"),
        Column("t2", N_("Until"), text.moment, unit="UTC"),
        Column("end_cause", N_("How it ended"), text.cause, wide=True),
    )
    blocks = [
        Block(_("Timeline"), meaning("broker_intervals"), remarks=remarks, timeline=timeline(data, servers)),
        listed(
            N_("Starts and ends of name servers"),
            meaning("ns_uptime"),
            starts,
            data["ns_uptime"],
            N_("No name server started."),
        ),
    ]
    return Section("timeline", _answer(data, len(servers)), blocks)


def name_servers(data: ReportInput) -> list[str]:
    """All name servers that the tables know, sorted."""
    tables = (data["ns_uptime"], data["sources"], data["broker_intervals"])
    return sorted({str(row["ns"]) for table in tables for row in table.rows if row.get("ns") is not None})


def _answer(data: ReportInput, servers: int) -> str:
    lost = sum(row.get("end_cause") == "lost" for row in data["ns_uptime"].rows)
    starts = data["ns_uptime"].total
    ended = _.plural("%(n)s end without a stop record", "%(n)s ends without a stop record", lost) % {"n": f"{lost:,}"}
    return _("%(servers)s, %(starts)s; %(ended)s.") % {
        "servers": _.plural("%(n)s name server", "%(n)s name servers", servers) % {"n": f"{servers:,}"},
        "starts": _.plural("%(n)s start", "%(n)s starts", starts) % {"n": f"{starts:,}"},
        "ended": ended if lost else _("none ended without a stop record"),
    }
