"""What the simulated processes run on: one clock, processes that crash and stall, a network, and disks in memory."""
