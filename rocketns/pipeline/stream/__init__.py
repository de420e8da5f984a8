"""Alerts within seconds, `rocketns audit stream`. The result of a batch is a pure function of memory and new events.

``servers`` finds the watermark: the moment up to which every journal has arrived. ``members`` and ``routes`` bring the
memory up to the watermark and find what is wrong at it. ``conditions`` puts that into words. ``changes`` compares it
with the open alerts. ``step`` is one batch, and ``follow`` runs the batches.
"""
