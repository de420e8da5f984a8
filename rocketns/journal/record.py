"""The journal's contract: the content of its files, for everyone who reads them. Imports nothing of rocketns.

A file is UTF-8 text, one JSON object a line, at ``v=1/dt=YYYY-MM-DD/ns=<id>/<boot>-<file no>.jsonl`` below the
journal's folder; the date is that of the file's first record, in UTC. File numbers have at least six digits and begin
at 1 in each boot. A file being written is called ``.open-<boot>-<file no>``; readers pass over names that begin with
a dot, of which there is also ``v=1/.lock-<id>``, held by the process that writes for this id.

Keys that are not given are null. Readers give `COLUMNS` explicitly. A new column is optional; another meaning or type
of an old one is another ``v=``, and readers pass over kinds of records that they do not know. A record with text that
is no valid Unicode (lone surrogates) has ``escaped`` true: in all of its texts ``\\ud800``, six characters, stands for
that code unit, and ``\\u005c`` for each backslash.

All records
    ``boot`` start of the process, epoch ms, unique for the ns. ``seq`` 1, 2, 3 … within a boot, in the order things
    happened: the order within a boot is that of ``seq``. ``ts`` is the wall clock in epoch us with a resolution of
    1 ms; it may step back when somebody sets the clock. ``ev`` says what it is, one of `KINDS`. ``since`` only in
    journals of an observer, see ``observed``.

start, stop
    The first two records of a boot are ``open`` and ``start`` (with ``ns``). There is no broker and no topic then,
    unless ``restored`` is true: the server began with the routes that the records of the boots before it give, less
    brokers that were silent for too long. Where ``seeded`` is true as well, it began with the routes of another name
    server instead, and nothing that the boots before it recorded counts. A snapshot of the routes begins at once; what
    the server began with is known when that is whole.
    ``stop`` is the last record of a server that was stopped; one that was killed has none. Before it is a snapshot
    where that takes less than a second.

observed: the journal of a name server that another process watched (`rocketns collect`)
    ``start`` has ``observed`` true. The observer asks the name server again and again, and records what differs. A boot
    is a time in which it did: between its ``stop`` and the next ``start`` the state is unknown, and neither says that
    the name server itself stopped or started. It begins when the observer has read everything once. With ``restored``
    it begins with the state at the end of the boot before, which was then at most an hour old.
    Each record of a change has ``since``, epoch us: the change happened after ``since`` and not later than ``ts``. The
    ``since`` of ``stop`` is the last moment at which the name server was read. Without ``since`` is what the observer
    knew when the boot began: ``kv`` and ``config`` right after ``start``. Of several changes between two looks only the
    outcome has a record.
    The last record of a snapshot has ``looked``, epoch us: every topic was looked at then or later. Or it has
    ``no_topics`` true: the name server refuses the list of its topics, so none of this boot is known, and nothing says
    that it has none. Such a boot is not continued by ``restored``.
    Causes are not visible from outside: ``down``, ``tput`` and ``tdel`` have the cause observed, whatever it was. Only
    where the address of a ``down`` has another id or cluster of its group now, the cause is register. ``down`` may have
    ``asked``, what the broker itself said when the observer then asked it: answered, refused (its address refused a
    connection), silent. Signs of life, live entries, data versions and who asked for what are not visible either: there
    is no ``hb``, ``doubt``, ``lookup``, ``admin``, ``refused`` or ``stall``, and no ``gap``, ``timeout_ms``, ``ha``,
    ``dvt``, ``dvc``, ``dvs`` or ``from_host``. A ``reg`` without ``timeout_ms`` makes no live entry, and ``live`` gives
    only the filter servers of an address. A member has the cluster of its group. ``group`` is written where only
    ``gcluster``, ``zone`` or ``acting`` changed. ``config`` is any property that has another value, and a ``map`` that
    is gone is a ``tdel`` and a ``tput`` of its topic.

open
    The first record of each file: ``ns``, ``file``, the file's number, and ``rotate_s``, after how many seconds the
    file is closed at the latest (``journalRotationSeconds``). It has a ``seq`` like any other record. What a server
    wrote in the last ``rotate_s`` may be in a file that is not closed yet.

alive
    Nothing has happened for a minute; it has no columns of its own. So a server that runs writes a record a minute at
    least, and readers can tell an empty table from a server that is gone.

reg, hb, down: members of broker groups, which are what routes show
    A member is the key (``cluster``, ``broker``, ``bid``, ``addr``), names as the broker registered them. ``reg``: it
    was not there and now is. ``down``: it was there and now is not. Between them ``hb``: each sign of life taken from
    it (a registration that repeats, BROKER_HEARTBEAT, QUERY_DATA_VERSION). There is never a second ``reg`` of a key
    without a ``down`` between, nor an ``hb`` or ``down`` of a key that is not there, as long as no record was lost.
    Of BROKER_HEARTBEAT and QUERY_DATA_VERSION, records of more than 1 KiB are written once in 10 s. What else they say
    of the tables: see ``group``. ``gap`` is ms since the sign of life before, on the clock that
    expiry is judged by; null in ``hb`` and ``down`` where the server had no live entry of the address. ``dvt``,
    ``dvc``, ``dvs`` are the data version (timestamp ms, counter, state version), null where the broker gave none.
    ``reg`` has ``timeout_ms`` (heartbeat timeout in force), ``ha`` (HA address), ``zone`` and ``acting`` (true: the
    group knows acting masters); ``from_host`` is the host that registered the address, an IP address as the socket
    showed it, null where a PROXY header announced it. ``hb`` has these five only where one of them or ``fs`` changed,
    and then all five. ``fs`` has the broker's filter servers; in ``reg`` and ``snap`` null is none, in ``hb`` no
    change. ``gcluster`` is the cluster of the group, if it is another. ``cause`` of ``down``: unregister, expired,
    channel_close, channel_exception, channel_idle; unconfirmed, refused: see ``doubt``; conflict: another address has
    the broker id now, or the registration lost against the one that has it; register: the same address registered under
    another id or cluster, and its ``reg`` follows; observed: see there.

group, live: what the records of members do not give of the tables
    A member's ``reg`` makes its group if there is none, and the ``down`` of the last member removes it. The group's own
    cluster and those of its members list the broker name. A member's ``reg``, ``hb`` and ``down`` make, change and
    remove the live entry of its ``cluster`` and ``addr``, with its filter servers; of several members with the same
    two, the last one removes it. Where the tables differ from that, these records follow within the same request.
    ``group``: the group of ``broker`` has now ``gcluster``, the cluster of its own, ``zone`` and ``acting``: a
    registration that was not accepted changes them.
    ``live``: the live entry of ``cluster`` and the address ``live`` has ``dvt``, ``dvc``, ``dvs``,
    ``timeout_ms``, ``ha`` and ``from_host`` now, and the filter servers ``fs``; without ``timeout_ms`` there is no
    entry. Each sign of life of an address that is no member repeats its ``live``.

doubt: a member is kept without a sign of life
    From then on it is unconfirmed, until its next ``hb`` or its ``down``. ``doubt`` says why: silent_together (it was
    due to expire together with many others); stalled (its connection ended while the server did not run, see
    ``stall``); restored, seeded (the server knows it from its own journal, or from another name server, but did not
    hear it): only ``snap`` has these, and the ``gap`` of the next ``hb`` or ``down`` is null. ``gap`` as above.
    ``seen`` is its last sign of life in epoch ms, null if unknown. The ``cause`` of its ``down`` may be refused (its
    address refused a connection) or unconfirmed (no sign of life, or none with this name, until its deadline).

tput, tdel: queue data of one broker, ``broker``, which has no cluster in the tables
    ``tput``: these topics have these values now: ``t`` topic, ``r`` read queues, ``w`` write queues, ``p`` permission
    (4 read, 2 write), ``s`` system flag. ``tdel``: these topics have no queue data of the broker any more; only ``t``
    is given. A topic without any broker does not exist. ``cause`` of ``tput``: register (it came with the
    registration that made the broker a member), heartbeat (with a later one), topic (REGISTER_TOPIC_IN_NAMESRV), perm
    (a tool changed the write permission); where a group lost its master and became read-only, the cause of that
    ``down``. ``cause`` of ``tdel``: those of ``down`` where the group went; register where a registration dropped
    what it no longer lists; admin where a tool deleted the topic. Many topics are split: a record has at most
    `TOPICS_IN_RECORD_MAX`, and names of `TOPIC_CHARS_IN_RECORD_MAX` characters together unless it has one topic only.
    Within one request ``reg`` or ``hb`` comes before its ``tput``, and ``down`` before its ``tdel``. Topics that would
    take too much of the buffer at once are written later, in pieces, each record with what is true at its own ``seq``.
    So it may repeat what a reader knows, or delete what it does not know. Until they are written, the records of the
    broker's members have no data version; then a ``live`` gives it.

map: queue mappings of static topics
    ``maps``: these topics have these mappings now: ``t`` the key of the mapping, and the fields of Java's
    TopicQueueMappingInfo: ``n`` topic, ``b`` bname, ``ids`` pairs of currIdMap, ``e`` epoch, ``q`` totalQueues,
    ``d`` dirty, ``sc`` scope. A topic has one mapping for each ``b``. The ``tdel`` of the topic of that
    broker removes it. ``broker`` registered them.
    A record has at most `MAPPINGS_IN_RECORD_MAX`, and `TOPIC_CHARS_IN_RECORD_MAX` characters unless it has only one.

kv
    ``ns_key``, ``key``, ``val``: the new value of a KV item, null if it was deleted. Of a value of more than
    `VALUE_BYTES_IN_RECORD_MAX` bytes, escapes included, the first are given, and after them ``… (cut, N characters)``;
    of the two names of more than `NAME_BYTES_IN_RECORD_MAX`. So no record is a large one, see ``drop``; it is the same
    in ``config`` and ``snap``. Only real changes have a record; soon after ``start`` each item of the server's file has
    one.

admin, refused: who asked for what
    ``admin``: a request of class admin (codes 100, 102, 205, 216, 318, 327) was processed, with access control or
    without. It comes after the records of what it changed. ``code``, and ``result``, the response code; where the file
    of the KV table or of the properties cannot be written later on, the sender gets another one. ``from_host`` is the
    sender's host and ``client`` its ip:port, those of a PROXY header where there was one; ``principal`` and
    ``access_key`` are null where they are not known. ``fields``: names ``k`` and values ``v`` of the request, cut, and
    without passwords and signatures. ``before`` and ``after`` say what it changed: the KV item, properties as JSON,
    permissions and the number of topics, the brokers that have the topic; null where it changed nothing, and for
    passwords. ``n`` is 1, or how many such requests of the sender the record counts. Only requests that changed
    nothing are counted together: the first of them has a record, and after some seconds another one counts the
    others. Host ``*`` is everybody else, where there are many senders. Where many come in one second, fields, before
    and after are left out.
    ``refused``: ``n`` requests of ``from_host`` were refused, or would have been, where ``enforced`` is false:
    ``access`` is their class, ``reason`` why; the other columns as in ``admin``.

config
    ``key``, ``val``: a property that request 318 changed; null for one whose name says that it holds a password.

snap: the whole state, at the first chance in each UTC hour, so also at the start of a day, after a loss, and after
many records
    Several records with the same ``snap``: the ``seq`` of the first of them, or of an ``open``, ``drop`` or ``seal``
    right before it. ``part`` counts 0, 1, 2 … in a snapshot; the last record has ``end`` true, in the journal
    of an observer ``looked`` or ``no_topics``, and nothing else. A
    record is one of:
    a member, with the columns of ``reg`` (without ``timeout_ms`` if the address has no live entry), and of ``doubt`` if
    it is unconfirmed; what ``live`` says (with ``seen`` if it is unconfirmed), after the members; up to
    `TOPICS_IN_RECORD_MAX` ``topics`` of one ``broker``; ``maps``; a KV item (``ns_key``, ``key``, ``val``); the end.
    Other records may come between, as the server goes on meanwhile: each ``snap`` record is true at its own
    ``seq``. A reader that starts with an empty state at part 0, sets what each ``snap`` names, and applies all
    other records, has exactly the state of the server at ``end``. It ignores a ``down`` or ``tdel`` of something
    unknown. A reader that already has the state may
    skip ``snap``, or check it. A snapshot without ``end``, or with a gap in its ``seq``, is not complete. Each hour has
    one, even of an empty table. The one after a ``drop`` comes at least a minute after the snapshot before it.
    Another one comes when the other records since the last one have ``journalSnapshotBytes``, and as many bytes as it.

lookup: route lookups in the interval that ended at ``ts``
    ``topic``, ``client`` (ip:port as the socket shows it; null unless ``journalLookupClients``), ``lang`` and ``cv``
    (language and protocol version as the request gives them, null where it gives none), ``n`` lookups, ``miss`` of
    them answered "topic not exist", ``iv_ms`` length of the interval, shorter before a stop. What did not fit the
    bound ``journalLookupKeysMax`` is in one row with ``topic`` and ``client`` ``*`` and null ``lang`` and ``cv``.

stall
    The server did not run for at most ``ms`` before ``ts``: its process was stopped, or its machine was suspended. What
    came meanwhile is read and recorded only now. The deadlines of brokers were moved by this time.

seal, and ``prev`` and ``hash`` of stop: the chain of hashes
    ``hash`` is SHA-256, cut to 40 hexadecimal digits, of the text ``prev`` and of all bytes since the end of the line
    with the seal before, up to the first digit of ``hash``; files of a boot count as one. ``prev`` is the hash of the
    seal before. The first seal of a boot continues the last one of all files before it: ``prev`` is its hash if nothing
    follows it, or else the same kind of hash of it and of all that follows it. Where there is no seal before, 40 zeros
    stand for its hash. The line ends with ``hash``. A boot's first records and each file that was closed normally end
    with a seal; others come after 10 s and 1 KiB, after 1 MiB, and soon after ``admin`` and ``refused``.

drop
    ``lost``: the number of records lost because the buffer was full, or the record one of more than 16 KiB and the
    buffer half full, or the share of such records between two flushes used up. Each leaves a gap in ``seq``: the gaps
    in a boot's ``seq`` and the sum of its ``lost`` are equal, except for records that a kill destroyed.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, NamedTuple, get_args

VERSION = 1

# What a record says it is: ``ev``.
Ev = Literal[
    "start", "stop", "open", "reg", "hb", "down", "doubt", "tput", "tdel", "map", "kv", "config", "snap", "lookup",
    "drop", "alive", "stall", "group", "live", "admin", "refused",
    "seal",
]  # fmt: skip

# Types are Spark's names. `topics` is an array of structs of `TOPIC_FIELDS`.
TOPIC_FIELDS = {"t": "string", "r": "int", "w": "int", "p": "int", "s": "int"}
COLUMNS = {
    "boot": "long",
    "seq": "long",
    "ts": "long",
    "ev": "string",
    "ns": "string",
    "file": "long",
    "rotate_s": "long",
    "cluster": "string",
    "broker": "string",
    "addr": "string",
    "bid": "int",
    "gap": "long",
    "dvt": "long",
    "dvc": "long",
    "dvs": "long",
    "timeout_ms": "long",
    "ha": "string",
    "zone": "string",
    "acting": "boolean",
    "cause": "string",
    "topics": "array<struct<t:string,r:int,w:int,p:int,s:int>>",
    "topic": "string",
    "client": "string",
    "n": "long",
    "miss": "long",
    "iv_ms": "long",
    "lang": "string",
    "cv": "int",
    "ns_key": "string",
    "key": "string",
    "val": "string",
    "lost": "long",
    "snap": "long",
    "part": "int",
    "end": "boolean",
    "doubt": "string",
    "seen": "long",
    "ms": "long",
    "restored": "boolean",
    "seeded": "boolean",
    "gcluster": "string",
    "fs": "array<string>",
    "escaped": "boolean",
    "live": "string",
    "from_host": "string",
    "maps": "array<struct<t:string,n:string,b:string,ids:array<array<int>>,e:long,q:int,d:boolean,sc:string>>",
    "code": "int",
    "result": "int",
    "principal": "string",
    "access_key": "string",
    "fields": "array<struct<k:string,v:string>>",
    "before": "string",
    "after": "string",
    "access": "string",
    "reason": "string",
    "enforced": "boolean",
    "prev": "string",
    "hash": "string",
    "since": "long",
    "observed": "boolean",
    "asked": "string",
    "looked": "long",
    "no_topics": "boolean",
}


class RecordKind(NamedTuple):
    """What each reader does with one kind of record.

    ``restoring``: the columns from which a start restores the tables; None: it passes over the whole record.
    ``others``: what it may have beside them and beside boot, seq, ts and ev.
    """

    restoring: tuple[str, ...] | None
    others: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns beside boot, seq, ts and ev. ``since`` is in `restoring` of one kind."""
        return tuple(dict.fromkeys((*(self.restoring or ()), *self.others, "since", "escaped")))


# The key of a member, and its data version.
MEMBER = ("cluster", "broker", "bid", "addr")
DATA_VERSION = ("dvt", "dvc", "dvs")
_LIVE = (*DATA_VERSION, "timeout_ms", "ha", "fs", "from_host")
_GROUP = ("gcluster", "zone", "acting")
_ITEM = ("ns_key", "key", "val")
_SEAL = ("prev", "hash")
_REQUEST = ("code", "from_host", "principal", "access_key", "fields", "n")
KINDS: dict[str, RecordKind] = {
    "start": RecordKind(("ns", "restored", "seeded", "observed")),
    "stop": RecordKind(("since",), _SEAL),
    "open": RecordKind(("ns", "file"), ("rotate_s",)),
    "reg": RecordKind((*MEMBER, *_LIVE, *_GROUP)),
    "hb": RecordKind((*MEMBER, *_LIVE, *_GROUP), ("gap",)),
    "down": RecordKind(MEMBER, ("gap", "cause", "asked")),
    "doubt": RecordKind(("broker", "addr", "bid", "seen"), ("cluster", "gap", "doubt")),
    "tput": RecordKind(("broker", "topics"), ("cause",)),
    "tdel": RecordKind(("broker", "topics"), ("cause",)),
    "map": RecordKind(("broker", "maps")),
    "kv": RecordKind(None, _ITEM),
    "config": RecordKind(None, ("key", "val")),
    "snap": RecordKind(("snap", "part", "end", *MEMBER, *_LIVE, *_GROUP, "seen", "topics", "maps", "live",
                        "looked", "no_topics"),
                       ("doubt", *_ITEM)),
    "lookup": RecordKind(None, ("topic", "client", "n", "miss", "iv_ms", "lang", "cv")),
    "drop": RecordKind((), ("lost",)),
    "alive": RecordKind(None),
    "stall": RecordKind(None, ("ms",)),
    "group": RecordKind(("broker", *_GROUP)),
    "live": RecordKind(("cluster", "live", *_LIVE)),
    "seal": RecordKind(None, _SEAL),
    "admin": RecordKind(None, (*_REQUEST, "client", "result", "before", "after")),
    "refused": RecordKind(None, (*_REQUEST, "access", "reason", "enforced")),
}  # fmt: skip


def check_rows(rows: Collection[str], wanted: Collection[str] = get_args(Ev)) -> None:
    """LookupError where a table over kinds of records lacks one of them, or has another one."""
    if missing := set(wanted) - set(rows):
        raise LookupError(f"no row for the records {sorted(missing)}")
    if extra := set(rows) - set(wanted):
        raise LookupError(f"a row for {sorted(extra)}, which no reader expects there")


check_rows(KINDS)

TOPICS_IN_RECORD_MAX = 500
TOPIC_CHARS_IN_RECORD_MAX = 40_000
MAPPINGS_IN_RECORD_MAX = 20
FILTER_CHARS_IN_RECORD_MAX = 40_000
# Of a KV item or a property, as they are written: all three together stay below 16 KiB.
VALUE_BYTES_IN_RECORD_MAX = 10_000
NAME_BYTES_IN_RECORD_MAX = 2_500

OVERFLOW = "*"
