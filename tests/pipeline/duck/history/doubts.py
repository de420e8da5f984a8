"""Doubt after lost records in SQL: for each hole and each key, the first that the journal says of the key after it.

Of what duck/history/state.py prepared (events, holes, needed, uptime), and topic_intervals.
"""

from __future__ import annotations

import duckdb

SQL = """
    create or replace temp table topic_doubts as
    with keys as (select distinct topic, broker from topic_intervals),
    named as (
        select ns, boot, seq, max(ts) over (partition by ns, boot order by seq) as t, ev, topics, broker, snap
        from events
    ),
    records as (
        select ns, boot, seq, t, entry.t as topic, broker, ev = 'snap' as whole,
            if(ev = 'tdel', null, [entry.r, entry.w, entry.p]) as value
        from (select *, unnest(topics) as entry from named where topics is not null)
            left join needed using (ns, boot, snap)
        where ev <> 'snap' or end_seq is not null
    ),
    silences as (
        select n.ns, n.boot, n.end_seq as seq, n.end_ts as t, topic, broker, true as whole, null as value
        from needed n, keys k
        where not exists (
            select 1 from records r where (r.ns, r.boot, r.topic, r.broker) = (n.ns, n.boot, k.topic, k.broker)
                and r.seq between n.snap and n.end_seq
        )
    ),
    said as (from records union all by name from silences),
    times as (
        select h.*, e.ts as t from holes h join events e on (e.ns, e.boot, e.seq) = (h.ns, h.boot, h.after)
    ),
    judged as (
        select h.ns, h.boot, topic, broker, h.t as begin,
            (select arg_max(s.value, s.seq) from said s where (s.ns, s.boot, s.topic, s.broker)
                = (h.ns, h.boot, k.topic, k.broker) and s.seq <= h.after and s.value is not null
                and s.seq = (select max(seq) from said l where (l.ns, l.boot, l.topic, l.broker)
                    = (h.ns, h.boot, k.topic, k.broker) and l.seq <= h.after)) as value,
            (select arg_min({'t': s.t, 'seq': s.seq, 'whole': s.whole, 'value': s.value}, s.seq) from said s
                where (s.ns, s.boot, s.topic, s.broker) = (h.ns, h.boot, k.topic, k.broker)
                and s.seq >= h.until) as next
        from times h, keys k
    )
    select ns, topic, broker, greatest(min(begin), u.t1) as t1, least(coalesce(next.t, u.t2), u.t2) as t2
    from judged join uptime u using (ns, boot)
    where not coalesce(next.whole and value is not distinct from next.value, false)
    group by ns, boot, topic, broker, next, u.t1, u.t2
    having greatest(min(begin), u.t1) < least(coalesce(next.t, u.t2), u.t2)
"""


def topic_doubts(db: duckdb.DuckDBPyConnection) -> None:
    """The table ``topic_doubts``."""
    db.execute(SQL)
