"""Topics in SQL. Parameters: t0, t1, days. Tables: topic_intervals, broker_intervals, ns_uptime, events."""


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


COMMON = (
    """
with names as (
  select topic, """
    + kind("topic")
    + """ as kind
  from (select topic from topic_intervals union select topic from events where topic is not null)
), now as (
  select topic, broker, max(r) as r from topic_intervals where t2 >= (select max(t2) from ns_uptime) group by all
), asked as (
  select * from events where ev = 'lookup' and topic <> '*' and ts >= {t0} and ts < {t1}
)
"""
)

DAYS = (
    COMMON
    + """
, days as (
  select topic, broker, r, unnest(generate_series(t1 // 86400000000, (t2 - 1) // 86400000000)) as day
  from topic_intervals where t2 > t1
), queues as (select day, topic, broker, max(r) as r from days group by all)
select strftime(make_timestamp(day * 86400000000), '%Y-%m-%d'), kind, count(distinct topic), sum(r)::long
from queues join names using (topic) group by all
"""
)

INVENTORY = (
    COMMON
    + """
, last as (
  select *, rank() over (partition by topic order by t2 desc) as back from topic_intervals
), removed as (
  select topic, max(t2) as t2 from last where back = 1 group by topic
  having max(t2) < {t1} and not bool_or(end_cause in ('open', 'stop', 'start', 'lost', 'silent'))
)
select topic, kind, (select count(*) from now where now.topic = names.topic),
  coalesce((select sum(r) from now where now.topic = names.topic), 0)::long,
  (select min(t1) from topic_intervals i where i.topic = names.topic) as created, removed.t2
from names left join removed using (topic) where created is not null
"""
)

DEAD = (
    COMMON
    + """
, days as (select unnest(generate_series(0, {days} - 1)) as ago
), span as (select ago, {t1} - (ago + 1) * 86400000000 as d1, {t1} - ago * 86400000000 as d2 from days
), expected as (
  select ns, ago, d1, d2 from span, ns_uptime
  group by all having sum(greatest(least(t2, d2) - greatest(t1, d1), 0)) >= 3600000000
), known as (
  select (select count(distinct ago) from expected) = {days} and not exists (
    select 1 from expected e where not exists (select 1 from asked a where a.ns = e.ns and a.ts >= e.d1 and a.ts < e.d2)
  ) as all_days
), there as (select topic, sum(r)::long as queues from now group by topic
), born as (select topic, min(t1) as created from topic_intervals group by topic
), seen as (select topic, max(ts) as last_lookup from asked group by topic
)
select topic, kind, queues, created, last_lookup, {days}
from there join names using (topic) join born using (topic) left join seen using (topic), known
where all_days and queues > 0 and created <= {t1} - {days} * 86400000000
  and coalesce(last_lookup, 0) < {t1} - {days} * 86400000000
"""
)

HOT = (
    COMMON
    + """
, summed as (select topic, sum(n)::long as n, sum(coalesce(miss, 0))::long as miss from asked group by topic)
select topic, kind, rank() over (partition by kind order by n desc, topic), n, miss, n / sum(n) over (),
  n / (({t1} - {t0}) / 1e6)
from summed join names using (topic)
"""
)

SKEW = (
    COMMON
    + """
select topic, kind, count(*), min(r), max(r), avg(r), max(r) / nullif(avg(r), 0)
from now join names using (topic) group by all
"""
)

UNCOVERED = (
    COMMON
    + """
, days as (select unnest(generate_series(0, {days} - 1)) as ago
), span as (select ago, {t1} - (ago + 1) * 86400000000 as d1, {t1} - ago * 86400000000 as d2 from days
), expected as (
  select ns, ago, d1, d2 from span, ns_uptime
  group by all having sum(greatest(least(t2, d2) - greatest(t1, d1), 0)) >= 3600000000
)
select ns, ago from expected e
where not exists (select 1 from asked a where a.ns = e.ns and a.ts >= e.d1 and a.ts < e.d2)
union all select null, ago from days where ago not in (select ago from expected)
"""
)
