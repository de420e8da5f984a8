"""Administrators, refusals and addresses in SQL. Parameters: t0, t1. Tables: events."""

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
