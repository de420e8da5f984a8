"""What is read of brokers in SQL. Parameters: t0, t1, target (per cent). Tables: those of a run, and events."""

from __future__ import annotations

STATS = """
with known as (
  select ns, sum(greatest(least(t2, {t1}) - greatest(t1, {t0}), 0)) / 1e6 as ns_s from ns_uptime group by ns
), pieces as (
  select b.*, greatest(least(b.t2, n.t2, {t1}) - greatest(b.t1, n.t1, {t0}), 0) as up_us
  from broker_intervals b join ns_uptime n on b.ns = n.ns
), up as (
  select ns, broker, bid, addr, sum(up_us) / 1e6 as up_s from pieces group by all
), judged as (
  select b.*, t2 >= {t0} and t2 < {t1} as inside,
    end_cause in ('expired', 'unconfirmed', 'refused', 'channel_close', 'channel_exception', 'channel_idle') as failed,
    exists (
      select 1 from broker_intervals later
      where later.ns = b.ns and later.cluster = b.cluster and later.broker = b.broker and later.bid = b.bid
        and later.addr = b.addr and later.t1 >= b.t2 and later.t1 - b.t2 <= 600e6 and later.t1 < {t1}
        and (later.t1 > b.t1 or later.t2 > b.t2)
    ) as back
  from broker_intervals b where t1 < {t1} and t2 >= {t0}
), ends as (
  select ns, broker, bid, addr, count(*) filter (inside and failed) as failures,
    count(*) filter (inside and end_cause = 'unregister') as graceful,
    count(*) filter (inside and failed and back) as flaps,
    count(*) filter (inside and end_cause = 'observed') as observed
  from judged group by all
), beats as (
  select *, (select max_by(o.ts, o.seq) from events o where o.ev in ('reg', 'hb') and o.ns = e.ns and o.boot = e.boot
      and o.broker = e.broker and o.bid = e.bid and o.addr = e.addr and o.seq < e.seq and o.ts >= {t0}) as heard
  from events e where ev = 'hb' and ts >= {t0} and ts < {t1}
), gaps as (
  select ns, broker, bid, addr, quantile_cont((ts - heard) // 1000, 0.5) as p50,
    quantile_cont((ts - heard) // 1000, 0.95) as p95, quantile_cont((ts - heard) // 1000, 0.99) as p99,
    max((ts - heard) // 1000) as top, count(*) as gaps
  from beats where heard is not null group by all
)
select ns, broker, bid, addr, up_s, up_s / nullif(ns_s, 0), failures, graceful, flaps, up_s / nullif(failures, 0),
  p50, p95, p99, top::double, coalesce(gaps, 0), observed
from ends join up using (ns, broker, bid, addr) left join gaps using (ns, broker, bid, addr) join known using (ns)
"""
DEPARTURES = """
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
AVAILABILITY = """
with units as (
  select 'broker' as level, * from broker_intervals
  union all by name select 'group' as level, * replace (null as bid, null as addr) from broker_intervals
  union all by name select 'master' as level, * replace (null as bid, null as addr) from broker_intervals where bid = 0
), keys as (select distinct level, cluster, broker, bid, addr, ns from units
), cuts as (
  select level, cluster, broker, bid, addr, ns, unnest([t1, t2]) as since from units
  union select k.*, unnest([u.t1, u.t2]) from keys k join ns_uptime u using (ns)
), pieces as (
  select *, lead(since) over (partition by level, cluster, broker, bid, addr, ns order by since) as until from cuts
), known as (
  select p.* from pieces p
  where exists (select 1 from ns_uptime u where u.ns = p.ns and u.t1 <= p.since and u.t2 >= p.until)
), judged as (
  select k.*, exists (
      select 1 from units i where {same} and i.t1 <= k.since and i.t2 >= k.until
    ) as listed, (
      select max(struct_pack(t2 := i.t2, cause := i.end_cause, gap := i.gap)) from units i
      where {same} and i.t2 <= k.since
    ) as before
  from known k
), told as (
  select *, (until - since) / 1e6 as s, not listed and before.t2 = since as begins,
    not listed and before.cause in {failures} as failed
  from judged
  union all by name select 'cluster' as level, * exclude (level, broker, bid, addr), (until - since) / 1e6 as s,
    not listed and before.t2 = since as begins,
    not listed and before.cause in {failures} as failed
  from judged where level = 'group'
), sums as (
  select level, cluster, broker, bid, addr, coalesce(sum(s) filter (listed), 0) as up,
    coalesce(sum(s) filter (failed), 0) as down,
    coalesce(sum(s) filter (not listed and before.cause = 'unregister'), 0) as planned,
    coalesce(sum(s) filter (not listed and before.cause = 'observed'), 0) as unseen,
    coalesce(sum(before.gap) filter (begins and before.cause in ('expired', 'unconfirmed')), 0) / 1e3 as unheard,
    count(*) filter (failed and begins) as failures,
    count(distinct ns) filter (listed or before is not null) as servers
  from told group by all
)
select level, cluster, broker, bid, addr, servers, up, down, planned, unheard, failures, up / nullif(up + down, 0),
  {target} / 100, (up + down) * (100 - {target}) / 100,
  1 - down / nullif((up + down) * (100 - {target}) / 100, 0), unseen
from sums where up > 0 or down > 0
""".replace(
    "{failures}", "('expired', 'unconfirmed', 'refused', 'channel_close', 'channel_exception', 'channel_idle')"
).replace(
    "{same}",
    "(i.level, i.cluster, i.broker, i.bid, i.addr, i.ns) is not distinct from (k.level, k.cluster, k.broker, k.bid, "
    "k.addr, k.ns)",
)
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
CHANGES = """
select ns, ts, code, result, n, from_host, client, principal, access_key,
  case when fields is not null
    then array_to_string([coalesce(f.k, '') || '=' || coalesce(f.v, '') for f in fields], ' ') end,
  before, "after"
from events where ev = 'admin' and ts >= {t0} and ts < {t1}
"""
REFUSED = """
select from_host, access, code, reason, enforced, sum(n)::long, min(ts), max(ts), list_sort(list(distinct ns)),
  coalesce(list_sort(list(distinct principal) filter (principal is not null))[:10], []),
  coalesce(list_sort(list(distinct access_key) filter (access_key is not null))[:10], [])
from events where ev = 'refused' and ts >= {t0} and ts < {t1} group by all
"""
ADDRESSES = """
with seen as (
  select cluster, broker, bid, from_host as host, ts, ns, addr from events
  where ev in ('reg', 'hb', 'snap') and broker is not null and from_host is not null
), ranked as (
  select *, row_number() over (partition by cluster, broker, bid, host order by ts, ns, addr) as place from seen
), hosts as (select * from ranked where place = 1),
placed as (
  select cluster, broker, bid, host,
    lag(host) over (partition by cluster, broker, bid order by ts, host) as before,
    (count(*) over (partition by cluster, broker, bid order by ts, host rows unbounded preceding) - 1)::int as hosts,
    ts, ns, addr
  from hosts
)
from placed where hosts > 0 and ts >= {t0} and ts < {t1}
"""
SOURCES = """
with servers as (select ns from files union select ns from events where ts >= {t0} and ts < {t1}),
observed as (select * from events where ts >= {t0} and ts < {t1})
select ns, (select count(*) from files f where f.ns = s.ns), (select count(*) from observed e where e.ns = s.ns),
  (select min(ts) from observed e where e.ns = s.ns), (select max(ts) from observed e where e.ns = s.ns),
  coalesce((select any_value("offset") from clock_offsets c where c.ns = s.ns), 0),
  coalesce((select sum(corrupt) from files f where f.ns = s.ns), 0)::long,
  coalesce((select sum(lost) from observed e where e.ns = s.ns), 0)::long,
  (select any_value(method) from clock_offsets c where c.ns = s.ns),
  (select any_value(uncertainty) from clock_offsets c where c.ns = s.ns),
  coalesce((select bool_or(since is not null or (ev in ('start', 'open') and observed)) from observed e
    where e.ns = s.ns), false),
  (select max(ts - since) from observed e where e.ns = s.ns and ev in ('reg', 'down')),
  (select max(ts - since) from observed e where e.ns = s.ns and ev in ('tput', 'tdel'))
from servers s
"""
