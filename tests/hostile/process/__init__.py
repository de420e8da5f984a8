"""What happens to the process: signals, kills, stops, supervisors, full disks, taken ports."""
