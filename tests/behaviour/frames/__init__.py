"""The parts of every request: frames, headers, PROXY headers and bodies. Also order, dispatch and overload."""
