"""Parses the JSON that fastjson2 2.0.59 takes and orjson refuses; ``rocketns.protocol.json.fastjson`` says what that
is.

Every character is looked at once or twice, and no pattern is matched, so that the cost of a character has a bound.
"""

from cpython.unicode cimport PyUnicode_Substring

cdef enum:
    NESTING_MAX = 128

cdef Py_UCS4 END = 0x110000  # beyond every character

cdef dict WORDS = {"null": None, "true": True, "false": False}
cdef dict ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "F": "\f", "r": "\r", "v": "\v"}
ESCAPES.update({str(code): chr(code) for code in range(8)})
ESCAPES.update({char: char for char in "\"'\\/ #&(),.@[]_~"})


cdef inline bint is_digit(Py_UCS4 char) noexcept:
    return c'0' <= char <= c'9'


cdef inline int hex_digit(Py_UCS4 char) noexcept:
    cdef int code = <int>char
    if c'0' <= code <= c'9':
        return code - c'0'
    code |= 0x20  # lower case
    return code - c'a' + 10 if c'a' <= code <= c'f' else -1


cdef class _Parser:
    cdef str text
    cdef Py_ssize_t at
    cdef Py_ssize_t end
    cdef bint numeric_keys
    cdef object number_type

    def __cinit__(self, str text, bint numeric_keys, number_type):
        self.text, self.numeric_keys, self.number_type = text, numeric_keys, number_type
        self.at, self.end = 0, len(text)

    cdef object error(self, str what):
        return ValueError(f"{what} at offset {self.at}")

    cdef inline Py_UCS4 char_at(self, Py_ssize_t at) noexcept:
        return self.text[at] if 0 <= at < self.end else END

    cdef inline Py_UCS4 peek(self) noexcept:
        return self.char_at(self.at)

    cdef bint skip_comment(self) noexcept:
        """False where there is none, or one that does not end."""
        cdef Py_UCS4 kind = self.char_at(self.at + 1)
        cdef Py_ssize_t at = self.at + 2
        if kind == c'/':
            while at < self.end and self.text[at] != c'\n':
                at += 1
            self.at = min(at + 1, self.end)
            return True
        if kind != c'*':
            return False
        while at + 1 < self.end:
            if self.text[at] == c'*' and self.text[at + 1] == c'/':
                self.at = at + 2
                return True
            at += 1
        return False

    cdef int skip_blank(self) except -1:
        cdef Py_UCS4 char
        while True:
            char = self.peek()
            if char == c' ' or 0x08 <= char <= 0x0A or 0x0C <= char <= 0x0D:
                self.at += 1
            elif char != c'/' or not self.skip_comment():
                return 0

    cdef object value(self, int depth):
        cdef Py_UCS4 first
        self.skip_blank()
        first = self.peek()
        if first == c'{' or first == c'[':
            if depth == NESTING_MAX:
                raise self.error(f"more than {NESTING_MAX} levels")
            return self.object(depth) if first == c'{' else self.array(depth)
        if first == c'"' or first == c"'":
            return self.string(first)
        return self.word_or_number()

    cdef dict object(self, int depth):
        cdef dict members = {}
        self.at += 1
        while True:
            self.skip_blank()
            if self.peek() == c'}':
                self.at += 1
                return members
            key = self.key()
            self.skip_blank()
            if self.peek() != c':':
                raise self.error("':' expected")
            self.at += 1
            members[key] = self.value(depth + 1)
            self.skip_blank()
            if self.peek() == c',':
                self.at += 1

    cdef str key(self):
        cdef Py_UCS4 first = self.peek()
        if first == c'"' or first == c"'":
            return self.string(first)
        key = self.word_or_number()
        if self.numeric_keys and isinstance(key, self.number_type):
            return str(key)
        raise self.error("unquoted key")

    cdef list array(self, int depth):
        cdef list items = []
        self.at += 1
        self.skip_blank()
        while self.peek() != c']':
            items.append(self.value(depth + 1))
            self.skip_blank()
            if self.peek() == c',':
                self.at += 1
            elif self.peek() != c']':
                raise self.error("',' or ']' expected")
            self.skip_blank()
        self.at += 1
        return items

    cdef object word_or_number(self):
        cdef Py_ssize_t end = self.number_end()
        if end:
            number = self.number_type(PyUnicode_Substring(self.text, self.at, end))
            self.at = end
            if self.peek() in (c'L', c'B', c'S', c'F', c'D'):
                self.at += 1
            return number
        for word, value in WORDS.items():
            if self.text.startswith(word, self.at):
                self.at += len(<str>word)
                return value
        raise self.error("no value")

    cdef Py_ssize_t digits_end(self, Py_ssize_t at) noexcept:
        while is_digit(self.char_at(at)):
            at += 1
        return at

    cdef Py_ssize_t number_end(self) noexcept:
        """Where the number that begins here ends, 0 where there is none: ``[+-]?(1|1.|1.1|.1)([eE][+-]?1)?``."""
        cdef Py_ssize_t first = self.at + (self.peek() == c'+' or self.peek() == c'-')
        cdef Py_ssize_t end = self.digits_end(first), digits
        if self.char_at(end) == c'.':
            digits = end - first
            end = self.digits_end(end + 1)
            if digits == 0 and end == first + 1:
                return 0
        elif end == first:
            return 0
        if self.char_at(end) == c'e' or self.char_at(end) == c'E':
            first = end + 1
            first += self.char_at(first) == c'+' or self.char_at(first) == c'-'
            digits = self.digits_end(first)
            if digits > first:
                end = digits
        return end

    cdef str string(self, Py_UCS4 quote):
        cdef list parts = []
        cdef Py_ssize_t start
        cdef bint has_surrogates = False
        cdef Py_UCS4 char
        self.at += 1
        while True:
            start = self.at
            char = self.peek()
            while char != quote and char != c'\\' and char != END:
                self.at += 1
                char = self.peek()
            if self.at > start:
                parts.append(PyUnicode_Substring(self.text, start, self.at))
            self.at += 1
            if char == quote:
                return self.joined(parts, has_surrogates)
            if char == END:
                raise self.error("the string does not end")
            part = self.escape()
            has_surrogates |= 0xD800 <= ord(part) <= 0xDFFF
            parts.append(part)

    cdef str joined(self, list parts, bint has_surrogates):
        """Two halves that two escapes made are one character."""
        cdef str text = parts[0] if len(parts) == 1 else "".join(parts)
        if has_surrogates:
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return text

    cdef str escape(self):
        cdef Py_UCS4 kind = self.peek()
        self.at += 1
        if kind == c'u':
            return self.hexadecimal(4)
        if kind == c'x':
            return self.hexadecimal(2)
        found = ESCAPES.get(kind) if kind != END else None
        if found is None:
            raise self.error("unknown escape")
        return found

    cdef str hexadecimal(self, int digits):
        cdef int code = 0, digit
        for index in range(digits):
            digit = hex_digit(self.char_at(self.at + index))
            if digit < 0:
                raise self.error("hexadecimal digits expected")
            code = code * 16 + digit
        self.at += digits
        return chr(code)


def loads(str text not None, bint numeric_keys, number_type):
    cdef _Parser parser = _Parser(text, numeric_keys, number_type)
    value = parser.value(0)
    parser.skip_blank()
    if parser.at != parser.end:
        raise parser.error("text after the value")
    return value
