"""The columns of every frame that passes between two jobs: the contract that ``conform`` holds them to.

Times are UTC epoch microseconds (long) unless a name ends in ``_ms`` or ``_s``. Intervals are half-open, [t1, t2).
"""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql.types import ArrayType, IntegerType, StringType, StructType

from rocketns.journal import record
from rocketns.pipeline.contract.frames import columns

# A line of the journal, as its contract defines it. The folder repeats ``ns`` and adds ``dt``, the UTC date of the
# file's first record.
TOPIC = columns(" ".join(f"{name}:{kind}" for name, kind in record.TOPIC_FIELDS.items()))
MAPPING = columns(
    "t:string n:string b:string ids:ids e:long q:int d:boolean sc:string", ids=ArrayType(ArrayType(IntegerType()))
)
FIELD = columns("k:string v:string")
NESTED = {
    "topics": ArrayType(TOPIC), "maps": ArrayType(MAPPING), "fs": ArrayType(StringType()), "fields": ArrayType(FIELD),
}  # fmt: skip
RECORD = columns(
    " ".join(f"{name}:{name if name in NESTED else kind}" for name, kind in record.COLUMNS.items()), **NESTED
)
EVENTS = StructType([*RECORD.fields, *columns("dt:string").fields])


class ReadFile(NamedTuple):
    """A file that was read: its name without the ending, how many lines are no records, the times of its records, epoch
    us, and whether it is still being written."""

    dt: str
    ns: str
    segment: str
    corrupt: int
    first: int | None
    last: int | None
    open: bool = False

    @property
    def place(self) -> tuple[int, int]:
        """Boot and number, in whose order a name server writes its files."""
        boot, _, number = self.segment.partition("-")
        return (int(boot), int(number)) if boot.isdecimal() and number.isdecimal() else (0, 0)


# Of each UTC day of the journal's folders (day: "2025-01-31"). offset: a name server's clock minus the reference's, us.
# method: reference (offset 0) | versions | observed (the clock of the observer, which all observed ones share) | given
# (the option --clocks bounds it) | none (too few samples, offset 0); spread: median deviation of the samples, us;
# uncertainty: by how much the offset may be wrong, us, null if nothing bounds it.
CLOCK_DAYS = columns(
    "day:string ns:string offset:long samples:long spread:long method:string reference:string uncertainty:long"
)

# What is missing from the input. kind: corrupt (n lines) | drop (n dropped records) | hole (n missing records) |
# silent (n us without a record before the end) | unknown (the boot's start is missing and it has no whole snapshot).
# detail: the file of corrupt lines, the numbers around a hole.
QUALITY = columns("kind:string ns:string boot:long t1:long t2:long n:long detail:string")

# What was read of each name server. clock: the method of CLOCK_DAYS on its last day; uncertainty_us: its uncertainty.
# observed: it was watched from outside; members_early and topics_early: the longest time between the looks that a
# change of brokers, of topics, came between, us.
SOURCES = columns(
    "ns:string files:long events:long first:long last:long offset_us:long corrupt:long lost:long "
    "clock:string uncertainty_us:long observed:boolean members_early:long topics_early:long"
)

# When the state of a name server is known: from its start, or from its first whole snapshot if the start is not in the
# journal. end_cause: stop; lost (no stop record and a later start: t2 is its last record); silent (no record for a
# while at the end of the observation: t2 is its last record); open (up at the end of the observation); unwatched (of an
# observed one: nobody watched it any more: t2 is the last look). observed: it was watched from outside, so a boot is a
# time of watching.
NS_UPTIME = columns("ns:string boot:long t1:long t2:long end_cause:string observed:boolean no_topics:boolean")

# end_cause: the cause of the down, snapshot (found gone after records were lost), or the name server's (NS_UPTIME).
# gap: ms since the last heartbeat, of the down that closed the interval; else null. zone: as last stated; null: none.
# t1_early and t2_early, here and below: by how much earlier t1 and t2 may have been, us; 0 but for changes that were
# observed from outside. asked: what the broker said then: answered | refused | silent; null: it was not asked.
BROKER_INTERVALS = columns(
    "ns:string cluster:string broker:string bid:int addr:string "
    "t1:long t2:long end_cause:string gap:long timeout_ms:long zone:string "
    "t1_early:long t2_early:long asked:string"
)

# cause: of the record that opened the interval; snapshot if that was the first record of it.
TOPIC_INTERVALS = columns(
    "ns:string topic:string broker:string r:int w:int p:int t1:long t2:long cause:string end_cause:string "
    "t1_early:long t2_early:long"
)

# A name server's value of a topic on a broker may be wrong there, because records that were lost may have changed it.
TOPIC_DOUBTS = columns("ns:string topic:string broker:string t1:long t2:long")

# values: sorted by ns, of the window's first constant stretch; a name server that was down is left out.
# kind, here and below: user | system | retry (%RETRY%) | dlq (%DLQ%). doubt: lost_records (without the values in doubt,
# the others agree) | clocks (clocks alone may explain it) | null; what is in doubt is not counted as a finding.
NS_VALUE = columns("ns:string present:boolean r:int w:int p:int")
KEY_WINDOWS = columns(
    "topic:string broker:string t1:long t2:long cause:string opened_by:string gap:long values:values "
    "kind:string doubt:string t1_early:long t2_early:long",
    values=ArrayType(NS_VALUE),
)

# views: sorted by ns, of the name servers that were up; an empty view stays as an empty array.
QUEUES = columns("broker:string r:int w:int p:int")
NS_VIEW = columns("ns:string view:view", view=ArrayType(QUEUES))
TOPIC_SEGMENTS = columns("topic:string t1:long t2:long views:views", views=ArrayType(NS_VIEW))

# strategy: averagely | circle; assignments: model | real; *_qs_*: queue-seconds; *_ids: "broker-a:0", at most 64,
# of the worst assignment; capped: not every assignment was tried; group: the consumer group of a real assignment,
# null for the model.
IMPACT = columns(
    "topic:string t1:long t2:long strategy:string c:int assignments:string queues:int "
    "orphaned_mean:double orphaned_max:double dup_mean:double dup_max:double "
    "orphaned_qs_mean:double orphaned_qs_max:double dup_qs_mean:double dup_qs_max:double "
    "orphaned_ids:strings dup_ids:strings capped:boolean group:string"
)

# no_share_ns: name servers whose view has no writable queue.
IMBALANCE = columns(
    "topic:string t1:long t2:long broker:string share:double fair:double tvd:double peak:double no_share_ns:strings"
)

# up_s: time listed; failed_s, planned_s: time away after a failure, and after an unregistration, while the name server
# was up; availability: up_s / (up_s + failed_s). gap_*: quantiles of heartbeat gaps in ms; gaps: how many there were.
BROKER_STATS = columns(
    "ns:string broker:string bid:int addr:string up_s:double availability:double failures:long graceful:long "
    "flaps:long mtbf_s:double failed_s:double planned_s:double "
    "gap_p50:double gap_p95:double gap_p99:double gap_max:double gaps:long observed:long"
)

# kind: graceful | crash | silent | partition | observed (only seen from outside, which shows no cause) | unclear (no
# other kind fits); asked: what its addresses said, where they were asked; ns: the name servers that lost it;
# stalled: those of them that did not run themselves at that time, or had just not run. topics: user topics that it had
# at any time, queues: their read queues, topic_sample: their first names; null if no topic of it is known.
DEPARTURES = columns(
    "broker:string cluster:string t1:long t2:long kind:string ns:strings bids:bids stalled:strings t1_early:long "
    "asked:strings topics:long queues:long topic_sample:strings",
    bids=ArrayType(IntegerType()),
)

# windows: how many; topics: distinct ones; user_topics: those of users; topic_sample: the first names, users' topics
# before others; queues: read queues of user topics that one name server showed and another did not; ns_without: name
# servers that lacked the broker when one of them began (none if all had it, with other queues or permissions);
# longest: us; gap_max: ms, null if none was noted; stalled: the name servers compared that did not run themselves when
# a window began, or just before; doubt: that of all its windows.
DIVERGENCES = columns(
    "cause:string broker:string t1:long t2:long windows:long topics:long user_topics:long topic_sample:strings "
    "queues:long ns_without:strings opened_by:strings longest:long gap_max:long stalled:strings doubt:string "
    "t1_early:long t2_early:long"
)

# topics: user topics that nobody may write to on the broker, as all name servers say that list them; alone: those that
# no other broker took meanwhile; queues: their write queues; topic_sample: first names, those without another broker
# before others; ns: the name servers that listed it; cause: of the change that took the permission.
UNWRITABLE = columns(
    "broker:string t1:long t2:long t1_early:long t2_early:long cause:string ns:strings topics:long alone:long "
    "queues:long topic_sample:strings"
)

# client: ip:port at the name server; [t1, t2): from its first lookup's interval until 30 s after its last lookup.
GROUP_MEMBERS = columns("group:string topic:string ns:string client:string t1:long t2:long")

# queues: read queues at the end, each broker's largest number at any name server; skew: the most on a broker divided by
# the mean of the brokers that have it (1 is even); served: how many brokers producers can send it to at the end: those
# with a master and writable queues; brokers: their first names; created: first seen; removed: null if it was there at
# the end or the last name server that had it stopped; both null of a topic that no broker had. n, miss: lookups, and
# those answered "topic not exist".
TOPICS = columns(
    "topic:string kind:string served:int brokers:strings queues:long skew:double created:long removed:long n:long "
    "miss:long last_lookup:long"
)
DEAD_TOPICS = columns("topic:string kind:string queues:long created:long last_lookup:long days:int")
# hour: its start; miss of n lookups; kind: new (the first such hour with little history) | anomaly; ns: which name
# servers were asked; median and mad (median absolute deviation) of the misses in the ``hours`` of history; bound: what
# miss exceeds; topic_kind: the kind of the topic.
MISSING_TOPICS = columns(
    "topic:string hour:long kind:string miss:long n:long ns:strings hours:int median:double mad:double bound:double "
    "topic_kind:string"
)

# client: ip:port at the name server; null for all clients of the language and version that the journal does not name.
CLIENTS = columns(
    "client:string lang:string cv:int ns:strings topics:long n:long miss:long poll_s:double t1:long t2:long"
)
# t: when; n: requests of the row; host, client: the sender's host, and its ip:port; what: the fields as name=value.
ADMIN_CHANGES = columns(
    "ns:string t:long code:int result:int n:long host:string client:string principal:string access_key:string "
    "what:string before:string after:string"
)
# n: requests; t1, t2: of the first and the last record; enforced: refused, or else only observed; principals and
# access_keys: the first ten of each.
REFUSED_REQUESTS = columns(
    "host:string access:string code:int reason:string enforced:boolean n:long t1:long t2:long ns:strings "
    "principals:strings access_keys:strings"
)
# t, ns, addr: of the first record that names the host; before: the host that was new before it; hosts: how many were.
NEW_ADDRESSES = columns(
    "cluster:string broker:string bid:int host:string before:string hosts:int t:long ns:string addr:string"
)
