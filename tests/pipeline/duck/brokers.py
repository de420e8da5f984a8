"""Broker figures in SQL. Parameters: t0, t1."""

SQL = """
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
