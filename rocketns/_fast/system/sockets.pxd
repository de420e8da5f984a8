"""The system calls of a reactor that Cython's declarations of libc lack. Any thread."""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint32_t, uint64_t

from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

cdef extern from "<sys/epoll.h>" nogil:
    ctypedef union epoll_data_t:
        uint64_t u64
    struct epoll_event:
        uint32_t events
        epoll_data_t data
    int epoll_create1(int flags)
    int epoll_ctl(int epoll_fd, int operation, int fd, epoll_event *event)
    const int EPOLL_CLOEXEC, EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_MOD
    const uint32_t EPOLLIN, EPOLLOUT, EPOLLERR, EPOLLHUP, EPOLLONESHOT

cdef extern from "<sys/eventfd.h>" nogil:
    int eventfd(unsigned int count, int flags)
    const int EFD_CLOEXEC, EFD_NONBLOCK

cdef extern from "<sys/socket.h>" nogil:
    ctypedef unsigned int socklen_t
    struct sockaddr:
        pass
    struct sockaddr_storage:
        pass
    int accept4(int fd, sockaddr *address, socklen_t *length, int flags)
    int setsockopt(int fd, int level, int name, const void *value, socklen_t length)
    const int AF_INET, AF_INET6
    const int SOCK_NONBLOCK, SOCK_CLOEXEC, SOL_SOCKET, SO_SNDBUF, SO_RCVBUF, MSG_PEEK, MSG_NOSIGNAL, MSG_DONTWAIT

cdef extern from * nogil:
    """
    #include <sys/epoll.h>
    #include <sys/socket.h>
    #include <sys/syscall.h>
    #include <unistd.h>
    /* libc's functions are cancellation points, which costs two atomic operations each. A reactor is never cancelled. A
       sanitizer's build uses libc's functions, because the sanitizer knows what they read and write. */
    #if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(SYS_recvfrom) || !defined(SYS_sendto)
    #define rocketns_epoll_wait epoll_wait
    #define rocketns_recv recv
    #define rocketns_send send
    #else
    static inline int rocketns_epoll_wait(int epoll_fd, struct epoll_event *events, int most, int timeout_ms) {
        return (int)syscall(SYS_epoll_pwait, epoll_fd, events, most, timeout_ms, NULL, 0);
    }
    static inline ssize_t rocketns_recv(int fd, void *data, size_t room, int flags) {
        return syscall(SYS_recvfrom, fd, data, room, flags, NULL, NULL);
    }
    static inline ssize_t rocketns_send(int fd, const void *data, size_t size, int flags) {
        return syscall(SYS_sendto, fd, data, size, flags, NULL, 0);
    }
    #endif
    """
    int epoll_wait "rocketns_epoll_wait"(int epoll_fd, epoll_event *events, int most, int timeout_ms)
    ssize_t recv "rocketns_recv"(int fd, void *data, size_t room, int flags)
    ssize_t send "rocketns_send"(int fd, const void *data, size_t size, int flags)

cdef extern from "<stdio.h>" nogil:
    int asprintf(char **text, const char *format, ...)

cdef extern from "<netinet/in.h>" nogil:
    const int IPPROTO_TCP

cdef extern from "<netinet/tcp.h>" nogil:
    const int TCP_NODELAY

cdef extern from "<arpa/inet.h>" nogil:
    int inet_pton(int family, const char *text, void *packed)
    const char *inet_ntop(int family, const void *packed, char *text, unsigned int room)

cdef extern from "<netdb.h>" nogil:
    int getnameinfo(const sockaddr *address, socklen_t length, char *host, socklen_t host_room, char *port,
                    socklen_t port_room, int flags)
    const int NI_NUMERICHOST, NI_NUMERICSERV


cdef inline int64_t monotonic_ms() noexcept nogil:
    """The clock that `rocketns.server.clock.Clock` reads."""
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return <int64_t>now.tv_sec * 1000 + now.tv_nsec // 1_000_000


cdef inline int64_t monotonic_ns() noexcept nogil:
    """The same clock, in nanoseconds."""
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return <int64_t>now.tv_sec * 1_000_000_000 + now.tv_nsec


cdef inline void set_int(int fd, int level, int name, int value) noexcept nogil:
    """A socket option; one that cannot be set is left alone."""
    setsockopt(fd, level, name, &value, sizeof(value))
