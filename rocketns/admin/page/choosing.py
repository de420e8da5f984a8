"""The language of the page: that of the address, or the first of the browser's that the page speaks."""

from __future__ import annotations

from rocketns.languages.choice import ENGLISH, LANGUAGES

# Browsers send about five. A header has 8 KiB at most.
RANGES_MAX = 50


def chosen(asked: str | None, accepted: str) -> str:
    """One of LANGUAGES. ``asked``: the parameter ``lang``; ``accepted``: the header Accept-Language."""
    if asked in LANGUAGES:
        return asked
    ranges = [_weighed(one) for one in accepted.split(",")[:RANGES_MAX]]
    for weight, language in sorted(ranges, key=lambda one: -one[0]):
        if weight > 0 and language in LANGUAGES:
            return language
    return ENGLISH


def _weighed(one: str) -> tuple[float, str]:
    """``zh-CN;q=0.8`` is (0.8, "zh"); what is no weight is 0."""
    tag, _, quality = one.partition(";")
    language = tag.strip().lower().partition("-")[0]
    name, equals, value = quality.strip().partition("=")
    if not equals:
        return 1.0, language
    digits = value.strip()
    is_weight = name.strip() == "q" and digits.isascii() and digits.replace(".", "", 1).isdigit()
    return (float(digits) if is_weight else 0.0), language
