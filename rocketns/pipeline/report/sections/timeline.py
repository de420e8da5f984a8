"""The section about time: all incidents and name servers on a timeline, and each start and end of a name server."""

from __future__ import annotations

from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Block, Section, listed, meaning
from rocketns.pipeline.report.grid import Column
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.text import plural
from rocketns.pipeline.report.timeline import NAME_SERVERS_MAX, timeline


def timeline_section(data: ReportInput) -> Section:
    """The fleet over the observation, then each start of a name server."""
    servers = name_servers(data)
    if not servers:
        block = Block("Timeline", meaning("broker_intervals"), empty="No name server wrote anything in this time.")
        return Section("timeline", "No name server wrote anything in this time.", [block])
    remarks = []
    if len(servers) > NAME_SERVERS_MAX:
        remarks.append(
            f"{plural(len(servers) - NAME_SERVERS_MAX, 'more name server is', 'more name servers are')} not drawn."
        )
    if data["broker_intervals"].total > len(data["broker_intervals"].rows):
        remarks.append(
            f"Drawn from a part of all broker intervals; the whole table is in {data['broker_intervals'].path}."
        )
    starts = (
        Column("ns", "Name server", wide=True),
        Column("t1", "Known from", text.moment, unit="UTC"),
        Column("t2", "Until", text.moment, unit="UTC"),
        Column("end_cause", "How it ended", text.cause, wide=True),
    )
    blocks = [
        Block("Timeline", meaning("broker_intervals"), remarks=remarks, timeline=timeline(data, servers)),
        listed(
            "Starts and ends of name servers",
            meaning("ns_uptime"),
            starts,
            data["ns_uptime"],
            "No name server started.",
        ),
    ]
    return Section("timeline", _answer(data, len(servers)), blocks)


def name_servers(data: ReportInput) -> list[str]:
    """All name servers that the tables know, sorted."""
    tables = (data["ns_uptime"], data["sources"], data["broker_intervals"])
    return sorted({str(row["ns"]) for table in tables for row in table.rows if row.get("ns") is not None})


def _answer(data: ReportInput, servers: int) -> str:
    lost = sum(row.get("end_cause") == "lost" for row in data["ns_uptime"].rows)
    ended = f"{plural(lost, 'end')} without a stop record" if lost else "none ended without a stop record"
    return f"{plural(servers, 'name server')}, {plural(data['ns_uptime'].total, 'start')}; {ended}."
