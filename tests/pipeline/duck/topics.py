"""Topics, who asks for them, and the queues of consumers and producers in SQL. Parameters: t0, t1, days, groups.
Tables: those of a run, and events."""

from __future__ import annotations


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
MISSING = """
with hourly as (
  select topic, floor((ts - coalesce(iv_ms, 0) * 500) / 3600e6)::long as hour, sum(coalesce(miss, 0))::long as miss,
    sum(n)::long as n, list_sort(list(distinct ns) filter (miss > 0)) as servers
  from events where ev = 'lookup' and topic <> '*' and ts >= {t0} and ts < {t1} group by all
), born as (select topic, min(hour) as first from hourly group by topic
), busy as (select * from hourly join born using (topic) where miss >= 20
), hours as (
  select b.topic, b.hour, unnest(generate_series(greatest(b.first, b.hour - 168), b.hour - 1)) as past from busy b
), history as (
  select h.topic, h.hour, coalesce(p.miss, 0) as miss
  from hours h left join hourly p on p.topic = h.topic and p.hour = past
), middle as (select topic, hour, count(*) as hours, median(miss) as median from history group by all
), spread as (
  select topic, hour, median(abs(miss - median)) as mad from history join middle using (topic, hour) group by all
), judged as (
  select b.*, coalesce(hours, 0) as hours, median, mad, median + 5 * greatest(1.4826 * mad, 1) as bound,
    rank() over (partition by topic order by hour) as place
  from busy b left join middle using (topic, hour) left join spread using (topic, hour)
)
select topic, hour * 3600000000, case when hours < 24 then 'new' else 'anomaly' end, miss, n, servers, hours::int,
  median, mad, case when hours >= 24 then bound end, {kind}
from judged where case when hours < 24 then place = 1 else miss > bound end
""".replace("{kind}", kind("topic"))
LOAD = (
    COMMON
    + """
, held as (
  select broker, topic, kind = 'user' as own, max(r) as r from topic_intervals join names using (topic)
  where t1 < {t1} and t2 > {t0} group by all
)
select broker, count(*), count(*) filter (own), coalesce(sum(r) filter (own), 0)::long,
  coalesce(list_slice(list_sort(list(topic) filter (own)), 1, 5), [])
from held group by broker
"""
)
CLIENTS = """
select client, lang, cv, list_sort(list(distinct ns)), count(distinct topic), sum(n)::long,
  sum(coalesce(miss, 0))::long, case when client is not null then sum(iv_ms) / 1000 / sum(n) end,
  min(ts - coalesce(iv_ms, 0) * 1000), max(ts)
from events where ev = 'lookup' and topic <> '*' and ts >= {t0} and ts < {t1} group by client, lang, cv
"""
CENSUS = """
select lang, cv, case when cv between 213 and 1411 and cv % 2 = 1
    then array_to_string(string_split(((cv + 587) // 2)::varchar, ''), '.') end,
  count(client), count(distinct client[:-1 - position(':' in reverse(client))]), sum(n)::long, sum(miss)::long,
  sum(n) / (select sum(n) from clients), median(poll_s), count(*) filter (poll_s < 15)
from clients group by lang, cv
"""
ASKERS = (
    COMMON
    + """
select topic, kind, client, lang, cv, list_sort(list(distinct ns)), sum(n)::long, sum(coalesce(miss, 0))::long,
  min(ts - coalesce(iv_ms, 0) * 1000), max(ts)
from asked join names using (topic) group by topic, kind, client, lang, cv having sum(miss) > 0
"""
)
SOLE = (
    COMMON
    + """
, last as (select max(t2) as at from ns_uptime
), masters as (
  select broker, max(zone) as zone from broker_intervals where bid = 0 and t2 >= (from last) group by broker
), held as (
  select topic, broker, zone, max(case when (p & 2) = 2 then w else 0 end) as w
  from topic_intervals join masters using (broker) where t2 >= (from last) group by all
), victims as (
  select 'broker' as scope, broker as name from masters
  union select 'zone', zone from masters where zone is not null
), tried as (
  select scope, name, topic, bool_or(hit) as touched, bool_and(hit) as all_gone,
    coalesce(bool_and(hit) filter (w > 0), false) as writes_gone, coalesce(sum(w) filter (w > 0), 0)::long as w
  from (
    select scope, name, h.*, case scope when 'broker' then broker = name else zone is not distinct from name end as hit
    from victims, held h
  ) group by all
)
select scope, name, topic, kind, all_gone, writes_gone, if(writes_gone, w, 0)::long
from tried join names using (topic) where all_gone or writes_gone
"""
)
RADIUS = """
select scope, name, count(*) filter (loses_masters), count(*) filter (loses_writes), sum(queues)::long,
  list_sort(list(topic))[:5]
from sole_topics where kind = 'user' group by all
"""
ORDERED = (
    COMMON
    + """
, used as (select * from topic_intervals where w > 0 and (p & 2) = 2
), times as (select ns, topic, t1 as t from used union select ns, topic, t2 from used
), lists as (
  select ns, topic, t, coalesce((
      select list(struct_pack(b := broker, w := w) order by broker) from used u
      where u.ns = times.ns and u.topic = times.topic and u.t1 <= times.t and u.t2 > times.t
    ), []) as brokers
  from times
), turns as (
  select * from lists qualify brokers is distinct from lag(brokers) over (partition by ns, topic order by t)
), lasting as (
  select *, lead(t) over (partition by ns, topic order by t) - t as lasted from turns
), settled as (
  select ns, topic, t, brokers, flatten([[e.b || ' ' || q for q in range(e.w)] for e in brokers]) as queues
  from lasting where lasted >= 30000000 and len(brokers) > 0
), pairs as (
  select *, lag(queues) over w as old, lag(brokers) over w as old_brokers from settled
  window w as (partition by ns, topic order by t)
), steps as (
  select *, len(old) as n, len(queues) as m, len([1 for h in range(lcm(len(old), len(queues)))
      if old[h % len(old) + 1] <> queues[h % len(queues) + 1]]) / lcm(len(old), len(queues)) as moved,
    list_min([e.b for e in list_concat(old_brokers, brokers)
      if not (list_contains(old_brokers, e) and list_contains(brokers, e))]) as changed
  from pairs where old <> queues
), servers as (
  select topic, ns, count(*) as n from steps group by all
)
select topic, any_value(kind), topic in (
    select key from events where ns_key = 'ORDER_TOPIC_CONFIG' and val is not null
  ), (select max(s.n) from servers s where s.topic = steps.topic), list_sort(list(distinct ns)), max(moved),
  -max((moved, -t))[2], max((moved, -t, n, m, changed))[3], max((moved, -t, n, m, changed))[4],
  max((moved, -t, n, m, changed))[5], min(t), max(t)
from steps join names using (topic) group by topic
"""
)
GROWTH = """
with routes as (select topic, broker, min(t1) as t1, max(t2) as t2 from topic_intervals group by all
), topics as (select topic, min(t1) as t1, max(t2) as t2 from routes group by all
), days as (
  select unnest(generate_series((select min(t1) from routes) // 86400000000, ({t1} - 1) // 86400000000)) as day
), ends as (select day, (day + 1) * 86400000000 as ended from days
), of_broker as (
  select day, broker, count(*) as n, 663 + sum(144 + 2 * strlen(topic)) as bytes
  from ends join routes on t1 < ended and (t2 >= ended or t2 >= {t1}) group by all
), of_all as (
  select day, count(*) as n, 170 + sum(3 + strlen(topic)) as bytes
  from ends join topics on t1 < ended and (t2 >= ended or t2 >= {t1}) group by all
)
select strftime(make_timestamp(day * 86400000000), '%Y-%m-%d'), any_value(a.n), sum(b.n)::long, count(*),
  max(b.bytes)::long, arg_max(broker, (b.bytes, broker)), any_value(a.bytes)::long
from of_broker b join of_all a using (day) group by day
"""
LIMITS = """
with points as (
  select 'registration' as measure, (day::date - date '1970-01-01') as x, registration_bytes::double as y from growth
  union all select 'topic_list', (day::date - date '1970-01-01'), list_bytes from growth
), kept as (select * from points where x > ({t1} - 1) // 86400000000 - 90
), lines as (
  select measure, arg_max(y, x) as now, count(*) as days,
    (count(*) * sum(x * y) - sum(x) * sum(y)) / nullif(count(*) * sum(x * x) - sum(x) * sum(x), 0) as slope
  from (select measure, x - min(x) over () as x, y from kept) group by measure
), ahead as (
  select *, case when now >= 16777216 then 0 when days >= 3 and slope > 0 then (16777216 - now) / slope end as left_days
  from lines
)
select measure, now::long, 16777216, now / 16777216, case when days >= 3 then slope end,
  case when left_days <= 3650 then {t1} + floor(left_days * 86400000000)::long end
from ahead
"""


MEMBERS = """
with asked as (
  select ns, client, topic, min(ts - coalesce(iv_ms, 0) * 1000) as t1, max(ts) + 30000000 as t2
  from events where ev = 'lookup' and client like '%:%' and n > 0 group by ns, client, topic
)
select g.topic[8:] as "group", t.topic, t.ns, t.client, greatest(t.t1, g.t1) as t1, least(t.t2, g.t2) as t2
from asked t join asked g using (ns, client)
where starts_with(g.topic, '%RETRY%') and not starts_with(t.topic, '%RETRY%')
  and greatest(t.t1, g.t1) < least(t.t2, g.t2)
"""
IMBALANCE = """
with entries as (
  select topic, t1, t2, ns, unnest(entry) from (
    select topic, t1, t2, known.ns as ns, unnest(known.view) as entry
    from (select topic, t1, t2, unnest(views) as known from topic_segments)
  )
), masters as (select ns, broker, t1 as m1, t2 as m2 from broker_intervals where bid = 0),
cuts as (
  select topic, t1, t2, t1 as cut from topic_segments
  union select topic, t1, t2, unnest([m1, m2]) from entries join masters using (ns, broker) where p & 2 = 2 and w > 0
), pieces as (
  select topic, t1, t2, cut as p1, coalesce(lead(cut) over (partition by topic, t1, t2 order by cut), t2) as p2
  from cuts where cut >= t1 and cut < t2
), used as (
  select topic, p1, p2, ns, broker, case when p & 2 = 2 and exists (
      select 1 from masters m where m.ns = e.ns and m.broker = e.broker and m1 <= p1 and p1 < m2
    ) then w else 0 end as w
  from entries e join pieces using (topic, t1, t2)
), totals as (select topic, p1, p2, ns, sum(w) as total from used group by all),
counts as (
  select topic, p1, p2, count_if(total > 0) as views,
    coalesce(list_sort(list(ns) filter (total = 0)), []) as without
  from totals group by all
), most as (select topic, p1, p2, broker, max(w) as w from used group by all),
unions as (select topic, p1, p2, sum(w) as whole from most group by all),
parts as (
  select topic, p1, p2, broker, sum(case when total > 0 then w * whole / total else 0 end) as part
  from used join totals using (topic, p1, p2, ns) join unions using (topic, p1, p2) group by all
), compared as (
  select topic, p1, p2, broker, part / nullif(views * whole, 0) as share, w / nullif(whole, 0) as fair,
    abs(part - w * views) / nullif(views * whole, 0) as off, without, whole
  from parts join most using (topic, p1, p2, broker) join unions using (topic, p1, p2)
    join counts using (topic, p1, p2)
)
select topic, p1, p2, broker, share, fair, sum(off) over piece / 2,
  max(share / nullif(fair, 0)) over piece, without
from compared window piece as (partition by topic, p1, p2) qualify fair > 0 or whole = 0
"""
IMPACT = """
with recursive entries as (
  select topic, t1, t2, ns, unnest(entry) from (
    select topic, t1, t2, known.ns as ns, unnest(known.view) as entry
    from (select topic, t1, t2, unnest(views) as known from topic_segments)
  )
), servers as (select distinct topic, t1, t2, ns from entries),
queues as (
  select topic, t1, t2, ns, broker, unnest(range(r)) as q from entries where p & 4 = 4
), texts as (
  select s.topic, s.t1, s.t2, s.ns, coalesce(string_agg(broker || ':' || q, ',' order by broker, q), '') as view
  from servers s left join queues using (topic, t1, t2, ns) group by all
), views as (
  select topic, t1, t2, view, min(ns) as ns, row_number() over (partition by topic, t1, t2 order by view) - 1 as v,
    count(*) over (partition by topic, t1, t2) as nv
  from texts group by topic, t1, t2, view
), positions as (
  select topic, t1, t2, v, nv, broker, q, row_number() over (partition by topic, t1, t2, v order by broker, q) - 1 as k,
    count(*) over (partition by topic, t1, t2, v) as n
  from queues join views using (topic, t1, t2, ns) where nv > 1
), sizes as (select unnest({groups}) as c),
consumers as (select c, unnest(range(c)) as i from sizes),
ranges as (
  select topic, t1, t2, v, nv, n, c, i, n % c as mod,
    case when n <= c then 1 when i < n % c then n // c + 1 else n // c end as average
  from (select distinct topic, t1, t2, v, nv, n from positions) cross join consumers
), starts as (
  select *, case when i < mod then i * average else i * average + mod end as start from ranges
), allocated as (
  select topic, t1, t2, 'averagely' as strategy, c, v, nv, i, broker, q
  from positions join starts using (topic, t1, t2, v, nv, n) where k >= start and k < start + least(average, n - start)
  union all
  select topic, t1, t2, 'circle', c, v, nv, i, broker, q from positions cross join consumers where k % c = i
), cases as (select distinct topic, t1, t2, nv, c from views cross join sizes where nv > 1),
numbers as (select *, unnest(range((nv ** c)::bigint)) as m from cases),
choices as (
  select topic, t1, t2, c, m, i, (m // (nv ** i)::bigint) % nv as v from numbers join consumers using (c)
), mixed as (
  select topic, t1, t2, c, m from choices group by all having count(distinct v) > 1
), union_ as (select distinct topic, t1, t2, broker, q from positions),
strategies as (select unnest(['averagely', 'circle']) as strategy),
taken as (
  select topic, t1, t2, strategy, c, m, broker, q, count(*) as takers
  from choices join allocated using (topic, t1, t2, c, i, v) group by all
), lost as (
  select topic, t1, t2, strategy, c, m, count(*) as queues, count_if(takers is null) as orphaned,
    count_if(coalesce(takers, 0) > 1) as dup
  from mixed join union_ using (topic, t1, t2) cross join strategies
  left join taken using (topic, t1, t2, strategy, c, m, broker, q) group by all
)
select topic, t1, t2, strategy, c::integer as c, max(queues)::integer as queues, avg(orphaned), max(orphaned)::double,
  avg(dup), max(dup)::double, avg(orphaned) * ((t2 - t1) / 1e6), max(orphaned) * ((t2 - t1) / 1e6),
  avg(dup) * ((t2 - t1) / 1e6), max(dup) * ((t2 - t1) / 1e6)
from lost group by topic, t1, t2, strategy, c
"""
