"""Queues of consumers and producers in SQL: every assignment written out, every stretch one moment at a time."""

from __future__ import annotations

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
