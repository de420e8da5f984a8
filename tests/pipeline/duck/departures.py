"""Departures in SQL. Parameters: t0, t1."""

SQL = """
with recursive backs as (
  select cluster, broker, t1 as back from (
    select *, lag(end_cause) over (partition by ns, cluster, broker, bid order by t1, t2) as ended
    from broker_intervals)
  where ended in ('unregister', 'expired', 'unconfirmed', 'refused', 'channel_close', 'channel_exception',
      'channel_idle', 'observed')
), downs as (
  select *, (select max(back) from backs r where r.cluster = b.cluster and r.broker = b.broker and r.back <= b.t2)
      as back, row_number() over (partition by cluster, broker order by t2, ns, bid, addr) as i,
    if(timeout_ms is null, 120000, least(greatest(timeout_ms, 0), 86400000)) * 1000 + 5000000 as overdue,
    if(end_cause in ('expired', 'unconfirmed', 'refused', 'observed'), overdue, 10000000) as wait,
    coalesce((select case method when 'heartbeats' then 600000000 when 'observed' then coalesce(uncertainty, 600000000)
      else coalesce(uncertainty, 3600000000) end from clock_offsets c where c.ns = b.ns), 3600000000) as off,
    exists (select 1 from clock_offsets c where c.ns = b.ns and c.method = 'observed') as watched
  from broker_intervals b where t2 >= {t0} and t2 < {t1}
    and end_cause in ('unregister', 'expired', 'unconfirmed', 'refused', 'channel_close', 'channel_exception',
      'channel_idle', 'observed')
), walk as (
  select *, 1 as dep from downs where i = 1
  union all
  select d.*, w.dep + case
      when d.t2 - d.t2_early - w.t2 > d.wait + if(d.ns = w.ns or (d.watched and w.watched), 0, d.off + w.off)
        or d.t1 > w.t2 or (d.end_cause = 'observed' and coalesce(d.back > w.t2, false)) then 1 else 0 end
  from walk w join downs d on d.cluster = w.cluster and d.broker = w.broker and d.i = w.i + 1
), deps as (
  select cluster, broker, dep, min(t2) as first, max(t2) as last, list_sort(list(distinct ns)) as servers,
    list_sort(list(distinct bid)) as bids, list(distinct end_cause) filter (end_cause <> 'observed') as causes,
    max(overdue) as overdue, max(struct_pack(at := -t2, early := t2_early)).early as early,
    list_sort(list(distinct asked) filter (asked is not null)) as said
  from walk group by all
), others as (
  select d.cluster, d.broker, d.dep, exists (
      select 1 from events e where e.ev = 'hb' and e.ns = o.ns and e.cluster = d.cluster and e.broker = d.broker
        and e.bid = o.bid and e.ts > d.first and e.ts <= d.first + d.overdue and e.ts < o.t2 and e.ts < {t1}
    ) as heard
  from deps d join broker_intervals o on o.cluster = d.cluster and o.broker = d.broker and o.t1 <= d.first
    and o.t2 > d.first and list_contains(d.bids, o.bid)
  where not exists (
    select 1 from walk w where w.cluster = d.cluster and w.broker = d.broker and w.dep = d.dep and w.ns = o.ns
      and w.bid = o.bid)
), stalled as (
  select w.cluster, w.broker, w.dep, list_sort(list(distinct w.ns)) as names from walk w
  where exists (select 1 from events e where e.ev = 'stall' and e.ns = w.ns and w.t2 between e.ts - 1000 * e.ms
    and e.ts + 30000000)
  group by all
), summed as (select cluster, broker, dep, bool_or(heard) as heard from others group by all)
select broker, cluster, first, last, case
    when list_contains(causes, 'unregister') then 'graceful'
    when heard then 'partition'
    when causes is null then 'observed'
    when heard is not null then 'unclear'
    when list_has_all(['expired', 'unconfirmed'], causes) then 'silent'
    when not list_has_any(causes, ['expired', 'unconfirmed']) then 'crash'
    else 'unclear' end, servers, bids, coalesce(names, []), early, coalesce(said, [])
from deps left join summed using (cluster, broker, dep) left join stalled using (cluster, broker, dep)
"""
