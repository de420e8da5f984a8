"""Imbalance in SQL, one moment of each stretch at a time. Parts are counted in queues: where every view has all queues
they are whole numbers, and no difference of rounding is left."""

SQL = """
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
