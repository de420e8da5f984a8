"""Clients of package registries that are not in the table of clients, and why: name, observed failure."""

LEFT_OUT: tuple[tuple[str, str], ...] = (
    (
        "npm `apache-rocketmq` 1.0.0-rc1",
        "its installation stops at `assert(major >= 8 && major <= 10)`: of Debian it knows no later release, and its "
        "native library would come from a web server",
    ),
    (
        "PyPI `rocketmq-client-python` 2.0.0",
        "`ImportError: rocketmq dynamic library not found`: it needs a librocketmq that no package registry has",
    ),
    (
        "C++ `rocketmq-client-cpp`",
        "in none of Debian, PyPI and npm; its library is in the Python client `rocketmq`. The C++ gRPC client was not "
        "found in Debian and not looked for elsewhere",
    ),
    (
        "crates.io `rocketmq` 5.0.0 (gRPC)",
        "shown through the proxy until November 2026; it asks no name server, and compiling it takes minutes",
    ),
    ("crates.io `rocketmq-rust` 0.9.0", "holds locks and schedulers, no client"),
    (
        "crates.io `rocketmq-client-v4` 0.4.2",
        "panics with ``missing field `extFields` `` at the first answer without any, also with the Java name server",
    ),
)
