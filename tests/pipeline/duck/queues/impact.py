"""The model of the impact in SQL: every assignment written out. Parameter: groups, as a list of numbers."""

SQL = """
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
