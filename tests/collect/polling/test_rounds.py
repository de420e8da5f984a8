"""Whose route is asked next."""

from __future__ import annotations

from rocketns.collect.polling import limits
from rocketns.collect.polling.rounds import UNKNOWN, Rounds, Seen

PAUSE_S = 5.0


def of(*topics: str) -> Rounds:
    rounds = Rounds(PAUSE_S)
    rounds.keep(topics, 0, 0.0)
    return rounds


def answer(rounds: Rounds, topic: str, now_s: float, *, exists: bool = True) -> None:
    rounds.answered(topic, Seen(b"d", int(now_s * 1000), now_s, is_answered=True), exists=exists)


def ask_all(rounds: Rounds, now_s: float) -> list[str]:
    asked = []
    while (topic := rounds.next(now_s)) is not None:
        asked.append(topic)
        answer(rounds, topic, now_s)
    return asked


def test_each_round_has_every_topic_once() -> None:
    rounds = of("A", "B", "C")
    assert [ask_all(rounds, now_s) for now_s in (0.0, 5.0, 10.0)] == [["A", "B", "C"]] * 3


def test_a_round_waits_until_it_is_time() -> None:
    rounds = of("A")
    assert ask_all(rounds, 1.0) == ["A"]
    assert rounds.wait_s(2.0) == 4.0
    assert rounds.next(5.9) is None
    assert rounds.next(6.0) == "A"


def test_a_round_is_over_when_its_last_answer_came() -> None:
    rounds = of("A", "B")
    assert [rounds.next(0.0), rounds.next(0.0)] == ["A", "B"]
    answer(rounds, "A", 1.0)
    assert (rounds.next(7.0), rounds.count) == (None, 0)
    answer(rounds, "B", 8.0)
    rounds.next(8.0)
    assert (rounds.count, rounds.last_s) == (1, 8.0)


def test_suspects_come_first_and_no_topic_is_asked_twice_at_a_time() -> None:
    rounds = of("A", "B", "C")
    ask_all(rounds, 0.0)
    assert rounds.next(5.0) == "A"
    rounds.suspect(("C", "A", "C"))
    assert [rounds.next(5.0) for _ in range(3)] == ["C", "B", None]
    answer(rounds, "A", 5.0)
    assert rounds.next(5.0) == "A"


def test_a_suspect_that_was_asked_has_had_its_turn() -> None:
    rounds = of("A", "B", "C")
    ask_all(rounds, 0.0)
    assert rounds.next(5.0) == "A"
    rounds.suspect(("C",))
    assert rounds.next(6.0) == "C"
    answer(rounds, "C", 6.0)
    assert [rounds.next(6.0), rounds.next(6.0)] == ["B", None]


def test_a_new_topic_is_asked_before_all_others() -> None:
    rounds = of("A", "B")
    ask_all(rounds, 0.0)
    assert rounds.next(5.0) == "A"
    assert rounds.keep({"A", "B", "N"}, 4_000, 5.0) == ["N"]
    assert rounds.seen["N"] == Seen(UNKNOWN, 4_000, 5.0, is_answered=False)
    assert rounds.next(5.0) == "N"


def test_topics_without_an_answer_are_counted() -> None:
    rounds = of("A", "B")
    assert rounds.next(0.0) == "A"
    answer(rounds, "A", 0.0)
    assert rounds.next(0.0) == "B"
    rounds.failed("B")
    assert rounds.unanswered == 1
    rounds.keep({"A"}, 0, 0.0)
    assert rounds.unanswered == 0
    rounds.read_anew()
    assert rounds.unanswered == 1


def test_a_lookup_that_failed_is_tried_in_the_next_round() -> None:
    rounds = of("A")
    ask_all(rounds, 0.0)
    assert rounds.next(5.0) == "A"
    rounds.failed("A")
    assert (rounds.next(6.0), rounds.next(10.0)) == (None, "A")
    rounds.failed("A", again=True)
    assert rounds.next(5.0) == "A"


def test_a_topic_of_another_name_server_is_known_here_once_it_has_a_route() -> None:
    rounds = of()
    rounds.suspect(("X", "Y"))
    assert [rounds.next(0.0), rounds.next(0.0)] == ["X", "Y"]
    answer(rounds, "X", 0.0, exists=False)
    answer(rounds, "Y", 0.0)
    assert list(rounds.seen) == ["Y"]


def test_topics_of_another_name_server_are_bounded() -> None:
    rounds = of("A")
    ask_all(rounds, 0.0)
    rounds.suspect(f"X{number}" for number in range(limits.STRANGERS_MAX + 5))
    rounds.suspect(("A",))
    asked = [rounds.next(0.0) for _ in range(limits.STRANGERS_MAX + 2)]
    assert (asked[-2], asked[-1]) == ("A", None)
    rounds.suspect(("again",))
    assert rounds.next(0.0) == "again"


def test_a_topic_that_is_gone_is_not_asked() -> None:
    rounds = of("A", "B")
    ask_all(rounds, 0.0)
    rounds.keep({"B"}, 0, 0.0)
    assert ask_all(rounds, 5.0) == ["B"]


def test_a_list_of_other_topics_each_time_leaves_nothing_behind() -> None:
    rounds = of()
    for number in range(5):
        rounds.keep({f"T{number}-{one}" for one in range(100)}, 0, 0.0)
    assert len(ask_all(rounds, 0.0)) == 100


def test_what_is_distrusted_is_decoded_again() -> None:
    rounds = of("A")
    ask_all(rounds, 0.0)
    rounds.suspect(("A",), distrust=True)
    assert rounds.seen["A"].digest == UNKNOWN
