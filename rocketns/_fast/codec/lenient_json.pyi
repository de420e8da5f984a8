"""What Python callers see of lenient_json.pyx."""

from typing import Any

def loads(text: str, numeric_keys: bool, number_type: type[str]) -> Any:
    """The value of a whole text; numbers come back as ``number_type``. ValueError says where it stopped."""
