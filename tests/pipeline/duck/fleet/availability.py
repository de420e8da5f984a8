"""Availability in SQL: the time of each name server cut at every point, and each piece judged by itself. Parameters:
t1, target (per cent). Tables: broker_intervals, ns_uptime."""

SQL = """
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
