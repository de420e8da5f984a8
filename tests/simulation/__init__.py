"""Deterministic simulation: whole name servers on virtual time, with brokers, clients and faults, all from one seed.

One thread, no sleeping, no real socket and no real file. A name server is the product's own code: `NamesrvController`
with reactors of in-memory connections (`reactors`, `network`), on an event loop of virtual time (`world`), and a disk
that loses what was not synced (`disk`). Its two threads that write files are work of the same loop. Brokers and clients
are models of the real ones (`broker`, `peers`). `plan` decides from the seed who takes part and what goes wrong.

The invariants hold after every round of a name server in which its tables changed, and every second. Times are virtual.
A name server's *running time* is that in which it was neither dead nor stopped.

(a) A broker that lives and can reach a name server is in its routes, with its topics and queues: always, from the
    answer to its registration on, as long as both processes run and the link between them carries; in any case 65 s
    after the link carries again (two registration periods and 5 s: the first one may go to a connection that is
    dead). A broker that asks with 322 first also waits 24 s for the answers of all name servers.
(b) A broker that is gone leaves: within 2 s of running time if the name server's host can be told of the end of its
    connection; otherwise within its heartbeat time-out (10 s with acting masters, 120 s without), the interval of the
    scan and 13 s of running time after the last bytes of its host.
(c) No event that is older than a registration undoes it: no close of a connection over which the broker did not
    register last; no expiry and no idle limit while less running time than the limit went by since bytes of the
    broker arrived, where stops of at most 1.5 s count as running; no unregistration of a broker that never said that
    it leaves. Requests count in the order in which they arrive, as in Java: one that was delayed in the network takes
    effect late, and the broker's next registration mends that.
(d) The journal, read record by record, is the tables: members, live entries, topics, KV items. Sequence numbers have
    no gap but those that ``drop`` states. A snapshot gives the same state. After a loss nothing is compared until the
    next whole snapshot.
(e) What a process leaves on disk are its journal's records from the first one on, in order, with all that were synced.
    A closed file has whole lines. A KV item whose change was answered is there after a restart, or a later value. A
    start with ``rocketns.restore`` has the topics, members and switches that were there at the last record on the disk;
    nothing is compared if that record is in the middle of a change, or if records were lost. A broker that was restored
    and is not heard has ``confirmSeconds`` instead of its time-out in (b) and (c), and 8 s if its address can refuse.
(f) A lookup by the compiled slots gives the bytes of the Python reference, in both dialects.
(g) Queues, the journal's buffer, connections and unfinished frames stay within their limits. Nothing is kept of a
    connection that is gone. No loop goes round more than 10,000 times a second.

(h) The audit over the journals finds what happened, and nothing else (`audit`, with ``--audit``): when each name
    server ran and how it ended, its stalls, members and queues over time, and windows in which name servers differ.
    After lost records only what it calls certain is judged.

An error that the product logs with a stack, and a callback that fails, is a violation too.
"""
