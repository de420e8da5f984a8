"""The command line `rocketns audit`: options and help, what each command runs, the exit status."""
