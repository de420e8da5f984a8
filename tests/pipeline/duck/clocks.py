"""Clock offsets in SQL: nearest heartbeats by comparing each with each."""

from __future__ import annotations

from typing import Any

import duckdb

from tests.pipeline.frames import duck_rows

OFFSETS = """
with named as (
    select *, {'c': cluster, 'b': broker, 'i': bid, 'a': addr} as member, {'t': dvt, 'c': dvc, 's': dvs} as version
    from all_events where addr is not null
),
chosen as (
    select member from named where ev <> 'hb' group by member order by count(distinct ns) desc, member limit 30
),
watched as (
    select distinct ns from all_events
    where ev in ('start', 'reg', 'down', 'tput', 'tdel') and (observed or since is not null)
),
sampled as (from named semi join chosen using (member) where ev in ('reg', 'hb')),
told as (from sampled where since is null),
reference as (select ns from told group by ns order by count(*) desc, ns limit 1),
first as (
    select ns, member, version, min(ts) as seen, arg_min(gap, ts) as gap,
        min(min(ts)) over (partition by ns, member) as earliest
    from told where dvc is not null group by ns, member, version
),
fresh as (select * from first where seen > earliest and gap <= 60000),
of_versions as (
    select a.ns, a.seen - b.seen as difference from fresh a join fresh b using (member, version)
    where b.ns = (from reference) and a.ns <> b.ns and abs(a.seen - b.seen) <= 3600000000
),
beats as (select ns, member, ts, gap from told where ev = 'hb'),
of_beats as (
    select a.ns, any_value(a.gap) as gap,
        arg_min(a.ts - b.ts, {'far': abs(a.ts - b.ts), 'later': b.ts > a.ts}) as difference
    from (select *, row_number() over () as id from beats) a join beats b using (member)
    where b.ns = (from reference) and a.ns <> b.ns group by a.id, a.ns having min(abs(a.ts - b.ts)) <= 15000000
),
keyed as (
    select ns, boot, seq, ev, cause, ts, since, ['member', ev, cluster, broker, bid::text, addr] as key
    from named semi join chosen using (member)
    where ev in ('reg', 'down')
    union all
    select ns, boot, seq, ev, cause, ts, since, ['topic', broker, name.t] as key
    from (select *, unnest(topics) as name from all_events
          where ev = 'tput' and len(topics) between 1 and 8)
),
moments as (
    select distinct key, ts as moment from keyed where since is null and ns = (from reference)
        and (ev = 'reg' or (ev = 'down' and cause = 'unregister') or cause in ('heartbeat', 'topic'))
),
looked as (
    select ns, boot, seq, key, greatest(ts - since, 0) as early, ts - greatest(ts - since, 0) // 2 as mid
    from keyed where since is not null
),
near as (
    select *, abs(mid - moment) as far from looked join moments using (key) where abs(mid - moment) <= 3600000000
),
mutual as (
    from near n where not exists (
        from near o where o.ns = n.ns and o.key = n.key and (
            (o.boot = n.boot and o.seq = n.seq and (o.far, o.moment) < (n.far, n.moment))
            or (o.moment = n.moment and (o.far, o.mid, o.boot, o.seq) < (n.far, n.mid, n.boot, n.seq))
        )
    )
),
of_looks as (
    select best.early, best.mid, best.moment, best.mid + best.early // 2 - best.moment + 1000000 as high,
        best.mid + best.early // 2 - best.early - best.moment - 1000000 as low
    from (
        select min({'far': far, 'moment': moment, 'mid': mid, 'early': early}) as best
        from mutual group by ns, boot, seq
    ) order by best.early, best.mid, best.moment limit 200
),
held as (
    select a.low, count(*) as held, min(b.high) as until
    from (select distinct low from of_looks) a join of_looks b on b.low <= a.low and a.low <= b.high group by a.low
),
meeting as (
    select min(low) as low, max(until) as high, max(held) as held from held where held = (select max(held) from held)
),
of_observer as (
    select any_value(middle) as middle, count(*) as samples,
        floor(median(abs(mid - moment - middle)) + 0.5)::bigint as spread,
        any_value((high - low + 1) // 2)::bigint as uncertainty
    from (select mid, moment from of_looks), (select *, floor((low + high) / 2)::bigint as middle from meeting)
    having count(*) >= 3 and any_value(held) * 2 > count(*)
),
all_differences as (
    select ns, difference, null as gap, 'versions' as method, 1 as preference, 3 as needed from of_versions
    union all select ns, difference, gap, 'heartbeats', 2, 1 from of_beats
),
middles as (
    select *, round(median(difference) over (partition by ns, method))::bigint as middle from all_differences
),
judged as (
    select ns, middle, count(*) as samples, round(median(abs(difference - middle)))::bigint as spread, method,
        preference, coalesce(
            round(median(gap) * 1000), max(abs(difference - middle)) filter (abs(difference - middle) <= 1000000)
        )::bigint as uncertainty
    from middles group by ns, middle, method, preference, needed
    having count(*) >= needed and count(*) filter (abs(difference - middle) <= 1000000) * 2 >= count(*)
)
select ns, coalesce(middle, 0), coalesce(samples, 0), coalesce(spread, 0),
    if(ns = (from reference), 'reference', coalesce(method, 'none')), (from reference),
    if(ns = (from reference), 0, uncertainty)
from (select distinct ns from all_events anti join watched using (ns)) left join judged using (ns)
qualify row_number() over (partition by ns order by preference) = 1
union all
select ns, if(alone, 0, coalesce(middle, 0)), if(alone, 0, coalesce(samples, 0)), if(alone, 0, coalesce(spread, 0)),
    'observed', (from reference), if(alone, 0, uncertainty)
from watched left join of_observer on true,
    (select not exists (from all_events anti join watched using (ns)) as alone)
order by all
"""

# A record is of the day on which its file was opened.
BY_FILE = """
    select * replace (last_value(if(ev = 'open', dt, null) ignore nulls) over records as dt) from raw_events
    window records as (partition by ns order by boot, seq)
"""


def of_days(db: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    """The rows of each day, all of which have the same reference. A name server of whose clock a day says nothing has
    that of the day before."""
    db.execute(f"create temp table by_file as {BY_FILE}")
    found, known = [], dict[str, tuple[Any, ...]]()
    for (day,) in db.execute("select distinct dt from by_file order by dt").fetchall():
        for ns, *clock in duck_rows(db, OFFSETS.replace("all_events", f"(from by_file where dt = '{day}')")):
            nothing = "none" in clock or (clock[3] == "observed" and clock[5] is None)
            known[ns] = known[ns] if nothing and ns in known else tuple(clock)
            found.append((day, ns, *known[ns]))
    return found
