"""Each kind of change as the page says it: nothing of a sentence may be missing, in English or in Chinese."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from rocketns.admin import api
from rocketns.admin.recent.ring import Recent
from tests.admin.api.test_words import TOLD
from tests.admin.conftest import Managed
from tests.admin.page.conftest import Open

ENGLISH = {
    "down": "b:0 at a:1 is gone: no heartbeat within its time-out (last heard 1 s before)",
    "conflict": "b:0 at a:1 was refused: a:2 has its id",
    "kv": "KV item n {k} was deleted",
    "config": "property tls.server.keyPassword is set",
    "admin": "a:1 as ops sent DELETE_TOPIC_IN_NAMESRV: done",
    "refused": "a was refused DELETE_TOPIC_IN_NAMESRV: not_granted (requests: 3)",
    "stall": "this name server did not run for 2 s",
}
CHINESE = {
    "reg": "a:1 上的 b:0 已注册",
    "back": "C 在 a:1 上的一个 Broker 已恢复：又有了心跳",
    "down": "a:1 上的 b:0 已离开：超时仍没有心跳（上次心跳在此前 1 秒）",
    "conflict": "已拒绝 a:1 上的 b:0：它的 id 由 a:2 占用",
    "kv": "KV 配置 n {k} 已删除",
    "config": "配置项 tls.server.keyPassword 已设置",
    "admin": "a:1 上的主体 ops 发来 DELETE_TOPIC_IN_NAMESRV：已完成",
    "refused": "已拒绝 a 的 DELETE_TOPIC_IN_NAMESRV：not_granted（3 个请求）",
    "stall": "本名字服务器停顿了 2 秒",
}


@pytest.mark.parametrize(("language", "says"), [("en", ENGLISH), ("zh", CHINESE)])
def test_every_change_is_a_whole_sentence(
    start_managed: Callable[[], Managed],
    open_page: Open,
    monkeypatch: pytest.MonkeyPatch,
    language: str,
    says: dict[str, str],
) -> None:
    rings: list[Recent] = []
    monkeypatch.setattr(api, "Recent", lambda live: rings.append(Recent(live)) or rings[-1])
    managed = start_managed()
    managed.call(lambda: rings[0].watch([event for event, _ in TOLD.values()], managed.clock.now()))
    page = open_page(managed, path=f"/?lang={language}")
    page.locator("#changes .stall").wait_for()
    shown = {one: page.locator(f"#changes .{one}").first.inner_text() for one in TOLD}
    assert {one: shown[one] for one in says} == says
    assert [text for text in shown.values() if re.search(r"undefined|null|NaN|never|%\(", text)] == []
