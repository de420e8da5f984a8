"""``python -m tests.check.documents.chinese [--relink]``: what is wrong with the Chinese texts.

``--relink`` first leads links to Chinese pages and headings that came since.
"""

from __future__ import annotations

import sys

from tests.check.documents.chinese.compare import differences
from tests.check.documents.chinese.targets import relinked, twins
from tests.check.documents.chinese.texts import wrong
from tests.check.source import ROOT

if "--relink" in sys.argv[1:]:
    for english, chinese in twins(ROOT):
        chinese.write_text(relinked(ROOT, english, chinese), "utf-8")
found = [*wrong(ROOT), *differences(ROOT)]
print("\n".join(found) or "The Chinese texts agree with the glossary and with the English pages.")
sys.exit(bool(found))
