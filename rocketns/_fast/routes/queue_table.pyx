"""Writes queues into the table of topics, 10,000 at once, and lists them as changes; and reads them from a journal.

tests/fast/test_routes.py and tests/fast/test_registered_topics.py compare with references in Python.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.ref cimport Py_INCREF
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t
from libc.string cimport memchr, memcmp

from rocketns._fast.codec.compact_json cimport Cursor, Text, cursor_of, left, scan_text, take, match_bytes
from rocketns._fast.system.stable_abi cimport set_item

cdef extern from "Python.h":
    object PyType_GenericAlloc(type kind, Py_ssize_t count)


cdef enum:
    CHARACTERS_BITS = 8  # as rocketns/routeinfo/broker_topics.py


cdef inline object new_change(type kind, object topic, object old, object new):
    """kind(topic, old, new) of a named tuple, five times as fast: its constructor is a Python function."""
    cdef object change = PyType_GenericAlloc(kind, 3)
    Py_INCREF(topic)
    set_item(change, 0, topic)
    Py_INCREF(old)
    set_item(change, 1, old)
    Py_INCREF(new)
    set_item(change, 2, new)
    return change


def put_queues(dict topics not None, str broker_name not None, dict queues not None, renamed, bint overwrite,
               type change not None, list added not None):
    cdef list changes = []
    cdef dict brokers
    cdef Py_ssize_t count
    cdef bint has_renamed = bool(renamed)
    for topic, new in queues.items():
        if has_renamed:
            topic = renamed.get(topic, topic)
            if topic is None:
                continue
        brokers = topics.get(topic)
        if brokers is None:
            brokers = topics[topic] = {}
        count = len(brokers)
        old = brokers.setdefault(broker_name, new)  # one lookup, new or not
        if len(brokers) != count:
            added.append(topic)
            changes.append(new_change(change, topic, None, new))
        elif overwrite and old is not new and old != new:
            brokers[broker_name] = new
            changes.append(new_change(change, topic, old, new))
    return changes


def change_queues(dict topics not None, str broker_name not None, list names not None, new_of, type change not None):
    cdef list changes = []
    cdef dict brokers
    cdef object last = None, new = None
    for topic in names:
        brokers = topics[topic]
        old = brokers[broker_name]
        if old is not last:
            last, new = old, new_of(old)
        if new is not old and new != old:
            brokers[broker_name] = new
            changes.append(new_change(change, topic, old, new))
    return changes


def remove_queues(dict topics not None, str broker_name not None, list names not None):
    cdef dict brokers
    for topic in names:
        brokers = topics[topic]
        del brokers[broker_name]
        if not brokers:
            del topics[topic]


def keep_unit_topics(list changes not None, dict unit_topics not None, long flags):
    cdef object last = None, new
    cdef bint is_unit = False
    for change in changes:
        new = (<tuple>change)[2]
        if new is not last:  # a registration has few kinds of queues
            last, is_unit = new, (<long>new.topic_sys_flag) & flags != 0
        if is_unit:
            unit_topics[(<tuple>change)[0]] = None
        elif (<tuple>change)[1] is not None:
            unit_topics.pop((<tuple>change)[0], None)


def routes_of(list names not None, Py_ssize_t start):
    cdef Py_ssize_t index, routes = 0
    for index in range(start, len(names)):
        routes += 1 + (len(<str>names[index]) >> CHARACTERS_BITS)
    return routes


def put_known(dict topics not None, str broker_name not None, dict queues not None):
    cdef dict brokers
    for topic, new in queues.items():
        brokers = topics.get(topic)
        if brokers is None:
            brokers = topics[topic] = {}
        brokers[broker_name] = new


def add_changes(dict piece not None, str topic not None, dict brokers not None, type change not None):
    cdef list changes
    for broker_name, queues in brokers.items():
        changes = piece.get(broker_name)
        if changes is None:
            changes = piece[broker_name] = []
        changes.append(new_change(change, topic, None, queues))


cdef enum:
    NUMBERS_MAX = 64  # bytes of ,"r":8,"w":8,"p":6,"s":0


def read_queues(const unsigned char[::1] line not None, Py_ssize_t start, read_numbers):
    cdef Cursor cursor = cursor_of(line)
    cdef Text name
    cdef const uint8_t *numbers
    cdef const uint8_t *last_at = NULL
    cdef Py_ssize_t length, last_length = -1
    cdef dict queues = {}
    cdef object last = None
    if not 0 <= start <= line.shape[0]:
        return None
    cursor.at += start
    while True:
        if not match_bytes(&cursor, b'{"t":', 5) or not scan_text(&cursor, &name):
            return None
        numbers = cursor.at - 1
        cursor.at = <const uint8_t *>memchr(numbers, c'}', min(left(&cursor) + 1, <size_t>NUMBERS_MAX))
        if cursor.at == NULL:
            return None
        length = cursor.at - numbers
        if length != last_length or memcmp(numbers, last_at, length) != 0:
            last = read_numbers(PyBytes_FromStringAndSize(<const char *>numbers, length))
            if last is None:
                return None
            last_at, last_length = numbers, length
        try:
            queues[PyUnicode_DecodeUTF8(<const char *>name.start, <Py_ssize_t>name.length, NULL)] = last
        except UnicodeDecodeError:
            return None
        cursor.at += 1
        if not take(&cursor, c','):
            return queues if match_bytes(&cursor, b"]}\n", 3) and left(&cursor) == 0 else None
