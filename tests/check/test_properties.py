"""Every property is documented, and is used or says that it is not."""

from __future__ import annotations

import ast
import re

import pytest

from rocketns.config import JournalConfig, Limits, NamesrvConfig, NettyServerConfig, properties
from rocketns.config.properties import Effect
from tests.check.properties import PAGE, page
from tests.check.source import ROOT, sources

KINDS = (NamesrvConfig, NettyServerConfig, Limits, JournalConfig)
LIMIT = re.compile(r"(max|capacity|seconds_max|mark)$")


def test_the_page_of_properties_is_current() -> None:
    assert PAGE.read_text("utf-8") == page(), (
        "docs/properties.md is not what the code declares. Next step: python -m tests.check.properties"
    )


def attributes_read() -> set[str]:
    """Every ``x.name`` of the package: a property's own declaration is none."""
    trees = [source.tree for source in sources(ROOT, "rocketns", suffixes=(".py",))]
    return {node.attr for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


@pytest.mark.parametrize("kind", KINDS)
def test_every_property_is_used_or_says_that_it_is_not(kind: type) -> None:
    read = attributes_read()
    for name, declaration in properties.declared(kind).items():
        used = declaration.name in read
        assert used or declaration.metadata["effect"] is Effect.UNUSED, (
            f"no code reads {name}. Next step: read {kind.__name__}.{declaration.name} where it takes effect, or "
            "declare it Effect.UNUSED"
        )
        assert not used or declaration.metadata["effect"] is not Effect.UNUSED, (
            f"{name} says that it is not used, but code reads it. Next step: declare when it takes effect"
        )


@pytest.mark.parametrize("kind", KINDS)
def test_every_property_says_what_it_means_and_a_limit_says_what_happens_there(kind: type) -> None:
    for name, declaration in properties.declared(kind).items():
        metadata = declaration.metadata
        assert declaration.type in ("bool", "int", "str", "str | None"), f"{name}: `properties.parse` has no such type"
        assert metadata["doc"], f"{name} has no meaning. Next step: its second argument of `prop`"
        if LIMIT.search(declaration.name) and metadata["effect"] is not Effect.UNUSED:
            assert metadata["unit"], f"{name} is a limit. Next step: say what it counts (unit=…)"
            missing = f"{name} is a limit. Next step: say what happens when it is reached (at_limit=…)"
            assert metadata["at_limit"] or "low_water" in declaration.name, missing
