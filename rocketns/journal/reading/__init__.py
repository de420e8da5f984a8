"""A journal read in plain Python, by a start and by `rocketns audit explain`: lines, holes, snapshots, replay."""
