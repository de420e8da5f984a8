"""Every property is documented, and is used or says that it is not."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from rocketns.config import NamesrvConfig, NettyServerConfig, properties
from rocketns.config.properties import Effect, OwnConfig
from rocketns.config.sections import CLASSES, OWN
from tests.check.properties import PAGE, page
from tests.check.source import ROOT, sources

# Lists of all properties. A name in them does not test the property's effect.
LISTS = ("tests/check/", "tests/config/test_properties.py", "tests/behaviour/settings/test_config_requests.py")
# Its effect is inside the kernel, where no test can see it.
UNSEEN = {"serverSocketRcvBufSize"}
LIMIT = re.compile(r"(max|capacity|seconds_max|mark)$")


def test_the_page_of_properties_is_current() -> None:
    assert PAGE.read_text("utf-8") == page(), (
        "docs/properties.md is not what the code declares. Next step: python -m tests.check.properties"
    )


def own_classes() -> dict[str, str]:
    """The names of the classes derived from `OwnConfig`, each with its file."""
    return {
        node.name: source.name
        for source in sources(ROOT, "rocketns", suffixes=(".py",))
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == OwnConfig.__name__ for base in node.bases)
    }


def test_every_class_of_own_properties_is_in_the_list() -> None:
    listed = {kind.__name__ for kind in OWN.values()}
    missing = [f"{file}: {name}" for name, file in own_classes().items() if name not in listed]
    assert not missing, f"no start reads {missing}. Next step: a line in OwnSections of rocketns/config/sections.py"
    assert own_classes().keys() == listed


@pytest.mark.parametrize("kind", OWN.values())
def test_a_class_of_own_properties_has_a_title_and_names_of_its_own(kind: type[OwnConfig]) -> None:
    assert "title" in vars(kind), f"{kind.__name__} has no section in the help. Next step: title = … in the class"
    names = {kind.prefix + name for name in properties.declared(kind)}
    others = {one.prefix + name for one in OWN.values() if one is not kind for name in properties.declared(one)}
    twice = names & (others | properties.declared(NamesrvConfig).keys() | properties.declared(NettyServerConfig).keys())
    assert not twice, f"{twice} are in two classes. Next step: give them other names"


@cache
@cache
def attributes_read() -> set[str]:
    """Every attribute that code of the package reads."""
    trees = [source.tree for source in sources(ROOT, "rocketns", suffixes=(".py",))]
    attributes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    return {node.attr for node in attributes if isinstance(node.ctx, ast.Load)}


@pytest.mark.parametrize("kind", CLASSES)
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


@pytest.mark.parametrize("kind", CLASSES)
def test_every_property_says_what_it_means_and_a_limit_says_what_happens_there(kind: type) -> None:
    for name, declaration in properties.declared(kind).items():
        metadata = declaration.metadata
        assert declaration.type in ("bool", "int", "str", "str | None"), f"{name}: `properties.parse` has no such type"
        assert metadata["doc"], f"{name} has no meaning. Next step: its second argument of `prop`"
        if LIMIT.search(declaration.name) and metadata["effect"] is not Effect.UNUSED:
            assert metadata["unit"], f"{name} is a limit. Next step: say what it counts (unit=…)"
            missing = f"{name} is a limit. Next step: say what happens when it is reached (at_limit=…)"
            assert metadata["at_limit"] or "low_water" in declaration.name, missing


@pytest.mark.parametrize("kind", CLASSES)
def test_every_used_property_is_named_by_a_test(kind: type) -> None:
    tests = [s.text for s in sources(ROOT, "tests", "interop", suffixes=(".py",)) if not s.name.startswith(LISTS)]
    for name, declaration in properties.declared(kind).items():
        if declaration.metadata["effect"] is Effect.UNUSED or name in UNSEEN:
            continue
        assert any(name in text or declaration.name in text for text in tests), (
            f"no test names {name}. Next step: a test in tests/behaviour/ or tests/hostile/ that shows its effect"
        )
