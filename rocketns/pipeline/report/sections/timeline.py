"""The section about name servers: the timelines, and each start and end."""

from __future__ import annotations

from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Block, Section, listed, meaning, plural
from rocketns.pipeline.report.drawing.svg import Drawing
from rocketns.pipeline.report.drawing.timeline import NAME_SERVERS_MAX, fleet_timeline, name_servers, server_timeline
from rocketns.pipeline.report.grid import Column
from rocketns.pipeline.report.model import ReportInput


def timeline_section(data: ReportInput) -> Section:
    """The fleet over the observation, then each name server."""
    servers = name_servers(data)
    if not servers:
        block = Block("Timeline", meaning("broker_intervals"), empty="No name server wrote anything in this time.")
        return Section("timeline", "No name server wrote anything in this time.", [block])
    figures: list[tuple[str, Drawing]] = [("All name servers", fleet_timeline(data))]
    for index, ns in enumerate(servers[:NAME_SERVERS_MAX]):
        made, more = server_timeline(data, ns, index)
        figures.append((f"{ns}{_more_brokers(more)}", made))
    remarks = (
        [f"{len(servers) - NAME_SERVERS_MAX} more name servers are not drawn."]
        if len(servers) > NAME_SERVERS_MAX
        else []
    )
    if data["broker_intervals"].total > len(data["broker_intervals"].rows):
        remarks.append(
            f"Drawn from a part of all broker intervals; the whole table is in {data['broker_intervals'].path}."
        )
    blocks = [
        Block("Timeline", meaning("broker_intervals"), figures=figures, remarks=remarks),
        listed(
            "Starts and ends of name servers",
            meaning("ns_uptime"),
            _BOOTS,
            data["ns_uptime"],
            "No name server started.",
        ),
    ]
    return Section("timeline", _servers_answer(data, len(servers)), blocks)


_BOOTS = (
    Column("ns", "Name server", wide=True),
    Column("t1", "Known from (UTC)", text.moment),
    Column("t2", "Until (UTC)", text.moment),
    Column("end_cause", "How it ended", text.cause, wide=True),
)


def _servers_answer(data: ReportInput, servers: int) -> str:
    lost = sum(row.get("end_cause") == "lost" for row in data["ns_uptime"].rows)
    ended = f"{plural(lost, 'end')} without a stop record" if lost else "none ended without a stop record"
    return f"{plural(servers, 'name server')}, {plural(data['ns_uptime'].total, 'start')}; {ended}."


def _more_brokers(more: int) -> str:
    return f" ({plural(more, 'more broker')} with fewer events not drawn)" if more else ""
