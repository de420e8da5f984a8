"""The reactor threads: their loop, the turns of their connections, and control's side of them."""
