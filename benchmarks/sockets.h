/* Reads and writes of a socket, and of a TLS session on it in programs that are compiled with -DTLS.
 *
 * A server answers plain connections as well: the first byte of a connection decides, as for a name server by default.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef TLS
static inline ssize_t socket_read(int fd, void *into, size_t room) { return read(fd, into, room); }
static inline ssize_t socket_write(int fd, const void *from, size_t size) { return write(fd, from, size); }
static inline void socket_close(int fd) { close(fd); }
#else
#include <openssl/ssl.h>

enum { SESSIONS_MAX = 65536, HELLO = 0x16 };

static SSL_CTX *server;                                              /* NULL in a client */
static SSL *sessions[SESSIONS_MAX];                                    /* by descriptor */

/* 0 if the peer has closed, else -1 and an errno. */
static inline ssize_t failed(SSL *session, int result) {
    int error = SSL_get_error(session, result);
    errno = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? EAGAIN : EPROTO;
    return error == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

static inline SSL *session_of(int fd) {
    unsigned char first;
    if (sessions[fd] || !server || recv(fd, &first, 1, MSG_PEEK) != 1 || first != HELLO) return sessions[fd];
    if (!(sessions[fd] = SSL_new(server)) || !SSL_set_fd(sessions[fd], fd)) abort();
    SSL_set_accept_state(sessions[fd]);
    return sessions[fd];
}

/* All that is there, or as much as there is room for: less than ``room`` means that nothing is left. */
static inline ssize_t socket_read(int fd, void *into, size_t room) {
    SSL *session = session_of(fd);
    if (!session) return read(fd, into, room);
    size_t have = 0;
    int got = 0;
    while (have < room && (got = SSL_read(session, (char *)into + have, room - have)) > 0) have += got;
    return have ? (ssize_t)have : failed(session, got);
}

static inline ssize_t socket_write(int fd, const void *from, size_t size) {
    if (!sessions[fd]) return write(fd, from, size);
    int sent = SSL_write(sessions[fd], from, size);
    return sent > 0 ? sent : failed(sessions[fd], sent);
}

static inline void socket_close(int fd) {
    if (sessions[fd]) SSL_free(sessions[fd]);
    sessions[fd] = NULL;
    close(fd);
}

/* A server's key and certificate, from one file. 0 if they cannot be used. */
static inline int use_pair(const char *path) {
    server = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_mode(server, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    return SSL_CTX_use_certificate_chain_file(server, path) && SSL_CTX_use_PrivateKey_file(server, path, SSL_FILETYPE_PEM);
}

/* A client's handshake, on a connection that waits. Any certificate will do. Afterwards the connection does not wait. */
static inline int shake_hands(int fd) {
    static SSL_CTX *client;
    if (!client) client = SSL_CTX_new(TLS_client_method());
    if (!(sessions[fd] = SSL_new(client)) || !SSL_set_fd(sessions[fd], fd) || SSL_connect(sessions[fd]) != 1) return 0;
    return fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
}
#endif
