"""Alerts within seconds, `rocketns audit stream`. The result of a batch is a pure function of memory and new events.

``memory`` finds the watermark: the moment up to which every journal has arrived. It brings members and routes up to
it, and finds what is wrong at it. ``conditions`` puts that into words, and compares it with the open alerts. ``step``
is one batch, and ``follow`` runs the batches.
"""
