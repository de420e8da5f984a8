"""The file of tokens: what its lines mean, and that no message has a token in it."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketns.admin.tokens.classes import TokenClass
from rocketns.admin.tokens.file import FILE_BYTES_MAX, TOKENS_MAX, Tokens, TokensError, read_tokens

TOKEN = "0123456789abcdef"
OTHER = "ABCDEFGHIJ._~+/-=="


def classes(tokens: Tokens, token: str) -> set[str]:
    return {str(one) for one in tokens.classes_of(token.encode())}


def test_each_line_gives_its_token_its_classes() -> None:
    tokens = read_tokens(f"# monitoring\n\nprobe scrape {TOKEN}\r\n  read\t{OTHER}\n".encode())
    assert classes(tokens, TOKEN) == {"probe", "scrape"}
    assert classes(tokens, OTHER) == {"read"}
    assert classes(tokens, TOKEN + "0") == classes(tokens, "") == set()


def test_a_token_in_two_lines_has_the_classes_of_both() -> None:
    assert classes(read_tokens(f"probe {TOKEN}\ndrain {TOKEN}".encode()), TOKEN) == {"probe", "drain"}


def test_a_digest_stands_for_its_token() -> None:
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    tokens = read_tokens(f"read sha256:{digest}\n".encode())
    assert classes(tokens, TOKEN) == {"read"}
    assert classes(tokens, f"sha256:{digest}") == set()


def test_a_class_is_open_to_anyone_only_where_a_line_says_so() -> None:
    assert read_tokens(f"probe anyone\nread {TOKEN}".encode()).anyone == {TokenClass.PROBE}
    assert read_tokens(f"read {TOKEN}".encode()).anyone == set()


def test_comments_are_in_any_language() -> None:
    tokens = read_tokens(f"  # 运维人员：状态页和 API\nread {TOKEN}\n".encode())
    assert tokens.classes_of(TOKEN.encode()) == {TokenClass.READ}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "it has no token"),
        ("# nothing\n", "it has no token"),
        ("probe anyone\n", "it has no token"),
        (f"read {TOKEN}\n{OTHER}\n", "line 2: classes .* and a token are expected"),
        (f"# one\nread reads {TOKEN}\n", "line 2: word 2 is none of the classes"),
        (f"{TOKEN} read\n", "line 1: word 1 is none of the classes"),
        ("read short\n", "line 1: the token must have 16 to 512 letters"),
        (f"read {'x' * 513}\n", "line 1: the token must have"),
        (f"read {TOKEN}:\n", "line 1: the token must have"),
        (f"read sha256:{TOKEN}\n", "line 1: the token must have"),
        (f"read {TOKEN}é\n", "line 1: only ASCII"),
        (f"read {TOKEN}\n" * (TOKENS_MAX + 1), "65 tokens, and at most 64"),
        ("#" * (FILE_BYTES_MAX + 1), "at most 65536 are read"),
    ],
)
def test_a_wrong_file_is_refused_whole_with_line_and_reason(content: str, why: str) -> None:
    with pytest.raises(TokensError, match=why) as raised:
        read_tokens(content.encode())
    assert TOKEN not in str(raised.value)


@given(st.binary(max_size=300) | st.text("probe anyonsha256:\n #=", max_size=300).map(str.encode))
@example(b"probe " * 3 + b"\x00" * 20)
def test_any_bytes_are_a_file_or_an_error_without_their_words(content: bytes) -> None:
    try:
        tokens = read_tokens(content)
    except TokensError as error:
        message = str(error)
    else:
        message = ""
        assert tokens.digests
        assert not tokens.classes_of(b"")
    assert not any(len(word) >= 16 and word in message for word in content.decode("latin-1").split())


def test_what_the_process_keeps_shows_no_token() -> None:
    tokens = read_tokens(f"read {TOKEN}\n".encode())
    assert TOKEN not in repr(tokens)
    assert hashlib.sha256(TOKEN.encode()).hexdigest() not in repr(tokens)
