"""What of a name server's answer is kept: names, numbers and amounts within the limits of a name server of its own."""

from __future__ import annotations

from rocketns.config.limits import Limits
from rocketns.protocol.body.route import QueueData, TopicQueueMappingInfo
from rocketns.protocol.bounds import CONVERTED_VALUES_MAX
from rocketns.protocol.names import is_too_long

# Numbers are those of the journal's columns.
INT_MIN, INT_MAX = -(2**31), 2**31 - 1
LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1
# Queue ids of one static-topic mapping.
MAPPING_IDS_MAX = CONVERTED_VALUES_MAX


class Bounds:
    """Each method says whether something is kept. ``left_out`` counts what is not, again with each answer."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.left_out = 0

    def leave_out(self, count: int = 1) -> None:
        self.left_out += count

    def takes(self, *, fits: bool) -> bool:
        """``fits``, and counted if not."""
        self.left_out += not fits
        return fits

    def fits(self, *texts: str | None) -> bool:
        """No text is longer than a name may be."""
        most = self.limits.name_bytes_max
        return not any(text is not None and is_too_long(text, most) for text in texts)

    def fits_queues(self, queues: QueueData) -> bool:
        return all(INT_MIN <= number <= INT_MAX for number in queues)

    def fits_mapping(self, info: TopicQueueMappingInfo) -> bool:
        ids = info.curr_id_map or {}
        return (
            len(ids) <= MAPPING_IDS_MAX
            and all(INT_MIN <= number <= INT_MAX for pair in ids.items() for number in pair)
            and INT_MIN <= info.total_queues <= INT_MAX
            and LONG_MIN <= info.epoch <= LONG_MAX
            and self.fits(info.topic, info.bname, info.scope)
        )
