"""What is wrong with the input, in SQL, from what duck/history/state.py prepared and the table ``files``."""

QUALITY = """
select 'corrupt', ns, string_split(segment, '-')[1]::bigint, first, last, corrupt
from files where corrupt > 0 and (first is null or (first < $t1 and last >= $t0))
union all
select 'drop', ns, boot, min(ts), max(ts), sum(lost)::bigint
from events where ev = 'drop' and ts >= $t0 group by ns, boot
union all
select if(observed, 'unwatched', 'silent'), ns, boot, greatest(last_ts, $t0), $t1, $t1 - last_ts
from boots where not again and stop_ts is null and $t1 - last_ts > $silent
union all
select 'unknown', ns, boot, greatest(first_ts, $t0), coalesce(known, last_ts), 1
from (select *, (select min(end_ts) from needed n where n.ns = b.ns and n.boot = b.boot) as known from boots b)
where not begun and last_ts >= $t0 and (known is null or (known > $t0 and not (observed and start_ts is not null)))
    and greatest(first_ts, $t0) < coalesce(known, last_ts)
"""

HOLES = """
select ns, boot, concat('no record between seq ', after, ' and ', until), until - after - 1
from holes h
where (select ts from events e where e.ns = h.ns and e.boot = h.boot and e.seq = h.after) < $t1
    and (select ts from events e where e.ns = h.ns and e.boot = h.boot and e.seq = h.until) >= $t0
"""
