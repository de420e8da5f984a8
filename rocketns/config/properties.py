"""Java properties: what a configuration field declares, and how text becomes its value (MixAll.properties2Object)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, field, fields
from enum import Enum
from typing import Any

from rocketns.javatext import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN, parse_boolean, parse_long


class Effect(Enum):
    """When a change of a property is felt, said in the help and in the log."""

    LIVE = "at once"
    CONNECTION = "for new connections"
    START = "at start"
    UNUSED = "accepted and shown, but not used"


def prop(default: Any, doc: str, effect: Effect, *, long: bool = False) -> Any:
    """A configuration field: its default, one line of documentation, and when it is felt."""
    metadata = {"doc": doc, "effect": effect, "range": (LONG_MIN, LONG_MAX) if long else (INT_MIN, INT_MAX)}
    return field(default=default, metadata=metadata)


def java_name(attribute: str) -> str:
    """``kv_config_path`` → ``kvConfigPath``."""
    head, *rest = attribute.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def declared(config: Any) -> dict[str, Field[Any]]:
    """The fields of a configuration object or class by Java name."""
    return {java_name(f.name): f for f in fields(config) if "effect" in f.metadata}


def load(data: bytes) -> dict[str, str]:
    """Java properties text, bytes read as Latin-1, the last of two equal keys wins. ValueError if it does not parse."""
    import javaproperties  # takes 15 ms, and a start without a file has no use for it

    return javaproperties.loads(data)


def parse(declaration: Field[Any], text: str) -> Any:
    """The value of a property, or None where Java ignores the text: it does not parse for the type."""
    if declaration.type == "bool":
        return parse_boolean(text)
    if declaration.type == "int":
        return parse_long(text, *declaration.metadata["range"])
    return text.strip()


def update(config: Any, properties: Mapping[str, str]) -> None:
    """Set every declared property that the mapping has and that parses."""
    for name, declaration in declared(config).items():
        value = None if name not in properties else parse(declaration, properties[name])
        if value is not None:
            setattr(config, declaration.name, value)


def show(value: Any) -> str:
    """A value as Java prints it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def items(config: Any) -> dict[str, str]:
    """All properties that have a value, as text."""
    values = {name: getattr(config, declaration.name) for name, declaration in declared(config).items()}
    return {name: show(value) for name, value in values.items() if value is not None}
