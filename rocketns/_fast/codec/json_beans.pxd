"""Nothing of json_beans.pyx is for compiled callers."""
