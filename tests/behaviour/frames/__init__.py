"""What any request is made of: frames, headers, PROXY headers and bodies; and order, dispatch and overload."""
