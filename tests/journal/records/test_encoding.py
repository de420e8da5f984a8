"""Lists of topics as JSON: any names are read back unchanged."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st

from rocketns.journal import encoding
from rocketns.protocol.body.route import queue_data

# Quotes and commas, of which the text between two names is made.
NAMES = st.text(alphabet='",\\a\n\u20ac', max_size=6)


@given(st.lists(NAMES, min_size=1, max_size=8))
@example(['a",', "b"])
def test_topic_names_of_any_text_are_read_back(names: list[str]) -> None:
    queues = [queue_data(number, 2, 6, 0) for number in range(len(names))]
    (listed,) = encoding.topic_lists(names, queues)
    read = json.loads(b"{" + encoding.columns("tput", {"topics": listed}))["topics"]
    assert [(one["t"], one["r"]) for one in read] == [(name, number) for number, name in enumerate(names)]
