"""Requests in both header forms, and GET_ROUTEINFO_BY_TOPIC as clients send it; everything else is for control.

The compiled twin of ``rocketns.protocol.command.decode``, and of ``headers.decode_header`` for this one request;
tests/fast/test_lookup.py holds them together. What is read here is well formed there, with the same numbers. Fields
that do not touch the answer may be there in any number.
"""

from libc.stdint cimport INT32_MAX
from libc.string cimport memcpy, strlen

from rocketns._fast.codec.compact_json cimport (
    COMPLETE, NOT_BEGUN, Cursor, Reading, is_text, left, match_bytes, next_member, scan_int, skip_plain, skip_value,
    take
)
from rocketns._fast.codec.wire cimport (
    CODE_AT, FIELDS_LENGTH_AT, FIXED_BYTES, FLAG_AT, HEAD_BYTES, HEADER_LENGTH_MASK, HEADER_WORD_AT, LANGUAGE_AT,
    OPAQUE_AT, REMARK_LENGTH_AT, SERIALIZE_JSON, SERIALIZE_ROCKETMQ, SERIALIZE_TYPE_SHIFT, VERSION_AT, read_int16,
    read_uint32, read_pair
)

cdef enum:
    GET_ROUTEINFO_BY_TOPIC = 105
    V4_9_4 = 401
    TOPIC_BYTES_MAX = 1024
    HEADER_VALUES_MAX = 65_536  # values are counted in control; in a header of fewer bytes there are not more
    LANGUAGES = 14

cdef const char *language_names[LANGUAGES]
language_names[:] = [
    "JAVA", "CPP", "DOTNET", "PYTHON", "DELPHI", "ERLANG", "RUBY", "OTHER", "HTTP", "GO", "PHP", "OMS", "RUST",
    "NODE_JS",
]

# Members of a JSON header, as bits.
cdef enum:
    CODE = 1
    FLAG = 2
    OPAQUE = 4
    VERSION = 8
    LANGUAGE = 16
    EXT_FIELDS = 32
    SERIALIZE_TYPE = 64
    REMARK = 128
    OF_REQUEST = CODE | OPAQUE
    OF_LOOKUP = CODE | OPAQUE | VERSION | EXT_FIELDS

# Ext fields, as bits.
cdef enum:
    TOPIC = 1
    ACCEPT_STANDARD_JSON_ONLY = 2
    ANNOUNCED = 4


cdef inline bint is_printable(const Text *text) noexcept nogil:
    """Whether the text is the same in JSON: printable ASCII without quote and backslash."""
    cdef Cursor cursor
    cursor.at, cursor.end = text.start, text.start + text.length
    skip_plain(&cursor, True)
    return cursor.at == cursor.end


cdef inline void read_printable(Cursor *cursor, Text *text) noexcept nogil:
    """What is the same in JSON, up to the end of the string."""
    text.start = cursor.at
    skip_plain(cursor, True)
    text.length = <size_t>(cursor.at - text.start)


cdef inline bint scan_printable(Cursor *cursor, Text *text) noexcept nogil:
    if not take(cursor, c'"'):
        return False
    read_printable(cursor, text)
    return take(cursor, c'"')


cdef bint read_ext_field(RouteRequest *request, const Text *key, const Text *value, int *seen) noexcept nogil:
    """One ext field; False where a lookup with it needs the reference."""
    cdef int field
    cdef bint is_read
    if is_text(key, "topic", 5):
        field, request.topic = TOPIC, value[0]
        is_read = 0 < value.length <= TOPIC_BYTES_MAX and is_printable(value)
    elif is_text(key, "acceptStandardJsonOnly", 22):
        field, request.standard = ACCEPT_STANDARD_JSON_ONLY, is_text(value, "true", 4)
        is_read = request.standard or is_text(value, "false", 5)
    elif is_text(key, "announcedAddresses", 18):
        field, request.wants_announced = ANNOUNCED, is_text(value, "true", 4)
        is_read = request.wants_announced or is_text(value, "false", 5)
    else:
        if is_text(key, "Signature", 9) and value.length:
            request.is_signed, request.signature = True, value[0]
        return not is_text(key, "__ZONE_MODE", 11) and not is_text(key, "__ZONE_NAME", 11)
    is_read = is_read and not seen[0] & field
    seen[0] |= field
    return is_read


cdef bint scan_ext_fields(Cursor *cursor, RouteRequest *request) noexcept nogil:
    cdef Text key, value
    cdef int seen = 0
    cdef Reading reading = NOT_BEGUN
    while next_member(cursor, &reading, &key):
        if not is_printable(&key) or not scan_printable(cursor, &value):
            return False
        request.is_lookup &= read_ext_field(request, &key, &value, &seen)
    request.is_lookup &= seen & TOPIC != 0
    return reading == COMPLETE


cdef int language_code(const Text *text) noexcept nogil:
    """LanguageCode of a name."""
    cdef int code
    for code in range(LANGUAGES):
        if is_text(text, language_names[code], strlen(language_names[code])):
            return code
    return NO_LANGUAGE


cdef bint read_json(Cursor *cursor, RouteRequest *request) noexcept nogil:
    cdef Text key, text
    cdef int seen = 0, member
    cdef bint is_read
    cdef Reading reading = NOT_BEGUN
    while next_member(cursor, &reading, &key):
        if is_text(&key, "code", 4):
            member, is_read = CODE, scan_int(cursor, &request.code)
        elif is_text(&key, "flag", 4):
            member, is_read = FLAG, scan_int(cursor, &request.flag)
        elif is_text(&key, "opaque", 6):
            request.opaque_digits.start = cursor.at
            member, is_read = OPAQUE, scan_int(cursor, &request.opaque)
            request.opaque_digits.length = <size_t>(cursor.at - request.opaque_digits.start)
        elif is_text(&key, "version", 7):
            member, is_read = VERSION, scan_int(cursor, &request.version)
        elif is_text(&key, "language", 8):
            member, is_read = LANGUAGE, scan_printable(cursor, &text)
            request.language_code = language_code(&text) if is_read else NO_LANGUAGE
        elif is_text(&key, "extFields", 9):
            request.ext.start = cursor.at
            member, is_read = EXT_FIELDS, scan_ext_fields(cursor, request)
            request.ext.length = <size_t>(cursor.at - request.ext.start)
        elif is_text(&key, "serializeTypeCurrentRPC", 23):
            member, is_read = SERIALIZE_TYPE, scan_printable(cursor, &text)
        elif is_text(&key, "remark", 6):
            member, is_read = REMARK, skip_value(cursor, 0, False)
        else:
            return False
        if not is_read or seen & member:
            return False
        seen |= member
    take(cursor, c'\n')  # the C++ client's writer ends with it
    request.is_lookup &= seen & OF_LOOKUP == OF_LOOKUP
    return reading == COMPLETE and left(cursor) == 0 and seen & OF_REQUEST == OF_REQUEST


cdef bint read_binary(Cursor *cursor, RouteRequest *request) noexcept nogil:
    """Takes a header without remark whose fields end with it. Control decodes everything else."""
    cdef const uint8_t *head = cursor.at
    cdef Text key, value
    cdef int seen = 0
    if left(cursor) < FIXED_BYTES or read_uint32(head + REMARK_LENGTH_AT) != 0:
        return False
    request.code, request.flag = read_int16(head + CODE_AT), <int32_t>read_uint32(head + FLAG_AT)
    request.language_code = head[LANGUAGE_AT]
    request.version = read_int16(head + VERSION_AT)
    request.opaque = <int32_t>read_uint32(head + OPAQUE_AT)
    cursor.at += FIXED_BYTES
    if read_uint32(head + FIELDS_LENGTH_AT) != left(cursor):
        return False
    request.ext.start, request.ext.length = cursor.at, left(cursor)
    while left(cursor):
        if not read_pair(cursor, INT32_MAX, &key, &value):
            return False
        request.is_lookup &= read_ext_field(request, &key, &value, &seen)
    request.is_lookup &= seen & TOPIC != 0
    return True


cdef bint read_request(const uint8_t *frame, size_t size, RouteRequest *request) noexcept nogil:
    """Whether a whole frame, as `wire.frame_size` found it, is a request that needs no reference."""
    cdef Cursor cursor
    cdef uint32_t word = read_uint32(frame + HEADER_WORD_AT)
    cdef size_t header_length = word & HEADER_LENGTH_MASK
    cdef bint is_read
    if header_length > size - HEAD_BYTES or header_length > HEADER_VALUES_MAX:
        return False
    cursor.at = frame + HEAD_BYTES
    cursor.end = cursor.at + header_length
    request.flag = 0
    request.is_lookup = True  # until something says otherwise
    request.topic.length = request.opaque_digits.length = 0
    request.language_code = NO_LANGUAGE
    request.standard = request.is_signed = request.wants_announced = False
    request.is_binary = word >> SERIALIZE_TYPE_SHIFT == SERIALIZE_ROCKETMQ
    request.has_body = header_length != size - HEAD_BYTES
    if request.is_binary:
        is_read = read_binary(&cursor, request)
    else:
        is_read = word >> SERIALIZE_TYPE_SHIFT == SERIALIZE_JSON and read_json(&cursor, request)
    request.is_lookup &= request.code == GET_ROUTEINFO_BY_TOPIC and request.flag == 0
    request.standard = request.standard or request.version >= V4_9_4
    return is_read


cdef bint recognise_request(const uint8_t *frame, size_t size, RouteRequest *request) noexcept nogil:
    """Whether it is a lookup that needs no reference."""
    return read_request(frame, size, request) and request.is_lookup


cdef bint learn_layout(const uint8_t *frame, size_t size, const RouteRequest *request, Layout *layout) noexcept nogil:
    """From a recognised request; False where it has none: a binary one, texts in another order, too long."""
    cdef const uint8_t *at = frame + HEAD_BYTES
    cdef const uint8_t *end = at + (read_uint32(frame + HEADER_WORD_AT) & HEADER_LENGTH_MASK)
    cdef Layout learnt
    cdef uint8_t *out = learnt.data
    cdef Text texts[LAYOUT_PARTS]
    cdef size_t length
    cdef int part
    if request.is_binary:
        return False
    texts[0].start, texts[0].length = request.topic.start, 0
    if request.is_signed:
        texts[0] = request.signature
    texts[1], texts[2] = request.topic, request.opaque_digits
    texts[3].start, texts[3].length = end, 0
    for part in range(LAYOUT_PARTS):
        length = <size_t>(texts[part].start - at)
        if texts[part].start < at or length > <size_t>(learnt.data + LAYOUT_BYTES_MAX - out):
            return False
        memcpy(out, at, length)
        out += length
        learnt.parts[part] = <uint32_t>length
        at = texts[part].start + texts[part].length
    learnt.before_ext = <uint32_t>(request.ext.start - frame)
    learnt.ext_behind_topic = <uint32_t>(request.ext.start + request.ext.length - texts[1].start - texts[1].length)
    learnt.request = request[0]
    layout[0] = learnt
    return True


cdef inline bint match_part(Cursor *cursor, const uint8_t **expected, uint32_t length) noexcept nogil:
    """The next bytes of a layout."""
    cdef bint taken = match_bytes(cursor, <const char *>expected[0], length)
    expected[0] += length
    return taken


cdef bint follows_layout(
    const uint8_t *frame, size_t size, const Layout *layout, RouteRequest *request
) noexcept nogil:
    """Whether a frame is a lookup like the one that the layout was learnt from."""
    cdef Cursor cursor
    cdef uint32_t word = read_uint32(frame + HEADER_WORD_AT)
    cdef const uint8_t *expected = layout.data
    if layout.parts[0] == 0 or word > size - HEAD_BYTES:  # of JSON the serialize type is 0
        return False
    cursor.at = frame + HEAD_BYTES
    cursor.end = cursor.at + word
    if not match_part(&cursor, &expected, layout.parts[0]):
        return False
    request[0] = layout.request
    request.has_body = word != size - HEAD_BYTES
    if request.is_signed:
        read_printable(&cursor, &request.signature)
        if request.signature.length == 0 or not match_part(&cursor, &expected, layout.parts[1]):
            return False
    read_printable(&cursor, &request.topic)
    request.ext.start = frame + layout.before_ext
    request.ext.length = <size_t>(cursor.at - request.ext.start) + layout.ext_behind_topic
    if not 0 < request.topic.length <= TOPIC_BYTES_MAX or not match_part(&cursor, &expected, layout.parts[2]):
        return False
    if not scan_int(&cursor, &request.opaque) or left(&cursor) != layout.parts[3]:
        return False
    return match_part(&cursor, &expected, layout.parts[3])
