"""What Python callers see of binary_header.pyx."""

# code, language, version, opaque, flag, ext fields (None where there is no section), where the fields ended in `data`
Parsed = tuple[int, int, int, int, int, dict[str, str | None] | None, int]

def parse(data: bytes | memoryview, start: int, header_length: int, fields_max: int) -> Parsed:
    """The header at ``start``. ValueError, with the reason, where Java closes the connection.

    As in Java the fields may end behind ``header_length``, but not behind ``data``. More than ``fields_max`` ext
    fields are refused.
    """
