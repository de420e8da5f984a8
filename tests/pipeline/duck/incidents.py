"""Incidents in SQL: windows joined by following, from each window, the next that begins within 10 s."""

SQL = """
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
