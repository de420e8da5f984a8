"""Servers with other settings: binary answers, cluster test, files after a restart, shutdown (B033, B080, B105 …)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from interop.parity.language import (
    BOTH_ENCODINGS,
    EVERY_FORM,
    NAME,
    ONE_FORM,
    VERSIONS,
    Form,
    Quiet,
    Request,
    Restart,
    SameFile,
    Scenario,
    Send,
    Settle,
    Step,
    Terminate,
    Until,
)
from interop.parity.phrases import (
    ask,
    cluster_info,
    configure,
    get,
    heartbeat,
    kv_list,
    lists,
    members,
    put,
    query_version,
    register,
    route,
    routes,
    show,
    unregister,
    wipe,
)


def _binary_answers() -> Iterator[Scenario]:
    """rocketmq.serialize.type=ROCKETMQ, against ROCKETMQ_SERIALIZE_TYPE=JSON in the environment."""

    def binary(name: str, rows: str, *steps: Step) -> Scenario:
        return Scenario(f"binary-answers-{name}", f"B033 B034 {rows}", steps, setup="binary", forms=EVERY_FORM)

    slave = register(host=2, broker_id=1)
    yield binary("to-brokers", "B008 B113", register(), slave, query_version(), heartbeat(), unregister(), Settle())
    yield binary("to-clients", "B197", register(), *routes("T", "none"), route(), members())
    yield binary(
        "to-tools", "B098 B219", put(), get(), get("none"), kv_list(), wipe(), *lists(), show(), cluster_info()
    )
    yield binary("of-errors", "B076", ask(9999), ask(103), ask(901), ask(101), put("ü", "ü€😀"), get("ü"), put("e", ""))


def _cluster_test() -> Iterator[Scenario]:
    """clusterTest=true, and ROCKETMQ_SERIALIZE_TYPE=ROCKETMQ in the environment alone."""
    every = (100, 103, 104, 105, 106, 206, 319, 322, 901, 904, 9999)
    asked = [*((code, {"topic": "T" + NAME}) for code in every), (105, None), (105, {})]
    steps = [(*(ask(code, ext, form=form) for code, ext in asked), register(form=form), route(form=form))
             for form in BOTH_ENCODINGS]  # fmt: skip
    yield Scenario("cluster-test", "B034 B248", (*chain(*steps),), setup="cluster-test", forms=ONE_FORM, state=False)


def _files() -> Iterator[Scenario]:
    kept = {"namespace": "kept"}
    steps = (
        show(), ask(219, kept), ask(101, kept | {"key": "u"}), put(), SameFile("kv.json"), SameFile("kv.json.bak"),
        configure("productEnvName=x\n"), configure("customUnknown=x\n"), configure("customEmpty=now\n"),
        SameFile("namesrv.properties"), SameFile("namesrv.properties.bak"), show(),
        configure("waitSecondsForService=46\norderMessageEnable=true\nnot=stored"), SameFile("namesrv.properties"),
        SameFile("namesrv.properties.bak"), register(), *routes("T"), Restart(), *routes("T"), cluster_info(), show(),
        get(), kv_list(), ask(219, kept), *lists(), register(), *routes("T"),
    )  # fmt: skip
    rows = "B034 B105 B108 B234 B235 B236 B238 B247 B250"
    yield Scenario("files-that-outlive-the-server", rows, steps, setup="files", forms=ONE_FORM)


def _leaving() -> Iterator[Scenario]:
    """SIGTERM with enableShutdownGracefully: peers that understand it are asked to go away, the others are served."""
    new = Form(False, 513)
    forms = tuple(Form(binary, version) for version in (*VERSIONS, 476) for binary in (False, True))
    steps = (
        register(), Terminate(), Until(Request(219, form=new), code=1500),
        *(get(form=form, on=f"{form}") for form in forms), *(route(form=form) for form in forms),
        ask(9999), register(("N", "M"), name="b", host=2, form=Form(False, 475)), route("N", form=Form(False, 475)),
        register(("O", "P"), name="c", host=3, form=new), route("O", form=Form(False, 475)),
        Send(Request(219, form=new, flag=2)), Quiet(),
    )  # fmt: skip
    yield Scenario("shutdown-gracefully", "B080 B081", steps, setup="differences", forms=ONE_FORM, state=False)


def _next_release() -> Iterator[Scenario]:
    """Every answer has the version, and code 17 an address: in both encodings."""
    for form in BOTH_ENCODINGS:
        asked = (
            register(), *lists(), *routes("T", "none"), route("none"), cluster_info(), members(), query_version(),
            put(), get(), get("none"), kv_list(), wipe(), ask(9999), ask(103), show(), unregister(), Settle(),
        )  # fmt: skip
        yield Scenario(f"answers-of-5.5.1-{form}", "", asked, setup="release-5.5.1", forms=(form,))


SCENARIOS = (*_next_release(), *_binary_answers(), *_cluster_test(), *_files(), *_leaving())
