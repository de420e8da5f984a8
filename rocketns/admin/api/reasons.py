"""One reason why something needs attention, as a sentence that can be said in other languages too."""

from __future__ import annotations

from collections.abc import Sequence

from rocketns.admin.api.rows import Level, ReasonRow

NAMES_MAX = 5
NAME_CHARACTERS_MAX = 80
DETAIL_CHARACTERS_MAX = 200


def reason(
    level: Level, name: str, message: str, names: Sequence[str] = (), *, many: str | None = None, n: int | None = None,
    detail: str = "",
) -> ReasonRow:  # fmt: skip
    """``message`` may have ``%(names)s`` and ``%(n)s``; ``many`` is its plural.

    ``detail``: technical words, which stay English.
    """
    shown = tuple(one[:NAME_CHARACTERS_MAX] for one in names[:NAMES_MAX])
    more = len(names) - len(shown)
    chosen = many if many is not None and n != 1 else message
    listed = ", ".join(shown) + (f" and {more} more" if more else "")
    said = chosen % {"names": listed, "n": f"{n or 0:,}"}
    detail = detail[:DETAIL_CHARACTERS_MAX]
    return ReasonRow(level, f"{said}: {detail}" if detail else said, name, message, many, n, shown, more, detail)
