"""What the compiler checks: a wrong size does not compile."""

cdef extern from * nogil:
    """
    /* An expression without a value, so that it can stand wherever Cython writes a call. */
    #define rocketns_assert_equal(one, other) \\
        ((void)sizeof(struct { _Static_assert((one) == (other), #one " == " #other); char unused; }))
    """
    void assert_equal "rocketns_assert_equal"(size_t one, size_t other) noexcept
