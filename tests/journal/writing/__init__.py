"""The writer and its files: names, bounds, retention, failing disks, power losses."""
