"""Which incident a row of a table belongs to."""

from __future__ import annotations

from collections import defaultdict

from rocketns.pipeline.contract.tables import Row
from rocketns.pipeline.contract.terms import HOUR_US, SECOND_US
from rocketns.pipeline.incidents.harm import NAME_SERVER
from rocketns.pipeline.incidents.model import Incident
from rocketns.pipeline.report.cards import in_page
from rocketns.pipeline.report.model import ReportInput

SLACK_US = 60 * SECOND_US
# What a row is about: the first of these columns that it has, the last one only with the end of a name server.
SUBJECTS = ("broker", "topic", "ns")


class Links:
    """A row is matched by what it is about, and by a time; without a time it belongs to the worst incident."""

    def __init__(self, data: ReportInput) -> None:
        self._by_name: defaultdict[tuple[str, str], list[tuple[str, Incident]]] = defaultdict(list)
        for anchor, incident in in_page(data):
            servers = incident.ns[:1] if incident.kind in NAME_SERVER else ()
            topics = dict.fromkeys((*incident.harm.sample, incident.topic))
            for subject, names in zip(SUBJECTS, (incident.brokers, topics, servers), strict=True):
                for name in names:
                    self._by_name[subject, name].append((anchor, incident))

    def of(self, row: Row) -> str:
        """The anchor of the row's incident, or ''."""
        subject = next((one for one in SUBJECTS if row.get(one) is not None), "")
        if subject == "ns" and row.get("end_cause") is None:
            return ""
        candidates, span = self._by_name.get((subject, str(row.get(subject))), ()), _span(row)
        if span is None:
            return candidates[0][0] if candidates else ""
        t1, t2 = span[0] - SLACK_US, span[1] + SLACK_US
        near = ((abs(one.t1 - span[0]), anchor) for anchor, one in candidates if one.t1 <= t2 and one.t2 >= t1)
        return min(near, default=(0, ""))[1]


def _span(row: Row) -> tuple[int, int] | None:
    if row.get("hour") is not None:
        return int(row["hour"]), int(row["hour"]) + HOUR_US
    if row.get("t1") is None or row.get("t2") is None:
        return None
    # where something ended, that is what went wrong
    return int(row["t2" if row.get("end_cause") is not None else "t1"]), int(row["t2"])
