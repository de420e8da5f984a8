"""What was read, in SQL. Parameters: t0, t1. Tables: events, files, clock_offsets."""

SQL = """
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
