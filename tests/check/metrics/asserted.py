"""Which metrics a test asserts, read from the tests' syntax trees.

An expectation is an ``assert``, or what ``eventually`` waits for. It asserts a metric if it asks a scrape for it,
``seen("rocketns_…")``, and would fail if the metric were always 0, and if it were missing. So neither a name in a list
nor "it is 0 at first" is enough.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy

from tests.check.source import ROOT, Source, sources

NAME = re.compile(r"rocketns_\w+?(?=(_count|_sum|_bucket)?$)")
# Helpers call helpers: followed this far.
DEPTH_MAX = 6
BUILTINS = {one.__name__: one for one in (all, any, float, int, len, list, set, sorted, sum, zip)}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def asserted(*tests: Source) -> set[str]:
    """The names of the metrics that some expectation of these files asserts."""
    return {name for test in tests for name in _asserted(test.tree)}


def repositorys() -> list[Source]:
    """The test files of the repository in which a metric can be asserted."""
    found = sources(ROOT, "tests", "interop", suffixes=(".py",))
    return [one for one in found if "rocketns_" in one.text and not one.name.startswith("tests/check/")]


def _asserted(tree: ast.Module) -> Iterator[str]:
    functions = {node.name: node for node in tree.body if isinstance(node, Function)}
    for function in (node for node in ast.walk(tree) if isinstance(node, Function)):
        known = _values(tree.body) | _values(list(ast.walk(function)))
        for expectation in _expectations(function):
            inlined = _Inlined(known, functions).visit(deepcopy(expectation))
            yield from (name for name in _asked(inlined) if not _holds_without(name, inlined))


def _values(nodes: list[ast.stmt] | list[ast.AST]) -> dict[str, ast.expr]:
    """What the names are that these statements set."""
    set_here = [node for node in nodes if isinstance(node, ast.Assign)]
    return {one.targets[0].id: one.value for one in set_here if isinstance(one.targets[0], ast.Name)}


def _expectations(function: Function) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            yield from node.test.values if _is_and(node.test) else (node.test,)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "eventually":
            yield from (argument.body for argument in node.args if isinstance(argument, ast.Lambda))


def _is_and(test: ast.expr) -> bool:
    return isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)


class _Inlined(ast.NodeTransformer):
    """Local names become what they were set to, and calls of a helper of the file what it returns."""

    def __init__(self, known: Mapping[str, ast.expr], functions: Mapping[str, Function], depth: int = 0) -> None:
        self._known, self._functions, self._depth = known, functions, depth

    def visit_Name(self, node: ast.Name) -> ast.AST:
        value = self._known.get(node.id)
        return node if value is None or self._depth == DEPTH_MAX else self._deeper(value)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        helper = self._functions.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if helper is None or self._depth == DEPTH_MAX or not isinstance(helper.body[-1], ast.Return):
            return self.generic_visit(node)
        return self._deeper(helper.body[-1].value or ast.Constant(None))

    def _deeper(self, value: ast.expr) -> ast.AST:
        inlined: ast.AST = _Inlined(self._known, self._functions, self._depth + 1).visit(deepcopy(value))
        return inlined


def _metric(node: ast.AST) -> str | None:
    """The metric that a call asks for by its first argument."""
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        match = NAME.match(str(node.args[0].value))
        return match and match[0]
    return None


def _asked(expression: ast.expr) -> set[str]:
    return {name for node in ast.walk(expression) if (name := _metric(node))}


def _holds_without(name: str, expectation: ast.expr) -> bool:
    """Whether it holds where the metric is always 0, or always missing, and all others are as expected."""
    replaced = _With(name).visit(deepcopy(expectation))
    return any(_holds(replaced, value) for value in (0, None))


class _With(ast.NodeTransformer):
    """One metric becomes `value`; each other `as_expected`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match _metric(node):
            case None:
                return self.generic_visit(node)
            case self._name:
                return ast.Name("value", ast.Load())
            case _:
                return ast.Name("as_expected", ast.Load())


class _AsExpected:
    """A value that meets every expectation."""

    def _itself(self, *_: object) -> _AsExpected:
        return self

    def _yes(self, _: object) -> bool:
        return True

    __add__ = __radd__ = __sub__ = __rsub__ = _itself
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _yes
    __hash__ = None  # type: ignore[assignment]


def _holds(expectation: ast.expr, value: object) -> bool:
    """A comparison with a value that only the test knows counts as failing."""
    code = compile(ast.fix_missing_locations(ast.Expression(expectation)), "an expectation", "eval")
    try:
        return bool(eval(code, {"__builtins__": BUILTINS, "as_expected": _AsExpected(), "value": value}))
    except (AttributeError, KeyError, NameError, TypeError, ValueError):
        return False
