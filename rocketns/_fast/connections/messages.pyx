"""The kinds of messages and the endings of connections as Python enums. The queue is inline in messages.pxd."""
