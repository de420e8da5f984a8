"""`rocketns access check` and `rocketns access suggest`."""

from __future__ import annotations

from argparse import Namespace

from rocketns.access.policy import Policy
from rocketns.access.reading.errors import PolicyError
from rocketns.tools.access.explanation import explained
from rocketns.tools.access.policies import policy_at
from rocketns.tools.access.question import QuestionError, question_of
from rocketns.tools.access.suggesting.run import suggest
from rocketns.tools.access.summary import summary
from rocketns.tools.output import EXIT_DIFFERENT, EXIT_FOUND, EXIT_UNREADABLE, complain, print_json, print_report


def run(options: Namespace) -> int:
    """The exit status."""
    return {"check": check, "suggest": suggest}[options.thing](options)


def check(options: Namespace) -> int:
    """Print what the policy allows, or whether it allows the request. The exit status."""
    try:
        policy = policy_at(options.file)
        return _explain(policy, options) if options.request else _summarise(policy, options)
    except PolicyError as error:
        complain(f"rocketns access: the policy cannot be used: {error}")
        return EXIT_DIFFERENT
    except QuestionError as error:
        complain(f"rocketns access check: {error}")
        return EXIT_UNREADABLE


def _summarise(policy: Policy, options: Namespace) -> int:
    found = summary(policy)
    if options.json:
        print_json(found.value)
    else:
        print_report(found.report())
    return EXIT_FOUND


def _explain(policy: Policy, options: Namespace) -> int:
    found = explained(policy, question_of(options.request))
    if options.json:
        print_json(found.value())
    else:
        print_report(found.report())
    return EXIT_FOUND if found.is_allowed else EXIT_DIFFERENT
