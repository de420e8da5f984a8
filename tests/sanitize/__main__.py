"""``make sanitize``: build with each sanitizer and run the tests of the fast lane, the fuzzer and the soak under it.

``--share`` runs the part that takes a few minutes and skips a missing sanitizer, as ``make rest`` does
(tests/sanitize/test_share.py). Exit status 1 if anything failed or a sanitizer complained.
"""

from __future__ import annotations

import argparse
import secrets
import sys
from concurrent.futures import ThreadPoolExecutor

from tests.sanitize.running import SHARES, WHOLE, run
from tests.sanitize.sanitizers import SANITIZERS, Sanitizer

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
