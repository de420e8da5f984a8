/* nsbulk: as many route lookups as a server can answer, from a client that uses as little CPU as it can.
 *
 *   nsbulk PORT CONNECTIONS DEPTH json|rocketmq TOPICS SECONDS
 *
 * Each connection asks for one topic only. Its first answer is read and checked. All its answers have the same size, so
 * from then on they are counted by their bytes and discarded in the kernel (MSG_TRUNC), never copied. A connection sends
 * again when at most DEPTH / 2 of its requests are outstanding. At the end every outstanding answer is awaited, the
 * bytes must be whole answers, and one more answer on each connection is checked. Prints one JSON line: requests,
 * seconds, requests a second, and the CPU time that this program itself used for one request.
 */
#include "requests.h"

enum { DISCARD_MAX = 1 << 30, READY_MAX = 256, BULK_MAX = 512 };

struct connection { int fd; uint32_t topic; size_t answer, bytes; unsigned sent, answered; };

static struct connection connections[CONNECTIONS_MAX];
static int depth;
static uint64_t answers;

static void refill(struct connection *c) {
    static char out[BULK_MAX * REQUEST_MAX];
    char *end = out;
    for (; c->sent - c->answered < (unsigned)depth; c->sent++) end = put_request(end, c->topic);
    send_all(c->fd, out, end - out);
}

static void discard(struct connection *c) {
    ssize_t got = recv(c->fd, NULL, DISCARD_MAX, MSG_TRUNC);
    if (got <= 0) fail("the server closed a connection");
    c->bytes += got;
    unsigned answered = c->bytes / c->answer;
    answers += answered - c->answered;
    c->answered = answered;
}

static int connect_all(int port, int count, int topics) {
    int poller = epoll_create1(0);
    for (struct connection *c = connections; c < connections + count; c++) {
        c->topic = (c - connections) % topics;
        c->fd = connect_to(port);
        c->answer = ask(c->fd, c->topic);
        epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &(struct epoll_event){.events = EPOLLIN, .data.ptr = c});
    }
    return poller;
}

static void run(int poller, double end) {
    struct epoll_event ready[READY_MAX];
    while (now() < end) {
        int count = epoll_wait(poller, ready, READY_MAX, SILENCE_MAX_MS);
        if (count < 1) fail("no answer for 10 s");
        for (int i = 0; i < count; i++) {
            struct connection *c = ready[i].data.ptr;
            discard(c);
            if (c->sent - c->answered <= (unsigned)depth / 2) refill(c);
        }
    }
}

static void finish(struct connection *c) {
    struct pollfd readable = {.fd = c->fd, .events = POLLIN};
    for (; c->answered < c->sent; discard(c))
        if (poll(&readable, 1, SILENCE_MAX_MS) < 1) fail("no answer for 10 s");
    if (c->bytes % c->answer) fail("answers of different sizes to the same request");
    if (ask(c->fd, c->topic) != c->answer) fail("an answer of another size to the same request");
}

int main(int count, char **words) {
    if (count != 7) fail("usage: nsbulk PORT CONNECTIONS DEPTH json|rocketmq TOPICS SECONDS");
    int port = number(words[1], 1, 65535), connected = number(words[2], 1, CONNECTIONS_MAX);
    depth = number(words[3], 1, BULK_MAX);
    signal(SIGPIPE, SIG_IGN);                                          /* a failed write then reports itself */
    make_template(words[4]);
    int poller = connect_all(port, connected, number(words[5], 1, TOPICS_MAX));
    double seconds = atof(words[6]), start = now(), own = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    if (seconds <= 0 || seconds > SECONDS_MAX) fail("SECONDS is up to 60");
    for (int i = 0; i < connected; i++) refill(&connections[i]);
    run(poller, start + seconds);
    for (int i = 0; i < connected; i++) finish(&connections[i]);
    double took = now() - start;
    own = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - own;
    printf("{\"requests\":%lu,\"seconds\":%.4f,\"per_second\":%.0f,\"own_cpu_us\":%.3f}\n", answers, took,
           answers / took, answers ? own * 1e6 / answers : 0);
    return 0;
}
