"""The Chinese texts keep to docs/zh/glossary.md, and each rule finds a planted violation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.check.documents.chinese import glossary, texts
from tests.check.documents.chinese.glossary import Term, faults
from tests.check.source import ROOT

TERMS = [
    Term("name server", ("名字服务器",), ("名称服务器", "名字服务", "Name Server")),
    Term("broker", ("Broker",), ("broker", "代理服务器")),
    Term("answer", ("响应",), ("应答",)),
]
ROW = "| broker | Broker | broker、代理服务器 | |\n"
MESSAGE = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=utf-8\\n"\n\nmsgid "no answer"\nmsgstr "没有应答"\n'


def test_the_chinese_texts_keep_to_the_glossary() -> None:
    found = list(texts.wrong(ROOT))
    assert not found, "\n".join(found)


def test_the_index_names_each_chinese_page() -> None:
    index = (ROOT / "docs/zh/index.md").read_text("utf-8")
    pages = [page.name for page in (ROOT / "docs/zh").glob("*.md") if page.name != "index.md"]
    assert [name for name in pages if f"]({name})" not in index] == [], "Next step: a row in docs/zh/index.md"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("名称服务器停了。", "名称服务器: write 名字服务器"),
        ("这个名字服务停了。", "名字服务: write 名字服务器"),
        ("这个 broker 停了。", "broker: write Broker"),
        ("没有应答。", "应答: write 响应"),
        ("停了,然后重启。", "half-width punctuation: 了,"),
        ("停了(两次)。", "half-width punctuation: 了("),
        ("停了 3次。", "no blank between Chinese and Latin: 3次"),
        ("设置`a`后重启。", "no blank between Chinese and Latin: 置`"),
    ],
)
def test_a_planted_fault_is_found(text: str, reason: str) -> None:
    assert (2, reason) in list(faults(f"\n{text}\n", TERMS))


@pytest.mark.parametrize(
    "text",
    [
        "名字服务器给出响应。",
        "执行 `mqadmin clusterList -n broker:9876` 后，见[这里](../broker.md#name)。",
        "    rocketns get broker  # 应答\n",
        "```yaml\nbroker: 名称服务器\n```\n",
        "有 %(n)d 个 Broker（brokerName 为 %(broker)s）。",
    ],
)
def test_code_and_the_right_words_pass(text: str) -> None:
    assert list(faults(text, TERMS)) == []


def test_a_message_may_name_a_field_but_not_use_it_as_a_word() -> None:
    assert list(faults("字段有 namespace、broker；", TERMS, prose=False)) == []
    assert list(faults("每个 broker 都停了。", TERMS, prose=False)) == [(1, "broker: write Broker")]


def test_a_fault_in_a_catalogue_is_named_with_its_file_and_line(tmp_path: Path) -> None:
    folder = tmp_path / texts.CATALOGUES
    folder.mkdir(parents=True)
    (folder / "doctor.po").write_text(MESSAGE, "utf-8")
    assert list(texts.messages(tmp_path)) == [(f"{texts.CATALOGUES}/doctor.po", 5, "没有应答")]


def test_the_glossary_is_read_from_its_rows(tmp_path: Path) -> None:
    assert glossary.terms(page(tmp_path, ROW)) == [Term("broker", ("Broker",), ("broker", "代理服务器"))]


@pytest.mark.parametrize("row", ["| proxy | broker | 委托 | |\n", "| proxy | | 委托 | |\n"])
def test_a_glossary_that_asks_for_a_forbidden_word_or_for_none_is_refused(tmp_path: Path, row: str) -> None:
    with pytest.raises(ValueError, match="no word, or one that another row asks for"):
        glossary.terms(page(tmp_path, ROW + row))


def page(root: Path, rows: str) -> Path:
    (root / glossary.PAGE).parent.mkdir(parents=True)
    (root / glossary.PAGE).write_text("| English | 中文 | 不用 | 依据 |\n|---|---|---|---|\n" + rows, "utf-8")
    return root
