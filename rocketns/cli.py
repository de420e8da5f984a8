"""The command line of `rocketns` and `mqnamesrv`: Java's options, and Java's exit status for a wrong option."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import NoReturn

from rocketns import __version__
from rocketns.config import NamesrvConfig, NettyServerConfig, properties
from rocketns.config.limits import REACTORS_MAX
from rocketns.config.sections import OWN
from rocketns.config.system import SYSTEM_PROPERTIES, parse_definition
from rocketns.config.tls import TLS_PROPERTIES
from rocketns.languages import choose, parsers, texts
from rocketns.logs import one_line

EXIT_USAGE = 1
_ = texts("help")

USAGE = (
    "mqnamesrv [-c <arg>] [-h] [-n <arg>] [-p] [-D<name>=<value>] [--log-files] [--log-level <arg>] "
    "[--log-format <arg>] [--reactors <n>] [--language <arg>] [--version]"
)

INTRODUCTION = """\
A name server for Apache RocketMQ. Brokers, producers, consumers and admin tools use it in place of the Java one.
Start it without options, and set namesrvAddr of brokers and clients to port 9876 of this machine.
To ask running name servers, Java's too: rocketns get, diff, top or health --help
To write journals of name servers from outside, Java's too: rocketns collect --help
To compare the journals of several name servers: rocketns audit --help
To find out why clients find no route: rocketns doctor --help
To stand in front of a name server, Java's too, and compare its answers with rocketns': rocketns shadow --help
To send recorded requests to a name server, and compare its answers: rocketns replay --help
To read a policy of access control: rocketns access --help
To read frames of a capture, or what was pasted: rocketns decode --help
To check a file of views, which addresses clients get: rocketns views --help
To complete all this in a shell: rocketns completion --help
"""

LOG_FORMATS = ("text", "json")
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
EXIT_STATUSES = (
    (0, "stopped by SIGTERM or SIGINT, or after --help, --version or --printConfigItem"),
    (1, "wrong option; the message names it"),
    (255, "could not start; the message says why"),
)
SIGNALS = (
    ("SIGTERM, SIGINT", "stop; a second one ends the wait of a graceful shutdown"),
    ("SIGQUIT", "print the stacks of all threads and the lengths of all queues to standard output, and go on"),
    (
        "SIGHUP",
        "open the log file again (for logrotate), read the TLS files and the tokens again, and apply those properties "
        "of the config file that take effect at once or for new connections",
    ),
    ("SIGUSR1, SIGUSR2, SIGPIPE, SIGXFSZ, SIGALRM, SIGVTALRM, SIGIO", "ignored"),
)


class _JavaParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        print(message, file=sys.stderr)
        self.print_usage(sys.stderr)
        raise SystemExit(EXIT_USAGE)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options. SystemExit: 0 after help or version, 1 for a wrong option."""
    return parsers.parse(parser, arguments, "help")


def unknown_command(words: Sequence[str], commands: Sequence[str]) -> int:
    """Say that the first of these is no command, and which is nearest. Return the exit status."""
    choose(words)
    near = get_close_matches(words[0], commands, 1)
    text = _("%(word)s is no command of rocketns. ") % {"word": one_line(words[0])}
    text += _("Do you mean %(near)s?") % {"near": near[0]} if near else _("rocketns --help has them all.")
    print(text, file=sys.stderr)
    return EXIT_USAGE


def parser() -> _JavaParser:
    """The options of `rocketns`. docs/properties.md is made from them too."""
    made = _JavaParser(
        prog="mqnamesrv",
        usage=USAGE,
        description=INTRODUCTION,
        epilog=_epilog(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = made.add_argument
    add("-c", "--configFile", dest="config_file", metavar="<arg>",
        help="Java properties file with the properties below; changes by request 318 are written to it")  # fmt: skip
    add("-p", "--printConfigItem", dest="print_config_items", action="store_true",
        help="print all properties with their values and exit")  # fmt: skip
    add("-n", "--namesrvAddr", metavar="<arg>", help="accepted and ignored: a name server needs no name server")
    add("-D", dest="system", action="append", default=[], type=parse_definition, metavar="<name>=<value>",
        help="a Java system property, see below")  # fmt: skip
    add("--log-files", action="store_true",
        help="log to ~/logs/rocketmqlogs/namesrv.log as Java does; by default to standard output")  # fmt: skip
    add("--log-level", default="INFO", choices=LEVELS, metavar="<arg>", help=f"{', '.join(LEVELS)}; by default INFO")
    add("--log-format", default=LOG_FORMATS[0], choices=LOG_FORMATS, metavar="<arg>",
        help="text, as Java's log, or json: one object a line, times in UTC; by default text")  # fmt: skip
    add("--reactors", type=_reactors, metavar="<n>",
        help=f"threads that carry connections and answer route lookups, 1 to {REACTORS_MAX}; by default 1. "
        "Takes precedence over rocketns.reactors")  # fmt: skip
    parsers.add_language_option(made)
    add("--version", action="version", version=f"rocketns {__version__}", help="print the version and exit")
    return made


def _reactors(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= REACTORS_MAX:
        raise argparse.ArgumentTypeError(f"{text}: a number from 1 to {REACTORS_MAX} expected")
    return int(text)


def _epilog() -> str:
    sections = [
        (_("Properties of the config file (Java's NamesrvConfig)"), _listed(NamesrvConfig)),
        (_("Sockets (Java's NettyServerConfig)"), _listed(NettyServerConfig)),
        *((_(kind.title), _listed(kind, kind.prefix)) for kind in OWN.values()),
        (
            _("System properties (-Dname=value, also from JAVA_OPT and JAVA_OPT_EXT of the environment)"),
            [f"  {name} ({_(default) or '-'})  {_(doc)}" for name, default, doc in SYSTEM_PROPERTIES],
        ),
        (
            _("TLS (-Dname=value, the file of tls.config.file, or the config file)"),
            [f"  {name} ({default or '-'})  {_(doc)}" for name, default, doc in TLS_PROPERTIES],
        ),
        (_("Exit status"), [f"  {status}  {_(doc)}" for status, doc in EXIT_STATUSES]),
        (_("Signals"), [f"  {names}  {_(doc)}" for names, doc in SIGNALS]),
    ]
    return "\n\n".join("\n".join((_("%(title)s:") % {"title": title}, *lines)) for title, lines in sections)


def _listed(config: type, prefix: str = "") -> list[str]:
    return [
        f"  {prefix}{name} ({properties.default_text(declaration)})  {properties.described(declaration)}"
        for name, declaration in properties.declared(config).items()
    ]
