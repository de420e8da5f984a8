"""The command line of `rocketns` and `mqnamesrv`: Java's options, and its exit status for wrong ones."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import Field, dataclass, field
from typing import Any, NoReturn

from rocketns import __version__
from rocketns.config import JournalConfig, Limits, NamesrvConfig, NettyServerConfig, properties
from rocketns.config.limits import FRAME_BYTES_MAX, FRAME_MAX_LENGTH, PREFIX, REACTORS_MAX

EXIT_USAGE = 1
AUDIT = "audit"  # the first word of the other program, as no name server ever had one

USAGE = (
    "mqnamesrv [-c <arg>] [-h] [-n <arg>] [-p] [-D<name>=<value>] [--log-files] [--log-level <arg>] "
    "[--reactors <n>] [--version]"
)

INTRODUCTION = """\
A name server for Apache RocketMQ: brokers, producers, consumers and admin tools use it in place of the Java one.
Start it without options and point namesrvAddr at port 9876 of this machine.
What the journals of a fleet of name servers tell is a program of its own: rocketns audit --help
"""

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


@dataclass(slots=True)
class Options:
    """What the command line said. ``system`` holds the -D properties."""

    config_file: str | None = None
    print_config_items: bool = False
    log_files: bool = False
    log_level: str = "INFO"
    reactors: int | None = None
    system: dict[str, str] = field(default_factory=dict)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        print(message, file=sys.stderr)
        self.print_usage(sys.stderr)
        raise SystemExit(EXIT_USAGE)


def parse(arguments: Sequence[str]) -> Options:
    """Options from arguments. SystemExit: 0 after help or version, 1 for what is not understood."""
    parsed = _parser().parse_args(arguments)
    return Options(
        parsed.config_file,
        parsed.print_config_items,
        parsed.log_files,
        parsed.log_level,
        parsed.reactors,
        dict(parsed.system),
    )


def _parser() -> _Parser:
    parser = _Parser(
        prog="mqnamesrv",
        usage=USAGE,
        description=INTRODUCTION,
        epilog=_epilog(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("-c", "--configFile", dest="config_file", metavar="<arg>", help="Name server config properties file")
    add("-p", "--printConfigItem", dest="print_config_items", action="store_true",
        help="Print all config items and exit")  # fmt: skip
    add("-n", "--namesrvAddr", metavar="<arg>", help="Name server address list; accepted, of no effect here")
    add("-D", dest="system", action="append", default=[], type=_system_property, metavar="<name>=<value>",
        help="A Java system property, see below")  # fmt: skip
    add("--log-files", action="store_true",
        help="Log to ~/logs/rocketmqlogs/namesrv.log, where Java logs, instead of standard output")  # fmt: skip
    add("--log-level", default="INFO", choices=LEVELS, metavar="<arg>", help=f"One of {', '.join(LEVELS)}")
    add("--reactors", type=_reactors, metavar="<n>",
        help=f"Threads that carry plain connections, 0 to {REACTORS_MAX}; 0 = the asyncio loop does. "
        "Default: one for each core")  # fmt: skip
    add("--version", action="version", version=f"rocketns {__version__}")
    return parser


def _system_property(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"-D{text}: name=value expected")
    return name, value


def _reactors(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > REACTORS_MAX:
        raise argparse.ArgumentTypeError(f"{text}: a number from 0 to {REACTORS_MAX} expected")
    return int(text)


def _epilog() -> str:
    sections = [
        ("Properties of the config file (Java's NamesrvConfig)", _listed(NamesrvConfig)),
        ("Sockets (Java's NettyServerConfig)", _listed(NettyServerConfig)),
        ("Limits of rocketns", _listed(Limits, PREFIX)),
        ("The journal of rocketns", _listed(JournalConfig)),
        (
            "System properties (-Dname=value)",
            [
                f"  {FRAME_MAX_LENGTH}  bytes of the largest frame ({FRAME_BYTES_MAX})",
                "  rocketmq.home.dir  RocketMQ's installation, before the environment's ROCKETMQ_HOME; both optional",
                "  rocketmq.serialize.type  JSON or ROCKETMQ, the form of answers' headers (JSON)",
                "  rocketmq.namesrv.addr  name servers that the cluster-test mode asks, before NAMESRV_ADDR",
                "  tls.server.mode  disabled, permissive or enforcing (permissive); more tls. names are in README.md",
                "  user.home  folder that the default paths are below (the user's home)",
                "  JAVA_OPT and JAVA_OPT_EXT in the environment are read for -D too, as RocketMQ's launcher does",
            ],
        ),
        (
            "Exit status",
            ["  0 stopped by SIGTERM or SIGINT, -h or -p; 1 wrong option; 255 could not start (it says why)"],
        ),
        (
            "Signals",
            [
                "  SIGTERM, SIGINT  stop; a second one cuts a graceful wait short",
                "  SIGQUIT  print the stacks of all threads, and what waits, to standard output",
                "  SIGHUP  go on in a new log file, read TLS files and what is felt at once of the config file",
            ],
        ),
    ]
    return "\n\n".join(f"{title}:\n" + "\n".join(lines) for title, lines in sections)


def _bounds(declaration: Field[Any]) -> str:
    text = properties.bounds_text(declaration)
    return f"{text}; " if text else ""


def _listed(config: type, prefix: str = "") -> list[str]:
    return [
        f"  {prefix}{name} ({properties.show(declaration.default) or '-'})  {declaration.metadata['doc']}; "
        f"{_bounds(declaration)}"
        f"felt {declaration.metadata['effect'].value}"
        for name, declaration in properties.declared(config).items()
    ]
