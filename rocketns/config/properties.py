"""A property: what a configuration field declares, and how text becomes its value (MixAll.properties2Object)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from enum import Enum
from typing import Any, ClassVar

from rocketns.errors import StartupError
from rocketns.javatext import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN, parse_boolean, parse_long, trim
from rocketns.languages import N_, texts

PREFIX = "rocketns."
_ = texts("help")


class Effect(Enum):
    """When a change of a property takes effect."""

    LIVE = "at once"
    CONNECTION = "for new connections"
    START = "at start"
    UNUSED = "not used"


EFFECTS = {
    Effect.LIVE: N_("takes effect at once"),
    Effect.CONNECTION: N_("takes effect for new connections"),
    Effect.START: N_("takes effect at start"),
    Effect.UNUSED: N_("not used"),
}


def prop(default: Any, doc: str, effect: Effect, *, unit: str = "", at_limit: str = "", long: bool = False,
         low: int | None = None, high: int | None = None, stored: bool | tuple[int, int] = True) -> Any:  # fmt: skip
    """A configuration field: its default, its meaning in one line, and when a change takes effect.

    ``unit`` names what a number counts, ``at_limit`` says what the server does when the number is reached.
    ``low`` and ``high`` are the valid range: a start with another number fails. ``stored`` says what request 318 may
    write to the configuration file: False is nothing, a pair is a narrower range.
    docs/properties.md and ``--help`` are made from this.
    """
    least, most = (LONG_MIN, LONG_MAX) if long else (INT_MIN, INT_MAX)
    bounds = (least if low is None else low, most if high is None else high)
    metadata = {"doc": doc, "effect": effect, "unit": unit, "at_limit": at_limit, "type_range": (least, most),
                "bounds": bounds, "stored": stored}  # fmt: skip
    return field(default=default, metadata=metadata)


def java_name(attribute: str) -> str:
    """``kv_config_path`` → ``kvConfigPath``."""
    head, *rest = attribute.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def is_secret(name: str) -> bool:
    """Whether the name of a property says that its value is shown nowhere."""
    return "password" in name.lower()


def shown(name: str, text: str) -> str:
    """The value for a log line."""
    return "(not shown)" if is_secret(name) else text


def declared(config: Any) -> dict[str, Field[Any]]:
    """The fields of a configuration object or class by Java name."""
    return {java_name(f.name): f for f in fields(config) if "effect" in f.metadata}


def load(data: bytes) -> dict[str, str]:
    """Java properties text. Bytes are Latin-1; the last of two equal keys wins. ValueError if it does not parse."""
    import javaproperties  # takes 15 ms, and a start without a file does not need it

    return javaproperties.loads(data)


def dump(items: Mapping[str, str]) -> bytes:
    """The text of a file that `load` and Java read back as the same items, escaped as by Java's Properties.store."""
    import javaproperties

    lines = (f"{javaproperties.join_key_value(key, value)}\n" for key, value in items.items())
    return "".join(lines).encode("ascii")


def of_lines(text: str) -> dict[str, str]:
    """The lines ``key=value`` of an answer to request 319, which are not escaped."""
    return {key: value for key, _, value in (line.partition("=") for line in text.splitlines()) if key}


def parse(declaration: Field[Any], text: str) -> Any:
    """The value of a property, or None if the text does not parse for its type: Java ignores it then."""
    if declaration.type == "bool":
        return parse_boolean(text)
    if declaration.type == "int":
        return parse_long(text, *declaration.metadata["type_range"])
    return trim(text)


def update(config: Any, properties: Mapping[str, str]) -> None:
    """Set every declared property that is in the mapping and parses."""
    for name, declaration in declared(config).items():
        value = None if name not in properties else parse(declaration, properties[name])
        if value is not None:
            setattr(config, declaration.name, value)


def read(config: Any, settings: Mapping[str, str]) -> None:
    """Take Java's properties of the start-up file. StartupError for a text that is no number, or out of its range.

    Java ignores such a text. An empty one is the default, as in Java.
    """
    update(config, settings)
    for name, declaration in declared(config).items():
        if settings.get(name) and parse(declaration, settings[name]) is None:
            raise not_valid(name, settings[name], declaration)
    check(config)


def not_valid(name: str, text: str, declaration: Field[Any]) -> StartupError:
    """The text is not a value of the property."""
    return StartupError(f"{name} is {text!r}, but must be {expected(declaration)}")


def is_boolean(text: str) -> bool:
    """Whether a text is true or false. Java reads any other text as false."""
    return text.lower() in ("true", "false")


def not_boolean(name: str, text: str) -> str:
    """A sentence for the log."""
    return f"{name}={text!r} counts as false: it is neither true nor false"


def check(config: Any, prefix: str = "") -> None:
    """StartupError for the first number that is out of its range."""
    for name, declaration in declared(config).items():
        value = getattr(config, declaration.name)
        low, high = declaration.metadata["bounds"]
        if declaration.type == "int" and not low <= value <= high:
            raise StartupError(f"{prefix}{name} is {value}, but must be {expected(declaration)}")


def expected(declaration: Field[Any]) -> str:
    """The valid values of a property, in words."""
    if declaration.type == "bool":
        return "true or false"
    if declaration.type != "int":
        return "a text"
    low, high = declaration.metadata["bounds"]
    return f"a number from {low} to {high}"


def bounds_text(declaration: Field[Any]) -> str:
    """The range of a number if it is narrower than its type: ``1 to 8``, ``at least 1``."""
    low, high = declaration.metadata["bounds"]
    least, most = declaration.metadata["type_range"]
    if declaration.type != "int" or (low, high) == (least, most):
        return ""
    return (_("at least %(low)d") if high == most else _("%(low)d to %(high)d")) % {"low": low, "high": high}


def default_text(declaration: Field[Any]) -> str:
    """The default as the help shows it: ``-`` for none."""
    default = declaration.default
    return "-" if default in (None, "") else show(default)


def described(declaration: Field[Any]) -> str:
    """A line of the help: meaning, unit, range, what happens at the limit, and when a change takes effect."""
    metadata = declaration.metadata
    measured = _(", ").join(text for text in (_(metadata["unit"]), bounds_text(declaration)) if text)
    limit = metadata["at_limit"] and _("at the limit: %(action)s") % {"action": _(metadata["at_limit"])}
    return _("; ").join(text for text in (_(metadata["doc"]), measured, limit, _(EFFECTS[metadata["effect"]])) if text)


def may_store(declaration: Field[Any], value: Any) -> bool:
    """Whether request 318 may write the value to the configuration file, where the next start reads it."""
    stored = declaration.metadata["stored"]
    if isinstance(stored, bool) and (not stored or declaration.type != "int"):
        return stored
    low, high = declaration.metadata["bounds"] if isinstance(stored, bool) else stored
    return bool(low <= value <= high)


def show(value: Any) -> str:
    """A value as Java prints it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def items(config: Any) -> dict[str, str]:
    """All properties that have a value, as text."""
    values = {name: getattr(config, declaration.name) for name, declaration in declared(config).items()}
    return {name: show(value) for name, value in values.items() if value is not None}


@dataclass(slots=True)
class OwnConfig:
    """A class of properties that Java does not have. `rocketns.config.sections` lists all of them."""

    title: ClassVar[str]  # of the section in docs/properties.md and ``--help``
    prefix: ClassVar[str] = PREFIX  # of the names in the configuration file: ``rocketns.peers``

    def update(self, settings: Mapping[str, str]) -> None:
        """Read the properties. StartupError for a text that does not parse, and for what `check` refuses."""
        for name, declaration in declared(self).items():
            text = settings.get(self.prefix + name)
            if text is None:
                continue
            value = parse(declaration, text)
            if value is None or (declaration.type == "bool" and not is_boolean(text)):
                raise not_valid(self.prefix + name, text, declaration)
            setattr(self, declaration.name, value)
        self.check()

    def check(self) -> None:
        """StartupError for a number out of its range, and for a text that is not valid."""
        check(self, self.prefix)
        self.check_texts()

    def check_texts(self) -> None:
        """StartupError for a text that is not valid. By default every text is."""
