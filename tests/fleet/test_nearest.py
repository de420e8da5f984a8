"""Which names are near a name that nobody has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rocketns.fleet import nearest as module
from rocketns.fleet.nearest import (
    COMPARED_MAX,
    LETTERS_MAX,
    NAME_CHARACTERS_MAX,
    NEAREST_MAX,
    STEP_LETTERS,
    distance,
    find_nearest,
    nearest,
)


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [("order", "order", 0), ("order", "orders", 1), ("order", "rder", 1), ("order", "ordxr", 1), ("order", "ordre", 1),
     ("orderpayed", "orderpaid", 2), ("order", "redro", 3), ("", "ab", 2), ("abcd", "wxyz", 3)],
)  # fmt: skip
def test_a_distance_counts_letters(one: str, other: str, apart: int) -> None:
    """3 is more than 2, whatever it is."""
    assert distance(one, other, 2) == distance(other, one, 2) == apart


@pytest.mark.parametrize("name", ["orderPaid", "order_paid", "ORDER-PAID", "Order.Paid", "ns1%OrderPaid"])
def test_capitals_separators_and_a_namespace_make_no_other_name(name: str) -> None:
    assert nearest(name, ["Refund", "OrderPaid", "Shipped"]) == ("OrderPaid",)


@pytest.mark.parametrize(
    "name", ["OrderPaidd", "OrderPai", "rderPaid", "OrderPiad", "OrdrePaid", "OdrerPaid", "OrderPayed"]
)
def test_a_misspelt_name_has_the_right_one_near(name: str) -> None:
    assert nearest(name, ["Refund", "OrderPaid", "Shipped"]) == ("OrderPaid",)


def test_other_names_are_not_near() -> None:
    assert nearest("OrderPaid", ["OrderSent", "PaidOrder", "O", "", "OrderPaidByInvoice"]) == ()


def test_of_a_short_name_one_letter_may_differ() -> None:
    assert nearest("order", ["odr", "rodre", "orders"]) == ("orders",)


def test_a_name_is_not_near_itself() -> None:
    assert nearest("OrderPaid", ["OrderPaid"]) == ()


def test_the_nearest_come_first_and_are_few() -> None:
    names = ["OrderPayed", "OrderPaid2", "order-paid", "OrderPaids", "OrderPaidXY"]
    assert nearest("OrderPaid", names) == ("order-paid", "OrderPaid2", "OrderPaids")
    assert len(names) > NEAREST_MAX


def test_one_other_letter_is_found_behind_any_number_of_names_that_begin_alike() -> None:
    names = [f"order-service-topic-{number:06}" for number in range(100_000, 100_000 + 3 * COMPARED_MAX)]
    assert "order-service-tpic-900000" not in names
    found = nearest("order-service-tpic-900000", [*names, "order-service-topic-900000"])
    assert found[0] == "order-service-topic-900000"


@pytest.mark.parametrize("name", ["", "%", "-", "名字名字", "\ud800" * 3, "x" * 255])
def test_any_name_is_looked_for(name: str) -> None:
    assert nearest(name, ["", "a", "OrderPaid", "y" * 255]) == ()


def test_a_name_longer_than_any_topic_is_not_near() -> None:
    """However long a name a peer registers, lines of the log and answers of the API stay short."""
    longest = "-" * (NAME_CHARACTERS_MAX - len("OrderPaid")) + "OrderPaid"
    assert nearest("OrderPayed", [longest, f"-{longest}"]) == (longest,)


def test_for_a_name_of_separators_the_names_are_not_even_copied() -> None:
    class Names(list[str]):
        def __iter__(self) -> Iterator[str]:
            raise AssertionError("copied")

    assert nearest("_-.", Names(["a"])) == ()


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The letters of each name that is compared letter by letter."""
    seen: list[int] = []
    counted = module._counted

    def count(one: str, other: str, most: int) -> int:
        seen.append(len(one))
        return counted(one, other, most)

    monkeypatch.setattr(module, "_counted", count)
    return seen


def unlike_at_both_ends(letters: int, number: int) -> tuple[str, list[str]]:
    """A name, and so many others of which each letter has to be compared."""
    half = "m" * ((letters - 3) // 2)
    return f"a{half}z{half}b", [f"{chr(0x4E00 + n)}{half}k{half}{chr(0x5E00 + n)}" for n in range(number)]


def test_a_step_compares_few_letters(compared: list[int]) -> None:
    name, others = unlike_at_both_ends(LETTERS_MAX, 100)
    done = 0
    for _ in find_nearest(name, others):
        assert sum(compared[done:]) < STEP_LETTERS + LETTERS_MAX
        done = len(compared)
    assert done == 100


def test_a_search_compares_so_many_letters(compared: list[int]) -> None:
    name, others = unlike_at_both_ends(LETTERS_MAX, 1_000)
    assert nearest(name, others) == ()
    assert COMPARED_MAX <= sum(compared) < COMPARED_MAX + LETTERS_MAX


def test_letters_that_names_begin_and_end_with_cost_nothing(compared: list[int]) -> None:
    nearest("order-service-region-north-01234", ["order-service-region-north-77754"])
    assert compared == [4]


def test_longer_names_are_near_where_one_letter_differs(compared: list[int]) -> None:
    assert nearest("a" + "m" * LETTERS_MAX, ["b" + "m" * LETTERS_MAX, "b" + "m" * LETTERS_MAX + "c"]) == (
        "b" + "m" * LETTERS_MAX,
    )
    assert compared == []
