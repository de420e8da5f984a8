"""What each figure means and what it does not say. docs/audit.md explains the same at more length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Meaning:
    """Plain sentences: how to read the figure, and its limits."""

    text: str
    limits: Sequence[str] = ()


INCIDENTS = Meaning(
    "A window is the time in which the name servers that were up did not all say the same of one topic on one broker. "
    "Windows of one broker and cause that begin within 10 s of each other are one incident; incidents of several "
    "brokers with one cause that begin within 10 s are one line. “Without the route” are the name servers that did not "
    "have the broker; with none, all had it with different queue counts or permissions.",
    (
        "A fault begins to act before its window: the name server notices it only when the connection closes or the "
        "heartbeat timeout has passed. “Silent before” is the time since the last heartbeat it took.",
        "Windows shorter than the option min_window are left out: name servers never hear of a registration in the "
        "same moment.",
        "A name server that is down is not compared. Clocks are corrected by one offset for each name server.",
    ),
)
WINDOWS = Meaning(
    "The longest windows one by one, with what each name server said while the window began.",
    ("What they said later in the same window may differ: only its first constant stretch is shown.",),
)
SERVERS = Meaning(
    "Each start of a name server: since when its state is known, until when, and how it ended. “Lost” is an end "
    "without a stop record: it was killed or its machine failed.",
    ("Where the journal does not hold a start, the state is known from the first whole snapshot on.",),
)
TIMELINE = Meaning(
    "A full bar: the broker is registered at this name server. A thin bar: gone, after a failure or without one. The "
    "strip below a row: views of that broker's topics differed between name servers, here or elsewhere. Grey "
    "background: the name server was down or wrote nothing.",
    ("Stretches too short for the drawing are widened, and near ones are joined: read exact times in the tables.",),
)
IMPACT = Meaning(
    "While views differ, members of one consumer group divide different queue lists among themselves. Orphaned: queues "
    "that no member takes, whose messages wait. Twice: queues that two or more members take, whose messages may be "
    "consumed twice. Queue-seconds are such queues times the length of the segment. Mean and maximum are over all ways "
    "in which C consumers can be spread over the differing views, or over the real spread where lookups of the "
    "group's %RETRY% topic show it (“real spread”). The queue ids are those of the worst way.",
    (
        "All members are assumed to see the same member list. That holds for two to three minutes: a member whose view "
        "lost a broker stops its heartbeats there within 30 s, and the broker forgets it after 120 s more. From then "
        "on members that still see the broker get, by chance, its shorter list or the whole one of another broker: "
        "orphaned queues are consumed by turns, and more queues may be taken twice.",
        "“Real spread” orders members by the address that name servers see. Clients order themselves by client id, "
        "which begins with their own address: behind one address, or a translated one, the order may be another.",
        "Orderly consumption locks queues at the broker, which keeps a queue from being consumed twice.",
        "POP and broadcasting consumers do not allocate this way.",
        "Static topics need the queue mapping, which is not looked at.",
        "System topics are left out unless lookups show a group that reads them: every broker makes them for itself.",
        "A running client keeps its last route when a topic is not found, so a name server without the topic is no "
        "view of its own.",
        "“Capped”: there were too many ways to look at each, or more queue ids than are kept.",
    ),
)
IMBALANCE = Meaning(
    "Share is the part of the messages that a broker gets while views differ, fair the part it would get if every "
    "producer saw all brokers. Tvd is the part of all messages that goes to another broker than it should (0: none). "
    "Peak is the largest share over fair: 1.5 is half as much again as fair.",
    (
        "Producers are assumed to be spread evenly over the views and to send round robin over all writable queues; "
        "a queue selector, latency fault tolerance and unequal producers change this.",
        "A view without any writable queue has no share: its producers can send nothing, and it is named instead.",
    ),
)
BROKERS = Meaning(
    "Of each broker address at each name server. Availability: time registered over time the name server was up. "
    "Failure: gone because heartbeats stopped or the connection ended; graceful: it unregistered. Flap: a failure "
    "with a new registration within 10 minutes. MTBF: time up for each failure.",
    (
        "This is the view of a name server: a broken network between the two counts as the broker's failure.",
        "A name server's own stop and start is neither a failure nor graceful, and its down time is left out.",
        "A broker first seen in the middle of the observation counts as not available before.",
    ),
)
GAPS = Meaning(
    "Time between two heartbeats of one broker address as one name server took them. Brokers send one every 30 s; at "
    "the heartbeat timeout, 120 s unless the broker says otherwise, the name server drops the broker.",
    ("The first gap after a registration counts; a gap that ended in a drop does not, it is a failure.",),
)
DEPARTURES = Meaning(
    "Departures of one broker at several name servers within a short time are one. Graceful: it unregistered. Crash: "
    "its connections broke at all name servers that were up. Silent: heartbeats stopped at all of them. Partition: "
    "some lost it while another went on taking its heartbeats. Unclear: none of these holds at all name servers.",
    ("The kind follows from what name servers saw, not from the broker's host: a crash may be a pulled cable.",),
)
INVENTORY = Meaning(
    "Topics with their brokers and queues. Created: its first registration in the observation; removed: its last one "
    "ended before the observation did. System topics and %RETRY% and %DLQ% topics are told apart.",
    ("A topic that was there when the journal began is created, for this table, at that moment.",),
)
DEAD = Meaning(
    "Topics that were registered and that nobody looked up for the number of days of the option dead_days.",
    (
        "Clients look a topic up every 30 s while they use it. A client that talks to brokers without a name server, "
        "or to a name server without a journal, is not seen.",
    ),
)
SKEW = Meaning(
    "Largest number of read queues on one broker over the mean of the topic's brokers: 1 is even.",
    ("Only brokers that have the topic are counted.",),
)
LOOKUPS = Meaning(
    "How often a topic's route was asked for at all name servers together: a measure of how many clients use it.",
    ("It counts route lookups, not messages: ten idle consumers count as much as ten busy ones.",),
)
MISSING = Meaning(
    "Hours in which clients asked for a topic that no broker had much more often than in the topic's previous 168 "
    "hours: at least 20 such answers, and more than the median plus five times the usual deviation. “New”: "
    "there were fewer than 24 hours to compare with.",
    ("A client repeats a lookup that failed, so one misspelt topic in one client may make many.",),
)
SOURCES = Meaning(
    "What was read, for each name server. Clock offset is what was added to its times before name servers were "
    "compared.",
    ("An offset is estimated from what all name servers saw at once; with little traffic it stays 0.",),
)
QUALITY = Meaning(
    "Holes in the sequence numbers and drop records are lost records; corrupt lines could not be read; a silent name "
    "server wrote nothing for longer than it should. Any of them makes the run incomplete, and never clean.",
    ("What was lost may hold anything: a window that began or ended there is seen too short, too long or not at all.",),
)
