"""What each result means, and what it does not say. The page prints these texts beside the figures.

docs/audit-reference.md explains the same at more length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Meaning:
    """Plain sentences: how to read the figure, and its limits."""

    text: str
    limits: Sequence[str] = ()


INCIDENTS = Meaning(
    "A window is a stretch of time in which the running name servers disagreed about one topic on one broker. "
    "Windows with the same broker and cause that begin within 10 s of each other are one row. “Without the route” "
    "names the name servers that did not have the broker when a window began. If it is empty, all had the broker, "
    "but with different queue counts or permissions. “Hidden queues”: read queues of user topics that one name "
    "server showed and another did not. “Stalled” names those that did not run themselves when a window began, or "
    "up to 30 s before. Their view was late.",
    (
        "A fault begins before its window. A name server notices a lost broker only when the connection closes or "
        "the heartbeat timeout expires. “Silent before” is the time since the last heartbeat.",
        "Windows shorter than the option min_window are left out. A registration never reaches all name servers at "
        "the same moment.",
        "A stopped name server is not compared. Each name server's clock is corrected by one offset for each day.",
        "What lost records or clocks alone may explain is listed apart, and is not counted.",
        "“Or earlier by”: of what was seen from outside, by how much earlier its beginning and its end may have "
        "been. It came between two looks, and the time of the later one is shown.",
        "Topics are user topics. System topics, %RETRY% and %DLQ% topics are counted apart.",
    ),
)
WINDOWS = Meaning(
    "The longest windows one by one, with the view of each name server when the window began.",
    (
        "Views may change within a window. The table shows only the first ones.",
        "Windows in doubt are no incident. See the tables of incidents that may be lost records, or clocks.",
    ),
)
CLOCKS_DIFFER = Meaning(
    "A change that reached all name servers at once looks like a difference for as long as their clocks differ. "
    "These windows are shorter than that, and every name server showed within that time what the others showed. "
    "None of them is counted as a disagreement. The same holds for the time between two looks at name servers "
    "that were watched from outside.",
    (
        "Some of them may be real. Three new data versions tell how far clocks differ: from the day on which all "
        "name servers hear them, windows are certain. Where clocks are synchronised (NTP), the option --clocks "
        "says by how much they differ at most. With shorter times between two looks more windows are certain.",
    ),
)
LOST = Meaning(
    "In these windows only doubtful values differ: records of a name server were lost, and a topic change may be "
    "among them. The doubt about a topic on a broker ends when the journal names it again: in a record, or in the "
    "next whole snapshot. None of these windows is counted as a disagreement.",
    ("Some of them may be real. While one lasts, the name servers' own tables show it. Later nothing does.",),
)
SEGMENTS = Meaning(
    "The time of all windows of a topic, cut wherever a name server's view of the topic changes. Within a segment "
    "each name server shows one route.",
    ("The audit computes the impact on consumers and producers from this table. The page does not list it.",),
)
SERVERS = Meaning(
    "Each start of a name server: from when and until when its state is known, and how it ended. “Lost” means "
    "that it ended without a stop record: it was killed or its machine failed. Of a name server that was watched "
    "from outside: each time in which it was watched; “no longer watched” says nothing about the name server.",
    ("If the journal does not hold the start, the state is known from the first whole snapshot on.",),
)
TIMELINE = Meaning(
    "Above: the whole observation. Below: a part of it. Drag over the overview to choose the part, or use the "
    "buttons, or the keys: arrows move, + and - zoom, Home shows everything. What is not drawn was as it should "
    "be.",
    ("In the overview, stretches too short to draw are widened, and close ones are joined.",),
)
TOPIC_INTERVALS = Meaning(
    "When each name server had a topic on a broker, with its queues and permission, and how that ended.",
    ("If a journal lost records, the table shows what the remaining ones say. The page does not list it.",),
)
IMPACT = Meaning(
    "While views differ, the members of one consumer group divide different queue lists. Orphaned queues have no "
    "consumer, and their messages wait. Queues taken twice have two or more consumers, and messages may be "
    "consumed twice. Queue-seconds are queues times the length of the segment. “Any spread” gives mean and "
    "maximum over all ways to spread C consumers over the differing views. “Real spread” uses the name servers "
    "that the group's members really asked, where lookups of its %RETRY% topic show them. Queue ids are those of "
    "the worst spread.",
    (
        "The model assumes that all members see the same member list. That holds for two to three minutes. A "
        "member whose view lost a broker stops its heartbeats there within 30 s, and the broker forgets it after "
        "120 s more. Then a member that still sees the broker gets either the broker's shorter list or the full "
        "list of another broker, at random. Consumers then take turns on orphaned queues, and more queues may be "
        "taken twice.",
        "“Real spread” orders members by the address that name servers see. Clients order themselves by client id, "
        "which begins with their own address. Behind one shared or translated address the order may differ.",
        "Orderly consumption locks queues at the broker, so no queue is consumed twice.",
        "POP and broadcasting consumers do not allocate queues this way.",
        "Static topics need the queue mapping, which is not in the journal.",
        "System topics are left out unless lookups show a group that reads them. Every broker makes them for itself.",
        "Clients keep their last route when a topic is not found. A name server without the topic therefore does "
        "not count as a separate view.",
        "“Capped” means that there were too many spreads to try each, or more queue ids than are stored.",
        "A topic with more than 100,000 read queues at a name server is not computed, since such a number is no "
        "real one. Its divergence is listed like any other.",
    ),
)
GROUP_MEMBERS = Meaning(
    "Which client of which consumer group asked which name server for a topic, and when. A client that looks up a "
    "topic and %RETRY%<group> at one name server is a member of that group.",
    (
        "Empty unless the name servers journal lookups for each client (journalLookupClients). The page does not "
        "list it.",
    ),
)
IMBALANCE = Meaning(
    "Share is the part of the messages that a broker gets while views differ. Fair is the part that it would get "
    "if every producer saw all brokers. Tvd is the part of all messages that goes to the wrong broker (0: none). "
    "Peak is the largest share divided by its fair share: at 1.5 a broker gets 50 % more than it should.",
    (
        "The model assumes that producers are spread evenly over the views and send round robin over all writable "
        "queues. Queue selectors, latency fault tolerance and unequal producers change this.",
        "A view without a writable queue has no share, because its producers cannot send. Such views are named.",
        "System topics are left out unless lookups show a group that reads them.",
    ),
)
UNWRITABLE = Meaning(
    "Brokers whose user topics lost the permission to write at every name server that listed them: a wiped write "
    "permission, or topics that were made read-only. Name servers agree there, so it is no divergence. Alone: topics "
    "that no other broker took meanwhile, so nobody could send to them.",
    (
        "It may be meant so: the permission is wiped before a broker is taken out.",
        "Topics that a broker registered as read-only from the beginning do not count.",
    ),
)
BROKERS = Meaning(
    "One row per broker address and name server. Availability: time registered divided by that time and the time that "
    "it was away after a failure. Failure: heartbeats stopped or the connection ended. Graceful: the broker "
    "unregistered. Flap: a failure followed by a new registration within 10 minutes. MTBF: time up per failure. Cause "
    "not visible: it went as seen from outside, which is none of these. Planned: away after it unregistered.",
    (
        "This is the name server's view. A broken network between the two counts as a failure of the broker.",
        "A stop or start of the name server itself is neither a failure nor graceful. Its down time does not count.",
        "Time before a broker first registers, and time after a name server's own start, count neither way. So does "
        "the time from the last heartbeat until a silent broker is dropped, because it may have been well.",
    ),
)
GAPS = Meaning(
    "Time between two heartbeats of one broker address at one name server. Brokers send a heartbeat every 30 s. "
    "The name server drops a broker at the heartbeat timeout, 120 s unless the broker sets another.",
    ("The first gap after a registration counts. A gap that ended in a drop does not count here: it is a failure.",),
)
DEPARTURES = Meaning(
    "A departure joins the times at which several name servers lost the same broker within a short time. "
    "Graceful: it unregistered. Crash: its connections broke at all running name servers. Silent: its heartbeats "
    "stopped at all of them. Partition: some lost it while another still received its heartbeats. Observed: only "
    "seen from outside, where causes are not visible. Unclear: none of these holds at all name servers. “Asked, "
    "it”: what the broker itself said when it was asked then: answered (it lived), refused (its process was "
    "gone), silent. Topics and queues: what it had at any time, of users. “Stalled” names those that did not run "
    "themselves when they lost it, or up to 30 s before.",
    ("The kind follows from what name servers saw, not from the broker's host. A crash may be a pulled cable.",),
)
TOPICS = Meaning(
    "Each topic that a broker had or a client asked for. Served by: the brokers that producers could send it to at the "
    "end, those with a master and writable queues. If it is one, the topic stands still when that broker is taken out. "
    "Queues: read queues at the end. Skew: the most on one broker divided by the mean of its brokers; 1 is even. "
    "Lookups: how often clients asked for its route, all name servers together. System, %RETRY% and %DLQ% topics are "
    "listed last.",
    (
        "It says which routes remain, not whether the remaining brokers can carry the load.",
        "Lookups are not messages: ten idle consumers count as much as ten busy ones. A client that asks a name server "
        "without a journal is not seen.",
        "A topic that existed before the journal counts as first seen when the journal begins.",
    ),
)
DEAD = Meaning(
    "Topics that were registered and that nobody looked up for the number of days of the option dead_days.",
    (
        "Clients look up a topic every 30 s while they use it. A client that knows its brokers without a name "
        "server, or asks a name server without a journal, is not seen.",
    ),
)
MISSING = Meaning(
    "Hours in which clients asked unusually often for a topic that no broker had: at least 20 times, and more "
    "often than the median plus five times the usual deviation of the topic's previous 168 hours. “New” means "
    "that there were fewer than 24 hours to compare with.",
    (
        "A client repeats a failed lookup, so one misspelt topic in one client may cause many.",
        "System topics are listed last and are no finding: clients look them up by themselves.",
    ),
)
CLIENTS = Meaning(
    "Who asked for routes, the fastest first. A lookup counts for its language and version. Polls: the mean time "
    "between two lookups of one topic. RocketMQ's clients ask for each of their topics every 30 s.",
    (
        "A client is a connection: a process that connects again counts twice. Without journalLookupClients=true "
        "one row stands for all clients of a language and version, and how often each polls is not known.",
    ),
)
CLOCKS = Meaning(
    "How far each name server's clock is ahead of the reference, from how many samples that was estimated, and by "
    "how much the estimate may be wrong.",
    (
        "One offset per name server holds for a day of its journal. It depends on that day and those before it. "
        "The page shows the last one under “What was read”.",
    ),
)
SOURCES = Meaning(
    "What was read, per name server. Its times were corrected by the clock offset before name servers were "
    "compared. “Clock known to” is by how much the offset may be wrong.",
    (
        "“Versions”: from new data versions of brokers, which all name servers heard at once. “Heartbeats”: too "
        "few versions changed. Heartbeats repeat, so an offset that is any number of periods larger fits as well: "
        "it is known up to a multiple of the period, and taken to be off by 10 minutes at most. “None”: nothing "
        "shows how far the clock is off, so the offset is 0, and taken to be off by an hour at most. “Given”: the "
        "option --clocks says by how much. Differences that this may explain have the doubt “clocks”.",
    ),
)
QUALITY = Meaning(
    "Gaps in the sequence numbers and drop records are lost records. Corrupt lines could not be read. A silent "
    "name server wrote nothing for longer than it should. Any of these makes the run incomplete, and never clean.",
    ("A lost record may hold anything: a window that began or ended there is too short, too long or missing.",),
)

ADMIN_CHANGES = Meaning(
    "Requests that change a name server: KV items, properties, permissions of a broker, deleted topics. “Before” "
    "and “after” say what changed. Where both are empty, nothing did, or it is a password.",
    (
        "Each name server gets its own request: one change of a fleet is a row for each of them.",
        "Requests that changed nothing may be counted together. Where many come within a second, fields, before "
        "and after are left out.",
        "The response code is that of the moment of the change. If the file of the KV items or properties could "
        "not be written afterwards, the sender got an error, and the log has it.",
        "Lost records may hide requests. rocketns audit verify checks that none was removed from the files.",
    ),
)
REFUSED = Meaning(
    "Requests that access control refused, by host, class, request and reason. Where a class is only observed, "
    "they were answered, and would be refused.",
    (
        "First and last are times of records. A record counts requests of some seconds.",
        "Behind a proxy without a PROXY header, all peers have the proxy's host.",
        "An access key of a request without a valid signature is what its sender claims.",
    ),
)
NEW_ADDRESSES = Meaning(
    "Hosts from which a broker (cluster, name and id) registered for the first time. The first host of each "
    "broker is not listed. Who takes a broker's place from elsewhere is in this list; so is a pod that returns "
    "with another address.",
    (
        "What was before the journals begin is not known: the first host that they name counts as known.",
        "A broker behind a PROXY header is left out: its host is not recorded.",
    ),
)
