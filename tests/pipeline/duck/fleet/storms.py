"""Storms in SQL. Parameters: t1. Tables: broker_intervals, topic_intervals, ns_uptime, storm_registrations."""

REGISTRATIONS = """
with recursive regs as (
  select b.ns, u.t1 as up, b.t1 as t, cluster, broker, bid, addr, (
      select max(o.t2) from broker_intervals o
      where (o.ns, o.cluster, o.broker, o.bid, o.addr) = (b.ns, b.cluster, b.broker, b.bid, b.addr) and o.t1 < b.t1
    ) as before
  from broker_intervals b join ns_uptime u on b.ns = u.ns and b.t1 > u.t1 and b.t1 < u.t2
), numbered as (
  select *, row_number() over (partition by ns, up order by t, cluster, broker, bid, addr) as i from regs
), walk as (
  select *, t as storm, 1 as place from numbered where i = 1
  union all
  select n.*, if(n.t - w.t > 30000000, n.t, w.storm), if(n.t - w.t > 30000000, 1, w.place + 1)
  from walk w join numbered n on n.ns = w.ns and n.up = w.up and n.i = w.i + 1
), runs as (
  select ns, up, storm, case when storm - up <= 120000000 then 'start'
      when count(before) * 2 > count(*) then 'return' else 'new' end as trigger
  from walk group by ns, up, storm having count(*) >= 5
), held as (
  select topic, broker, min(t1) as t1, max(t2) as t2, 2 * strlen(topic) + 144 as size from topic_intervals group by all
)
select ns, storm, trigger, place, t, cluster, broker, bid, addr, (t - before) / 1e6,
  (
    select count(*) from topic_intervals i
    where i.ns = w.ns and i.broker = w.broker and i.cause = 'register' and i.t1 between w.t and w.t + 1000000
  ), (
    select 663 + sum(size) from held h
    where h.broker = w.broker and h.t1 // 86400000000 <= w.t // 86400000000
      and (h.t2 = {t1} or h.t2 // 86400000000 > w.t // 86400000000)
  )::long
from walk w join runs using (ns, up, storm)
"""

STORMS = """
with seconds as (
  select ns, storm, max(n) as most from (
    select ns, storm, count(*) as n from storm_registrations group by ns, storm, t // 1000000
  ) group by all
)
select ns, storm, max(t), trigger, count(*), count(distinct broker), sum(topics)::long, sum(bytes)::long,
  any_value(most), arg_min(broker, place), arg_max(broker, place)
from storm_registrations join seconds using (ns, storm) group by ns, storm, trigger
"""
