"""A server that may make only the system calls it needs: the image's seccomp profile and the service unit's filter."""
