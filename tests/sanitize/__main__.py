"""``make sanitize``: build with each sanitizer and run the tests of the fast lane and of TLS,
the fuzzer and the soak under it.

``--share`` runs the part that takes a few minutes and skips a missing sanitizer. Exit status 1 if anything failed or a
sanitizer complained.
"""

from __future__ import annotations

import argparse
import re
import secrets
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from tests.sanitize.inside import ENDED
from tests.sanitize.sanitizers import BUILDS, ROOT, SANITIZERS, WRONG_THREAD, Sanitizer, faults

FRAMES = 10_000_000
UNDEFINED = "runtime error: "
PYTEST = ["pytest", "-q", "--no-header", "-p", "no:cacheprovider", "-o", "timeout=1800", "--show-capture=no"]
PYTEST += ["--capture=sys"]  # so that the sanitizer's output is shown


@dataclass(frozen=True)
class Amount:
    """How much is run: frames for ``fuzz_s`` seconds, then registrations for ``bodies_s``; the soak for ``soak_s``.

    Property tests try one example of ``examples_over``.
    """

    tests: tuple[str, ...]
    fuzz_s: int
    bodies_s: int
    soak_s: int
    examples_over: int = 1


SOAK = "tests/sanitize/test_soak.py"
WHOLE = Amount(("tests/fast", "tests/hostile/test_tls.py", SOAK), 3_600, 1_200, 60)
SHARE = Amount(("tests/fast", SOAK, "-k", "not every_byte and not planted"), 4, 3, 4, examples_over=16)
THREADS = re.compile(r"\b(Thread|ThreadPoolExecutor|LiveServer|TimedServer)\b")
# A thread alone races with none: in a share, ThreadSanitizer has the tests with several, and no registrations.
FAST = sorted((ROOT / "tests" / "fast").rglob("test_*.py"))
WITH_THREADS = [str(test) for test in FAST if THREADS.search(test.read_text("utf-8"))]
# Its steps must be longer than a round of a reactor, which takes milliseconds under ThreadSanitizer on a busy machine.
TOO_SLOW_FOR = f"{SHARE.tests[-1]} and not goes_each_time"

SHARES = {
    "address": SHARE,
    "thread": replace(SHARE, tests=(*WITH_THREADS, SOAK, "-k", TOO_SLOW_FOR), bodies_s=0),
}

NOTHING = Amount((), 0, 0, 0)


def start(sanitizer: Sanitizer, what: str, arguments: list[str], amount: Amount = NOTHING) -> tuple[str, list[str]]:
    """The last line of what it printed, and what the sanitizer says of rocketns. With an amount the lines
    are shown as they come."""
    log = BUILDS / "reports" / f"{sanitizer.name}-{what}"
    for old in log.parent.glob(f"{log.name}.*"):
        old.unlink()
    assert sanitizer.command is not None
    command = [*sanitizer.command, "-m", "tests.sanitize.inside", str(sanitizer.folder), *arguments]
    environment = sanitizer.environment(log) | {
        "ROCKETNS_SOAK_S": str(amount.soak_s),
        "ROCKETNS_EXAMPLES_OVER": str(amount.examples_over),
        "PYTHONUNBUFFERED": "1",
    }
    last, found = "", []
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdout is not None
        for line in filter(None, map(str.strip, process.stdout)):
            last = line
            if UNDEFINED in line or WRONG_THREAD in line:  # these go to the standard error, whatever the options say
                found.append(line)
            if amount is not NOTHING:
                print(f"  {sanitizer.name} {what}: {last}", flush=True)
    files = sorted(log.parent.glob(f"{log.name}.*"))
    return last, found + [fault for file in files for fault in faults(file.read_text("utf-8"))]


def run_part(sanitizer: Sanitizer, what: str, arguments: list[str], amount: Amount) -> list[str]:
    """What is wrong with it."""
    started = time.monotonic()
    last, found = start(sanitizer, what, arguments, amount)
    if last != f"{ENDED} 0":
        found.append(f"{what} did not end well: {last}")
    print(f"  {sanitizer.name} {what}: {len(found)} complaints, {time.monotonic() - started:.0f} s", flush=True)
    return found


def not_found(sanitizer: Sanitizer) -> list[str]:
    """The planted faults that the sanitizer does not see."""
    missed = []
    for fault, words in sanitizer.finds.items():
        _, found = start(sanitizer, f"planted-{fault}", ["plant", fault])
        if not any(words in report for report in found):
            missed.append(f"a planted {fault} was not found: {found}")
    print(f"  {sanitizer.name}: {len(sanitizer.finds) - len(missed)} of {len(sanitizer.finds)} planted faults found")
    return missed


def run(sanitizer: Sanitizer, amount: Amount, seed: int) -> list[str]:
    """Everything under one sanitizer."""
    started = time.monotonic()
    (BUILDS / "reports").mkdir(parents=True, exist_ok=True)
    sanitizer.build()
    print(f"  {sanitizer.name}: built in {time.monotonic() - started:.0f} s", flush=True)
    parts = {
        "tests": [*PYTEST, *amount.tests],
        "fuzz": ["fuzz", str(FRAMES), str(amount.fuzz_s), str(amount.bodies_s), str(seed)],
    }
    found = not_found(sanitizer)
    for name, part in parts.items():
        found += run_part(sanitizer, name, part, amount)
    return found


LEFT_OUT = "\n+{line}+\n| SANITIZER LEFT OUT, nothing is run with -fsanitize={flags}: {reason}\n+{line}+\n"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sanitize", description=__doc__)
    parser.add_argument("--share", action="store_true", help="what a few minutes allow")
    parser.add_argument("--only", choices=[one.name for one in SANITIZERS], help="one sanitizer instead of all")
    parser.add_argument("--seed", type=int, default=secrets.randbits(32), help="of the fuzzer's frames")
    given = parser.parse_args(arguments)
    wanted = [one for one in SANITIZERS if given.only in (None, one.name)]
    missing = {one.flags: reason for one in wanted if (reason := one.missing())}
    for flags, reason in missing.items():
        print(LEFT_OUT.format(line="-" * 100, flags=flags, reason=reason), flush=True)

    def check(sanitizer: Sanitizer) -> bool:
        found = run(sanitizer, SHARES[sanitizer.name] if given.share else WHOLE, given.seed)
        result = f"NOT CLEAN, {len(found)} complaints" if found else "clean"
        print("\n".join([*found, f"sanitize -fsanitize={sanitizer.flags}: {result}, seed {given.seed}"]), flush=True)
        return not found

    with ThreadPoolExecutor(len(SANITIZERS)) as at_once:
        clean = list(at_once.map(check, [one for one in wanted if one.flags not in missing]))
    return int(not all(clean) or (bool(missing) and not given.share))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
