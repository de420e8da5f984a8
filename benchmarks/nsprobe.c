/* nsprobe: what one client waits for a route while other things go on.
 *
 *   nsprobe PORT TOPICS SECONDS INTERVAL_US
 *
 * One connection, one request every INTERVAL_US at most, JSON header, topics in a fixed pseudo-random order, the next
 * only after the answer. Prints one JSON line: requests and latency quantiles from send to whole answer. It asks for a
 * higher priority than the load around it, so that the wait for the server is measured and not its own wait for a core;
 * "raised" says whether it got it.
 */
#include "requests.h"
#include <sys/resource.h>

enum { REQUESTS_MAX = 1 << 20, NICENESS = -10, INTERVAL_MAX_US = 1000000 };

static float latencies_us[REQUESTS_MAX];

static void wait_until(double time) {
    struct timespec t = {.tv_sec = (time_t)time, .tv_nsec = (long)((time - (time_t)time) * 1e9)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR);
}

int main(int count, char **words) {
    if (count != 5) fail("usage: nsprobe PORT TOPICS SECONDS INTERVAL_US");
    int fd = connect_to(number(words[1], 1, 65535)), topics = number(words[2], 1, TOPICS_MAX);
    double seconds = atof(words[3]), interval = number(words[4], 1, INTERVAL_MAX_US) * 1e-6;
    if (seconds <= 0 || seconds > SECONDS_MAX) fail("SECONDS is up to 60");
    int raised = !setpriority(PRIO_PROCESS, 0, NICENESS);
    size_t requests = 0;
    signal(SIGPIPE, SIG_IGN);                                          /* a write then fails with a word */
    make_template(0);
    ask(fd, 0);
    for (double at = now(), end = at + seconds; at < end && requests < REQUESTS_MAX; at = now()) {
        ask(fd, random_below(topics));
        latencies_us[requests++] = (now() - at) * 1e6;
        wait_until(at + interval);
    }
    qsort(latencies_us, requests, sizeof *latencies_us, ascending);
    printf("{\"requests\":%zu,\"raised\":%s,\"p50_us\":%.1f,\"p99_us\":%.1f,\"p999_us\":%.1f,\"max_us\":%.1f}\n",
           requests, raised ? "true" : "false", quantile(latencies_us, requests, .5),
           quantile(latencies_us, requests, .99), quantile(latencies_us, requests, .999),
           quantile(latencies_us, requests, 1));
    return 0;
}
