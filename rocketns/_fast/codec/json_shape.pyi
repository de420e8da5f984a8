"""What Python callers see of json_shape.pyx."""

def count_values(text: bytes | memoryview, most: int) -> int:
    """How many commas, colons and opening brackets JSON text has: about one for each list item, two for each member.

    That is what the objects made of the text cost. Those in strings may be counted too, where that makes no difference
    to whether there are more than ``most``. The count ends beyond ``most``.
    """

def quote_numeric_keys(text: bytes | memoryview) -> bytes | None:
    """The text with quotes around member names that are whole numbers; None where there are no such names."""

def without_blanks(text: bytes | bytearray | memoryview) -> bytes | None:
    """The text without the blanks of JSON between its tokens; None where there are none.

    If the result is JSON, the text is JSON with the same value.
    """
