"""A journal in plain Python, for a start and for `rocketns audit explain`: lines, holes, snapshots, replay, clocks."""
