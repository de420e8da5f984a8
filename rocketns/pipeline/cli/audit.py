"""`rocketns audit`: runs a command line and returns its exit status. Spark is imported only when it is needed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from rocketns.pipeline.cli.arguments import parse
from rocketns.pipeline.cli.collecting import collected, journal_of, with_unread
from rocketns.pipeline.cli.spark import SMALL_BATCHES, TINY, check_extra, check_installed, fitting, is_here, session
from rocketns.pipeline.contract.terms import EXIT_FAILED, EXIT_FINDINGS, EXIT_NOTHING, EXIT_USAGE, BadInput
from rocketns.pipeline.saying import Say, _, timed_lines


def main(arguments: Sequence[str]) -> int:
    """Run ``rocketns audit <arguments>``; returns the exit status, which ``--help`` lists."""
    try:
        options = parse(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else EXIT_USAGE
    say = timed_lines()
    try:
        return HANDLERS[options.command](options, say)
    except BadInput as error:
        print(f"rocketns audit {options.command}: {error}", file=sys.stderr)
        return EXIT_USAGE
    except KeyboardInterrupt:
        print(f"rocketns audit {options.command}: {_('interrupted')}", file=sys.stderr)
        return 130
    except Exception as error:
        shown = {"command": f"rocketns audit {options.command}", "error": explained(error)}
        print(_("%(command)s failed: %(error)s") % shown, file=sys.stderr)
        if os.environ.get("ROCKETNS_AUDIT_TRACE"):
            raise
        print(_("Set ROCKETNS_AUDIT_TRACE=1 to see the stack."), file=sys.stderr)
        return EXIT_FAILED


def explained(error: BaseException) -> str:
    """The first lines of an error, without the stacks that Java and a Python process of Spark's add."""
    lines = [line for line in str(error).splitlines() if line.strip() and line[0] not in " \t"]
    lines = [line for line in lines if not line.startswith(("at ", "Traceback "))]
    return f"{type(error).__name__}: " + ("\n".join(lines[:6]) or "no message")


def _run(options: argparse.Namespace, say: Say) -> int:
    if options.days and (options.t0 is not None or options.t1 is not None):
        raise BadInput(_("--days goes without --from and --to: it says itself where the observation begins"))
    options.journal = journal_of(options)
    is_read = True
    if options.name_servers is not None:
        check_installed()
        is_read = collected(options, options.journal, say)
    spark = session(options, say, *fitting(options.journal))
    from rocketns.pipeline.batch.run import Request, audit

    outcome = audit(spark, Request(**{name: getattr(options, name) for name in Request._fields}), say)
    print("\n".join(outcome.lines))
    return outcome.exit_status if is_read else with_unread(outcome.exit_status)


def _report(options: argparse.Namespace, say: Say) -> int:
    spark = session(options, say, short=True)
    from rocketns.pipeline.batch.run import report_again

    print(_("report: %(path)s") % {"path": report_again(spark, options.out).report})
    return 0


def _explain(options: argparse.Namespace, say: Say) -> int:
    here = is_here(options, options.out)
    if here:
        check_extra()
    spark = None if here else session(options, say, short=True)
    from rocketns.pipeline.explain import explained_route

    print("\n".join(explained_route(spark, options.out, options.topic, options.at)))
    return 0


def _stream(options: argparse.Namespace, say: Say) -> int:
    spark = session(options, say, SMALL_BATCHES)
    from rocketns.pipeline.stream.follow import Following, follow
    from rocketns.pipeline.stream.step import StreamLimits

    limits = StreamLimits(options.min_window, options.grace, options.silent_after, options.clocks or 0)
    following = Following(
        options.journal, options.out, options.checkpoint, options.webhook, options.every, limits, options.once,
        options.alertmanager,
    )  # fmt: skip
    follow(spark, following, say)
    return 0


def _verify(options: argparse.Namespace, _say: Say) -> int:
    from rocketns.pipeline.cli.verify import verify

    lines, status = verify(options.journal, options.head)
    print("\n".join(lines))
    return status


def _demo(options: argparse.Namespace, say: Say) -> int:
    spark = session(options, say, TINY, short=True)
    from rocketns.pipeline.cli.demo import demo

    lines, right = demo(spark, options.out, say)
    print("\n".join(lines))
    return EXIT_NOTHING if right else EXIT_FINDINGS


HANDLERS: dict[str, Callable[[argparse.Namespace, Say], int]] = {
    "run": _run,
    "report": _report,
    "explain": _explain,
    "stream": _stream,
    "demo": _demo,
    "verify": _verify,
}
