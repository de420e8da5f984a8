"""Fills beans from parsed JSON where there are many of them: topics, queue ids, and values that are wanted as text.

Each takes what brokers write at some 100 ns a value, and gives anything else to the Python function that is passed in.
"""

cdef enum:
    CONVERTED_VALUES_MAX = 10_000  # each is some microseconds of Python
    INT_MAX = 0x7FFFFFFF
    DIGITS_MAX = 9  # so many digits are an int for sure


cdef inline bint is_int(value) except -1:
    """Whether as_int would return the value itself."""
    cdef long long number
    if type(value) is not int:
        return False
    try:
        number = value
    except OverflowError:
        return False
    return -INT_MAX - 1 <= number <= INT_MAX


cdef inline bint is_plain_topic(dict fields, read, write, perm, flag) except -1:
    name = fields.get("topicName")
    attributes = fields.get("attributes")
    return (
        (name is None or type(name) is str)
        and (attributes is None or type(attributes) is dict)
        and is_int(read) and is_int(write) and is_int(perm) and is_int(flag)
    )


cdef inline int count_odd(int *odd_values) except -1:
    odd_values[0] += 1
    if odd_values[0] > CONVERTED_VALUES_MAX:
        raise ValueError(f"more than {CONVERTED_VALUES_MAX} values that are no plain numbers")
    return 0


def topic_tables(dict table, queue_data, odd_topic, int default_queue_nums, int default_perm):
    cdef dict queues = {}, renamed = {}
    cdef int odd_values = 0
    for key, fields in table.items():
        if type(fields) is dict:
            read = (<dict>fields).get("readQueueNums", default_queue_nums)
            write = (<dict>fields).get("writeQueueNums", default_queue_nums)
            perm = (<dict>fields).get("perm", default_perm)
            flag = (<dict>fields).get("topicSysFlag", 0)
            if is_plain_topic(<dict>fields, read, write, perm, flag):
                name = (<dict>fields).get("topicName")
                queues[key] = queue_data(read, write, perm, flag)
                if name != key:
                    renamed[key] = name
                continue
        count_odd(&odd_values)
        name, queues[key] = odd_topic(fields)
        if name != key:
            renamed[key] = name
    return queues, renamed


cdef inline bint is_short_number(str text) except -1:
    """Whether text is at most DIGITS_MAX digits."""
    cdef Py_UCS4 char
    if not 0 < len(text) <= DIGITS_MAX:
        return False
    for char in text:
        if not c'0' <= char <= c'9':
            return False
    return True


def id_map(dict ids, odd_int):
    cdef dict found = {}
    cdef int odd_values = 0
    for key, value in ids.items():
        if type(key) is str and is_short_number(<str>key) and is_int(value):
            found[int(key)] = value
        else:
            count_odd(&odd_values)
            found[odd_int(key)] = odd_int(value)
    return found


def longest(dict texts not None):
    cdef Py_ssize_t found = 0
    for key in texts:
        found = max(found, len(<str>key))
    return found


cdef bint float_within(value, int levels) except -1:
    kind = type(value)
    if kind is str or kind is int:
        return False
    if levels < 0:
        raise RecursionError
    if isinstance(value, float):
        return True
    if isinstance(value, dict):
        for item in (<dict>value).values():
            if float_within(item, levels - 1):
                return True
    elif isinstance(value, list):
        for item in <list>value:
            if float_within(item, levels - 1):
                return True
    return False


def has_float(value, int levels):
    return float_within(value, levels)


cdef object shown_within(value, int levels, leaf):
    kind = type(value)
    if kind is str or kind is int:
        return value
    if levels < 0:
        raise RecursionError
    if isinstance(value, dict):
        return {
            key: shown_within(item, levels - 1, leaf) for key, item in (<dict>value).items() if item is not None
        }
    if isinstance(value, list):
        return [shown_within(item, levels - 1, leaf) for item in <list>value]
    return leaf(value)


def shown(value, int levels, leaf):
    return shown_within(value, levels, leaf)
