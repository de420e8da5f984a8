"""Uptime, members, topics, and doubt after lost records, in SQL over all records sorted."""

from __future__ import annotations

import duckdb

HOLES = """
    create or replace temp table holes as
    select * from (
        select ns, boot, lag(seq) over w as after, seq as until
        from events window w as (partition by ns, boot order by seq)
    ) where until > after + 1
"""
SNAPSHOTS = """
    create or replace temp table snapshots as
    select * from (
        select ns, boot, snap, max(seq) filter ("end") as end_seq, max(ts) filter ("end") as end_ts
        from events where ev = 'snap' group by all having min(part) = 0
    ) s
    where end_seq is not null and not exists (
        select 1 from holes h where h.ns = s.ns and h.boot = s.boot and h.after < s.end_seq and h.until > s.snap
    )
"""
BOOTS = """
    create or replace temp table boots as
    select *, lead(boot) over (partition by ns order by boot) is not null as again
    from (
        select ns, boot, min(ts) as first_ts, max(ts) as last_ts, min(ts) filter (ev = 'start') as start_ts,
            max(coalesce(since, ts)) filter (ev = 'stop') as stop_ts, (min(seq) = 1 or bool_or(ev = 'start'))
              and not bool_or(ev = 'start' and (coalesce(restored, false) or coalesce(observed, false))) as begun,
            bool_or(coalesce(observed, false) or since is not null) as observed,
            bool_or(coalesce(no_topics, false)) as no_topics
        from events group by all
    )
"""
NEEDED = """
    create or replace temp table needed as
    select distinct s.* from snapshots s join (
        select ns, boot, until as from_seq from holes union all select ns, boot, 0 from boots where not begun
    ) f using (ns, boot)
    where s.snap >= f.from_seq and not exists (
        select 1 from snapshots t where t.ns = s.ns and t.boot = s.boot and t.snap >= f.from_seq and t.snap < s.snap
    )
"""
UPTIME = """
    create or replace temp table uptime as
    select ns, boot, greatest($t0, begin_ts) as t1,
        case end_cause when 'open' then $t1 else coalesce(stop_ts, last_ts) end as t2, end_cause, observed,
        no_topics
    from (
        select b.*,
            if(begun, coalesce(start_ts, first_ts), (
                select min(end_ts) from needed n where n.ns = b.ns and n.boot = b.boot
            )) as begin_ts,
            case when observed and (stop_ts is not null or again or $t1 - last_ts > $silent) then 'unwatched'
                when stop_ts is not null then 'stop' when again then 'lost'
                when $t1 - last_ts > $silent then 'silent' else 'open' end as end_cause
        from boots b
    )
    where begin_ts is not null and t1 < t2
"""
MEMBERS = """
    create or replace temp table changes as
    select ns, boot, seq, ts, {'cluster': cluster, 'broker': broker, 'bid': bid, 'addr': addr} as key,
        if(ev = 'down', null, true) as value, if(ev = 'snap', 'snapshot', cause) as cause, gap, asked,
        ts - since as early, case when timeout_ms is not null then {'ms': timeout_ms, 'zone': zone} end as stated
    from events left join needed using (ns, boot, snap)
    where addr is not null
        and (ev in ('reg', 'down') or (ev = 'hb' and timeout_ms is not null) or needed.end_seq is not null)
"""
TOPICS = """
    create or replace temp table changes as
    select ns, boot, seq, ts, {'topic': entry.t, 'broker': broker} as key,
        if(ev = 'tdel', null, {'r': entry.r, 'w': entry.w, 'p': entry.p}) as value,
        if(ev = 'snap', 'snapshot', coalesce(cause, 'register')) as cause,
        null::bigint as gap, null::varchar as asked, ts - since as early,
        null::struct(ms bigint, zone varchar) as stated
    from (select *, unnest(topics) as entry from events where topics is not null)
        left join needed using (ns, boot, snap)
    where ev <> 'snap' or needed.end_seq is not null
"""
INTERVALS = """
    with absences as (
        select k.ns, k.boot, n.end_seq as seq, n.end_ts as ts, k.key
        from (select distinct ns, boot, key from changes) k join needed n using (ns, boot)
        where not exists (
            select 1 from changes c
            where c.ns = k.ns and c.boot = k.boot and c.key = k.key and c.seq between n.snap and n.end_seq
        )
    ),
    told as (
        select * from changes union all by name
        select *, null as value, 'snapshot' as cause, null as gap, null as asked,
            null as early, null as stated
        from absences
    ),
    clocked as (
        select *, max(ts) over w as t, last_value(stated ignore nulls) over w as known,
            lag(value) over w as before, greatest(0, coalesce(early, 0)) as sooner
        from told window w as (partition by ns, boot, key order by seq)
    ),
    turns as (
        select *, lead(t) over w as next_t, lead(cause) over w as next_cause, lead(gap) over w as next_gap,
            lead(asked) over w as next_asked, lead(sooner) over w as next_sooner,
            coalesce(lead(known) over w, (
                select arg_max(c.stated, c.seq) from changes c
                where c.ns = x.ns and c.boot = x.boot and c.key = x.key and c.stated is not null
            )) as of
        from clocked x where value is distinct from before window w as (partition by ns, boot, key order by seq)
    )
    select ns, key, value, cause, greatest(t, u.t1) as t1,
        if(next_t <= u.t2, next_t, u.t2) as t2,
        if(next_t <= u.t2, next_cause, u.end_cause) as end_cause,
        if(next_t <= u.t2, next_gap, null) as gap, of.ms as timeout_ms, of.zone as zone,
        if(t > u.t1, sooner, 0) as t1_early, if(next_t <= u.t2, next_sooner, 0) as t2_early,
        if(next_t <= u.t2, next_asked, null) as asked
    from turns join uptime u using (ns, boot)
    where value is not null and greatest(t, u.t1) < if(next_t <= u.t2, next_t, u.t2)
"""


def prepare(db: duckdb.DuckDBPyConnection, t0: int, t1: int, silent_us: int) -> None:
    """From the table ``all_events``: events before the end, holes, snapshots, boots, needed and uptime."""
    db.execute("create or replace temp table events as select * from all_events where ts < $t1", {"t1": t1})
    for step in (HOLES, SNAPSHOTS, BOOTS, NEEDED):
        db.execute(step)
    db.execute(UPTIME, {"t0": t0, "t1": t1, "silent": silent_us})


def broker_intervals(db: duckdb.DuckDBPyConnection) -> None:
    """The table ``broker_intervals``, of what ``prepare`` made."""
    db.execute(MEMBERS)
    db.execute(
        "create or replace temp table broker_intervals as select ns, key.cluster, key.broker, key.bid, key.addr, "
        f"t1, t2, end_cause, gap, timeout_ms, zone, t1_early, t2_early, asked from ({INTERVALS})"
    )


def topic_intervals(db: duckdb.DuckDBPyConnection) -> None:
    """The table ``topic_intervals``, of what ``prepare`` made."""
    db.execute(TOPICS)
    db.execute(
        "create or replace temp table topic_intervals as select ns, key.topic, key.broker, value.r, value.w, value.p, "
        f"t1, t2, cause, end_cause, t1_early, t2_early from ({INTERVALS})"
    )


DOUBTS = """
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
    db.execute(DOUBTS)
