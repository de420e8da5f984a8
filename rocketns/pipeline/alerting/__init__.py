"""What the stream decides in each batch: pure functions of its memory and of what arrived, without a clock.

``servers`` says up to which moment every journal is there, the cut. ``members`` and ``routes`` bring the memory up to
it and name what is wrong there, ``conditions`` puts that into words, and ``changes`` tells which of it is new and which
is over. ``step`` is one batch.
"""
