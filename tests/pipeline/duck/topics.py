"""Topics, and when nobody could write to them, in SQL: each asked at each moment by itself."""

from __future__ import annotations

import duckdb

from tests.pipeline.duck.divergence import kind

UNWRITABLE = """
    with users as (select *, p & 2 <> 0 and w > 0 as may from topic_intervals where {kind} = 'user'),
    wiped as (
        select distinct topic, broker from users a join users b using (topic, broker, ns)
        where a.may and not b.may and a.t2 = b.t1
    ),
    moments as (
        select topic, broker, t1 as t from users semi join wiped using (topic, broker)
        union select topic, broker, t2 from users semi join wiped using (topic, broker)
    ),
    states as (
        select topic, broker, t,
            exists (select 1 from users u where (u.topic, u.broker) = (m.topic, m.broker) and may
                and u.t1 <= t and t < u.t2) as open,
            exists (select 1 from users u where (u.topic, u.broker) = (m.topic, m.broker) and not may
                and u.t1 <= t and t < u.t2) as closed,
            (select max(greatest(if(u.t1 = t, coalesce(t1_early, 0), 0), if(u.t2 = t, coalesce(t2_early, 0), 0)))
                from users u where (u.topic, u.broker) = (m.topic, m.broker)) as early,
            (select max(cause) from users u where (u.topic, u.broker, u.t1) = (m.topic, m.broker, t) and not may)
                as cause,
            (select max(w) from users u where (u.topic, u.broker) = (m.topic, m.broker) and t in (u.t1, u.t2)) as queues
        from moments m
    ),
    turns as (
        select *, not open and closed as shut, coalesce(lag(open) over w, false) as had,
            coalesce(lag(not open and closed) over w, false) as was
        from states window w as (partition by topic, broker order by t)
    ),
    spans as (
        select topic, broker, t as t1, coalesce(lead(t) over w, $t1) as t2, early as t1_early,
            coalesce(lead(early) over w, 0) as t2_early, cause, queues, shut and had as begins
        from turns where shut <> was window w as (partition by topic, broker order by t)
    ),
    told as (
        select s.*,
            (select list(distinct ns) from users u where (u.topic, u.broker) = (s.topic, s.broker)
                and u.t1 < s.t2 and u.t2 > s.t1) as names,
            not exists (select 1 from users u where u.topic = s.topic and u.broker <> s.broker and may
                and u.t1 < s.t2 and u.t2 > s.t1) as alone
        from spans s where begins and t2 - t1 >= $min_window and t1 >= $t0 and t1 < $t1
    ),
    numbered as (
        select *, sum(apart) over (partition by broker order by t1, t2, topic) as number from (
            select *, coalesce(greatest(t1 - lag(t1) over w, abs(t2 - lag(t2) over w)) > 10000000, true)::int as apart
            from told window w as (partition by broker order by t1, t2, topic)
        )
    )
    select broker, min(t1), max(t2), max(t1_early), max(t2_early), min(cause),
        list_sort(list_distinct(flatten(list(names)))), count(*), count(*) filter (alone),
        coalesce(sum(queues) filter (alone), 0)::long,
        list_slice(list(topic order by not alone, topic), 1, 5)
    from numbered group by broker, number
"""

TOPICS = """
    with last as (select max(t2) as t from uptime),
    lives as (
        select topic, min(t1) as created, max(t2) as gone,
            max(t2) filter (end_cause in ('open', 'stop', 'lost', 'silent', 'unwatched', 'start', 'watched')) as unsure
        from topic_intervals group by all
    ),
    masters as (select distinct broker from broker_intervals where bid = 0 and t2 >= (select t from last)),
    queues as (
        select topic, broker, max(r) as r, max(if(p & 2 <> 0, w, 0)) > 0 and broker in (from masters) as serves
        from topic_intervals where t2 >= (select t from last) group by topic, broker
    ),
    now as (
        select topic, sum(r)::long as queues, count(*) filter (serves) as served,
            if(avg(r) = 0, null, max(r) / avg(r)) as skew,
            list_slice(coalesce(list(broker order by broker) filter (serves), []), 1, 16) as brokers
        from queues group by topic
    ),
    asked as (
        select topic, sum(n)::long as n, sum(coalesce(miss, 0))::long as miss, max(ts) as last_lookup
        from events where ev = 'lookup' and topic <> '*' and ts >= $t0 group by all
    )
    select topic, {kind}, coalesce(served, 0), coalesce(brokers, []), coalesce(queues, 0), skew, created,
        if(gone < $t1 and coalesce(gone > unsure, true), gone, null), coalesce(n, 0), coalesce(miss, 0), last_lookup
    from lives full join asked using (topic) left join now using (topic)
"""


def unwritable(db: duckdb.DuckDBPyConnection, t0: int, t1: int, min_window_us: int) -> str:
    """The table ``unwritable`` as a query, of the intervals."""
    values = {"t0": t0, "t1": t1, "min_window": min_window_us}
    db.execute(f"create or replace temp table unwritable as {UNWRITABLE.replace('{kind}', kind('topic'))}", values)
    return "from unwritable"


def topics(db: duckdb.DuckDBPyConnection, t0: int, t1: int) -> str:
    """The table ``topics`` as a query, of uptime, the intervals and the events."""
    text = TOPICS.replace("{kind}", kind("topic"))
    db.execute(f"create or replace temp table topics as {text}", {"t0": t0, "t1": t1})
    return "from topics"
