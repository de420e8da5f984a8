"""What the stable ABI of Python 3.11 lacks. The published wheels use it, so that one wheel fits every later Python.

Without ``Py_LIMITED_API`` these are the faster functions and macros of the one Python that is compiled for.
"""

cdef extern from *:
    """
    #ifdef Py_LIMITED_API
    static const char *rocketns_ascii_of(PyObject *text) {
        Py_ssize_t size;
        const char *bytes = PyUnicode_AsUTF8AndSize(text, &size);
        if (bytes == NULL) {
            PyErr_Clear();  /* a lone surrogate, which is not ASCII */
            return NULL;
        }
        return size == PyUnicode_GetLength(text) ? bytes : NULL;
    }
    #define rocketns_set_item(tuple, place, item) PyTuple_SetItem(tuple, place, item)
    #define rocketns_writable(bytes) PyBytes_AsString(bytes)
    #else
    #define rocketns_ascii_of(text) (PyUnicode_IS_ASCII(text) ? (const char *)PyUnicode_1BYTE_DATA(text) : NULL)
    #define rocketns_set_item(tuple, place, item) (PyTuple_SET_ITEM(tuple, place, item), 0)
    #define rocketns_writable(bytes) PyBytes_AS_STRING(bytes)
    #endif
    """
    # The text's own bytes if all of it is ASCII, else NULL.
    const char *ascii_of "rocketns_ascii_of"(str text)
    # Takes a reference to the item. The tuple is new and nobody else knows it.
    int set_item "rocketns_set_item"(object tuple, Py_ssize_t index, object item) except -1
    # Where to write the bytes of an object that nobody else knows yet.
    char *writable "rocketns_writable"(bytes text)
