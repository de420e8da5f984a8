"""How far the clocks of name servers differ, in plain Python: the rules that jobs on data frames follow, too."""
