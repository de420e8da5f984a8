"""Windows, segments and incidents in SQL: the value of every name server at every point in time."""

from __future__ import annotations

import duckdb

# Every key, every time at which anything of it may change, every name server: what it is known to show from then on.
GRID = """
    create or replace temp table grid as
    with keys as (select distinct topic, broker from topic_intervals),
    times as (
        select topic, broker, t1 as t from topic_intervals union select topic, broker, t2 from topic_intervals
        union select topic, broker, t1 from keys, knowing union select topic, broker, t2 from keys, knowing
        union select topic, broker, t1 from topic_doubts union select topic, broker, t2 from topic_doubts
    ),
    servers as (select distinct ns from knowing)
    select t.topic, t.broker, t.t, s.ns,
        (select {'r': i.r, 'w': i.w, 'p': i.p} from topic_intervals i
         where i.topic = t.topic and i.broker = t.broker and i.ns = s.ns and i.t1 <= t.t and i.t2 > t.t) as value,
        exists (select 1 from knowing u where u.ns = s.ns and u.t1 <= t.t and u.t2 > t.t) as known,
        exists (
            select 1 from topic_doubts d where d.ns = s.ns and d.topic = t.topic and d.broker = t.broker
                and d.t1 <= t.t and d.t2 > t.t
        ) as doubted,
        -- null: nothing is told of it then; how much earlier an observed change may have come
        coalesce(
            (select i.t1_early from topic_intervals i
             where (i.topic, i.broker, i.ns, i.t1) = (t.topic, t.broker, s.ns, t.t)),
            (select 0 from knowing u where u.ns = s.ns and t.t in (u.t1, u.t2) limit 1),
            (select i.t2_early from topic_intervals i
             where (i.topic, i.broker, i.ns, i.t2) = (t.topic, t.broker, s.ns, t.t)),
            (select 0 from topic_doubts d
             where (d.topic, d.broker, d.ns) = (t.topic, t.broker, s.ns) and t.t in (d.t1, d.t2) limit 1)
        ) as early
    from times t, servers s
"""
WINDOWS = """
    create or replace temp table key_windows as
    with vectors as (
        select topic, broker, t,
            list({'ns': ns, 'present': value is not null, 'r': value.r, 'w': value.w, 'p': value.p} order by ns)
                filter (known) as values,
            (count(distinct coalesce(value::varchar, 'absent')) filter (known) > 1)::int
                + (count(distinct coalesce(value::varchar, 'absent')) filter (known and not doubted) > 1)::int as differ
        from grid group by all
    ),
    turns as (
        select *, lead(t) over w as t2 from (
            select *, coalesce(lag(differ) over (partition by topic, broker order by t), 0) as differed from vectors
        ) where differ <> differed window w as (partition by topic, broker order by t)
    ),
    found as (
        select topic, broker, t as t1, t2, values, if(differ = 1, 'lost_records', null) as lost
        from turns where differ > 0 and t2 - t >= $min_window
    ),
    shows as (
        select topic, broker, t1, t2, shown.ns, if(shown.present, {'r': shown.r, 'w': shown.w, 'p': shown.p}, null)
            as value, coalesce(uncertainty, 600000000) as off,
            coalesce(method = 'observed', false) as watched
        from (select topic, broker, t1, t2, unnest(values) as shown from found) left join clock_offsets c
            on c.ns = shown.ns
    ),
    spans as (
        select *, t - coalesce(early, 0) as sooner, lead(t) over (partition by topic, broker, ns order by t) as until
        from grid
    ),
    changes as (
        select topic, broker, ns, t, known, value, doubted, early,
            lag(known) over w as was_known, lag(value) over w as was, lag(doubted) over w as was_doubted
        from grid window w as (partition by topic, broker, ns order by t)
    ),
    early as (
        select f.topic, f.broker, f.t1,
            max(c.early) filter (c.t = f.t1) as t1_early, max(c.early) filter (c.t = f.t2) as t2_early
        from found f join changes c on (c.topic, c.broker) = (f.topic, f.broker) and c.t in (f.t1, f.t2)
        where {turned} group by all
    ),
    two as (
        select a.topic, a.broker, a.t1, a.t2, a.value, a.ns, b.ns as other, t1_early + t2_early as looks,
            if(a.watched and b.watched, 0, a.off + b.off) as apart, if(looks > 0, $min_window, 0) as lasting
        from shows a join shows b using (topic, broker, t1) join early using (topic, broker, t1) where a.ns <> b.ns
    ),
    clocks as (
        select topic, broker, t1, coalesce(t2 - t1 < max(apart + looks), false) and not bool_or(
            -- whatever it may have shown at a near moment, the other one is known to have shown something else
            coalesce((
                select bool_and(g.known and not g.doubted and g.value is distinct from two.value)
                    and min(g.sooner) <= t1 - apart
                from spans g where (g.topic, g.broker, g.ns) = (two.topic, two.broker, other)
                    and g.sooner <= t1 + apart + lasting and coalesce(g.until > t1 - apart, true)
            ), false)
            -- and an observed one did not turn to something else in the meantime
            and (lasting = 0 or coalesce((
                select arg_min(g.sooner, g.t) >= t1 + lasting from spans g
                where (g.topic, g.broker, g.ns) = (two.topic, two.broker, two.ns) and g.t > t1 and g.early is not null
            ), true))
        ) as unclear
        from two group by topic, broker, t1, t2
    ),
    openers as (
        select f.topic, f.broker, f.t1, min(c.ns) as opened_by
        from found f join changes c on c.topic = f.topic and c.broker = f.broker and c.t = f.t1
        where {turned} group by all
    )
    select f.topic, f.broker, f.t1, f.t2,
        coalesce(opens.cause, if(comes.ns is null, null, if(comes.observed, 'watched', 'start')), goes.end_cause,
            closes.end_cause, 'lost_records') as cause,
        opened_by,
        (select max(gap) from broker_intervals b
         where b.ns = opened_by and b.broker = f.broker and b.t2 between f.t1 - 1000000 and f.t1) as gap, values,
        {kind} as kind, coalesce(lost, if(unclear, 'clocks', null)) as doubt, early.t1_early, early.t2_early
    from found f join openers o using (topic, broker, t1) join clocks using (topic, broker, t1)
        join early using (topic, broker, t1)
        left join topic_intervals opens
            on (opens.topic, opens.broker, opens.ns, opens.t1) = (f.topic, f.broker, opened_by, f.t1)
        left join topic_intervals closes
            on (closes.topic, closes.broker, closes.ns, closes.t2) = (f.topic, f.broker, opened_by, f.t1)
        left join knowing comes on comes.ns = opened_by and comes.t1 = f.t1
        left join knowing goes on goes.ns = opened_by and goes.t2 = f.t1
"""
TURNED = """(c.known, c.value, c.known and c.doubted)
            is distinct from (coalesce(c.was_known, false), c.was, coalesce(c.was_known and c.was_doubted, false))
"""
SEGMENTS = """
    with times as (
        select topic, t from grid semi join certain using (topic)
        union select topic, t1 from certain union select topic, t2 from certain
    ),
    pieces as (
        select * from (select topic, t as t1, lead(t) over (partition by topic order by t) as t2 from times) p
        where exists (select 1 from certain k where k.topic = p.topic and k.t1 <= p.t1 and k.t2 > p.t1)
    ),
    of_server as (
        select p.topic, p.t1, p.t2, u.ns, coalesce(
            list({'broker': i.broker, 'r': i.r, 'w': i.w, 'p': i.p} order by i.broker) filter (i.broker is not null), []
        ) as view
        from pieces p join knowing u on u.t1 <= p.t1 and u.t2 > p.t1
        left join topic_intervals i on i.topic = p.topic and i.ns = u.ns and i.t1 <= p.t1 and i.t2 > p.t1
        group by all
    ),
    views as (select topic, t1, t2, list({'ns': ns, 'view': view} order by ns) as views from of_server group by all),
    marked as (
        select *, if(lag(views) over w = views and lag(t2) over w = t1, 0, 1) as begins
        from views window w as (partition by topic order by t1)
    ),
    counted as (select *, sum(begins) over (partition by topic order by t1) as segment from marked)
    select topic, min(t1), max(t2), first(views) from counted group by topic, segment
"""
DIVERGENCES = """
with told as (
  select *, {'cause': cause, 'doubt': doubt} as why from key_windows
), ordered as (
  select *, row_number() over (partition by broker, why order by t1, topic) as i from told
), marked as (
  select *, coalesce((select max(p.t1) from ordered p where p.broker = o.broker and p.why is not distinct from o.why
    and p.i < o.i) < o.t1 - 10000000, true) as begins
  from ordered o
), numbered as (
  select *, (select count(*) from marked m where m.broker = o.broker and m.why is not distinct from o.why
    and m.begins and m.t1 <= o.t1) as incident
  from marked o
), shown as (
  select broker, why, incident, topic, i, case when value.present then value.r else 0 end as r
  from (select broker, why, incident, topic, i, unnest("values") as value from numbered
    where coalesce(kind, 'user') = 'user')
), hidden as (
  select broker, why, incident, topic, max(missing) as missing
  from (select broker, why, incident, topic, i, max(r) - min(r) as missing from shown group by all)
  group by broker, why, incident, topic
), absent as (
  select broker, why, incident, value.ns as ns
  from (select broker, why, incident, unnest("values") as value from numbered) where not value.present
)
select n.cause, n.broker, min(n.t1), max(n.t2), count(*),
  count(distinct n.topic), count(distinct n.topic) filter (coalesce(kind, 'user') = 'user'),
  list_transform(
    list_slice(list_sort(list(distinct {'o': coalesce(kind, 'user') <> 'user', 't': n.topic})), 1, 5), lambda x: x.t
  ),
  coalesce((select sum(missing) from hidden h where h.broker = n.broker and h.why is not distinct from n.why
    and h.incident = n.incident), 0)::long,
  coalesce((select list_sort(list(distinct a.ns)) from absent a where a.broker = n.broker
    and a.why is not distinct from n.why and a.incident = n.incident), []),
  list_sort(list(distinct n.opened_by)), max(n.t2 - n.t1), max(n.gap),
  coalesce((select list_sort(list(distinct v.ns))
    from (select t1, unnest("values").ns as ns, broker, why, incident from numbered) v, events e
    where e.ev = 'stall' and e.ns = v.ns and v.t1 >= e.ts - 1000 * e.ms and v.t1 <= e.ts + 30000000
      and v.broker = n.broker and v.why is not distinct from n.why and v.incident = n.incident), []),
  n.why.doubt,
  coalesce((select max(t1_early) from numbered f where f.broker = n.broker and f.why is not distinct from n.why
    and f.incident = n.incident and f.t1 = min(n.t1)), 0),
  coalesce((select max(t2_early) from numbered f where f.broker = n.broker and f.why is not distinct from n.why
    and f.incident = n.incident and f.t2 = max(n.t2)), 0)
from numbered n group by n.broker, n.cause, n.why, n.incident
"""
EXACT_CLOCKS = """
    create or replace temp table clock_offsets as select distinct ns, 'versions' as method, 0 as uncertainty from uptime
"""


def kind(topic: str) -> str:
    """The kind of a topic, as an expression over a column's name. Needs the table broker_intervals."""
    return f"""case
      when {topic} like '\\%RETRY\\%%' escape '\\' then 'retry'
      when {topic} like '\\%DLQ\\%%' escape '\\' then 'dlq'
      when {topic} in (select unnest([broker, cluster, cluster || '_REPLY_TOPIC']) from broker_intervals)
        or {topic} like 'rmq\\_sys\\_%' escape '\\' or {topic} in ('TBW102',
        'SCHEDULE_TOPIC_XXXX', 'BenchmarkTest', 'RMQ_SYS_TRANS_HALF_TOPIC', 'RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC',
        'RMQ_SYS_TRACE_TOPIC', 'RMQ_SYS_TRANS_OP_HALF_TOPIC', 'RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC',
        'TRANS_CHECK_MAX_TIME_TOPIC', 'SELF_TEST_TOPIC', 'OFFSET_MOVED_EVENT', 'CHECKPOINT_TOPIC') then 'system'
      else 'user' end"""


def key_windows(db: duckdb.DuckDBPyConnection, min_window_us: int) -> None:
    """The table ``key_windows`` and those ``certain``, of uptime, the intervals, topic_doubts and clock_offsets."""
    db.execute("create or replace temp view knowing as select * from uptime where not coalesce(no_topics, false)")
    db.execute(GRID)
    windows = WINDOWS.replace("{kind}", kind("f.topic")).replace("{turned}", TURNED)
    db.execute(windows, {"min_window": min_window_us})
    db.execute("create or replace temp view certain as select * from key_windows where doubt is null")
