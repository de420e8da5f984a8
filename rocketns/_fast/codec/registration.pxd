"""What compiled callers may use of registration.pyx."""

from libc.stdint cimport int32_t

from rocketns._fast.codec.compact_json cimport Text

# key is the topic's key in the table, and name its topicName.
cdef struct Topic:
    Text key
    Text name
    int32_t numbers[4]

cdef enum TopicState:
    NEW  # nothing is known of this topic
    CHANGED  # known, but not as the registration has it
    UNCHANGED  # known exactly so
    REPEATED  # its key came before in this registration

# Asked about each topic of one registration, in order. This class knows no topic; subclasses do.
# Except for NEW and REPEATED, look_up sets key to the topic's key as a borrowed reference to a str.
cdef class RegisteredTopics:
    cdef TopicState look_up(self, const Topic *topic, void **key) noexcept
