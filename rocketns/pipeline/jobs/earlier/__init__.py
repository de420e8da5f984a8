"""What a run keeps of closed days, so that later ones need not read them again."""
