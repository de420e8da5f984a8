"""The input of the report. Tables are small and plain: cut, with the number of all rows and the path of the whole
table. The page computes no figure from a cut table that needs the whole one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from rocketns.pipeline.contract.catalogue import BY_NAME
from rocketns.pipeline.contract.frames import Table
from rocketns.pipeline.contract.terms import AuditVerdict
from rocketns.pipeline.incidents.facts import History
from rocketns.pipeline.incidents.listing import incidents_of
from rocketns.pipeline.incidents.model import Incident

NO_ROWS = Table()
# With a part of their rows, incidents may be missing, or be over too early.
INCIDENT_TABLES = ("divergences", "departures", "unwritable", "missing_topics", "ns_uptime", "broker_intervals")


@dataclass(frozen=True)
class ReportInput:
    """Everything on the page. Times are epoch us, the observation is [t0, t1). ``data["divergences"]`` is a table of
    the catalogue. A column that a row lacks or that is None shows as a dash. The order of rows is kept."""

    t0: int
    t1: int
    verdict: AuditVerdict

    # Why the input is incomplete, one sentence each; shown whenever there are any.
    incomplete: Sequence[str] = ()
    # Option to value, as given on the command line or by default: journal, groups, min_window, master ...
    options: Mapping[str, str] = field(default_factory=dict)
    # Figures of the whole run: events, name_servers, brokers, topics, sole_topics (served by one broker; user topics),
    # divergences that count, lost_divergences, clock_divergences (by their doubt), clock_windows (of user topics). A
    # missing figure is not shown.
    figures: Mapping[str, float] = field(default_factory=dict)
    # Sentences for a section, e.g. {"topics": ["Lookups were journalled on 2 of 7 days, so no topic is called dead."]};
    # and about clocks.
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # By the names of the catalogue, which describes their columns and their order.
    tables: Mapping[str, Table] = field(default_factory=dict)
    # What went wrong, if more is known of it than the tables tell.
    listed: Sequence[Incident] | None = None

    def __post_init__(self) -> None:
        unknown = self.tables.keys() - BY_NAME.keys()
        if unknown:
            raise KeyError(f"no job of the catalogue makes {', '.join(sorted(unknown))}")

    @cached_property
    def incidents(self) -> Sequence[Incident]:
        """Everything that went wrong, worst and latest first."""
        return incidents_of(self.tables, self.t0, self.t1) if self.listed is None else self.listed

    @property
    def lists_all(self) -> bool:
        """Whether the incidents come from all rows."""
        return all(self[name].is_whole for name in INCIDENT_TABLES)

    @cached_property
    def name_servers(self) -> Sequence[str]:
        """All name servers that the tables know, sorted."""
        return History(self.tables, self.t0, self.t1).name_servers

    def __getitem__(self, name: str) -> Table:
        return self.tables.get(BY_NAME[name].name, NO_ROWS)
