"""The section about departures: how brokers went."""

from __future__ import annotations

from collections import Counter

from rocketns.languages import N_
from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Section, listed, meaning
from rocketns.pipeline.report.grid import Column
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.saying import _


def departures_section(data: ReportInput) -> Section:
    """How brokers left."""
    columns = (
        Column("t1", N_("From"), text.moment, unit="UTC"),
        Column("t2", N_("To"), text.moment, unit="UTC"),
        Column("broker", N_("Broker"), wide=True),
        Column("cluster", N_("Cluster"), wide=True),
        Column("kind", N_("Kind"), text.kind, wide=True),
        Column("ns", N_("Seen by"), text.names, wide=True),
        Column("bids", N_("Broker ids"), text.names),
        Column("stalled", N_("Stalled"), text.names, wide=True),
        Column("t1_early", N_("Or earlier by"), text.microseconds, number=True),
        Column("asked", N_("Asked, it"), text.codes),
    )
    answer = _("No broker left.")
    if data["departures"]:
        kinds = Counter(str(row["kind"]) for row in data["departures"].rows)
        cut = data["departures"].total > len(data["departures"].rows)
        counted = ({"n": f"{count:,}", "kind": text.code(name)} for name, count in sorted(kinds.items()))
        known = text.row(_("%(n)s %(kind)s") % one for one in counted)
        many = data["departures"].total
        departures = _.plural("%(n)s departure", "%(n)s departures", many) % {"n": f"{many:,}"}
        said = _("%(departures)s, of those listed: %(kinds)s.") if cut else _("%(departures)s: %(kinds)s.")
        answer = said % {"departures": departures, "kinds": known}
    block = listed(N_("Departures"), meaning("departures"), columns, data["departures"], N_("No broker left."))
    return Section("departures", answer, [block])
