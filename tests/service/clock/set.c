/* Preloaded: a wall clock that is off by as many seconds as the file of FINGERPRINT_TEST_CLOCK says, 8 bytes that may
 * change at any time. No other clock is touched, as where a person or NTP sets it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

static const volatile int64_t *off;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("FINGERPRINT_TEST_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *off, PROT_READ, MAP_SHARED, fd, 0);

    if (at != MAP_FAILED)
        off = at;
    if (fd >= 0)
        close(fd);
}

SHOWN int clock_gettime(clockid_t clock, struct timespec *now)
{
    int failed = (int)syscall(SYS_clock_gettime, clock, now);

    if (!failed && off && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += *off;
    return failed;
}

SHOWN int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec at;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &at);
    now->tv_sec = at.tv_sec;
    now->tv_usec = at.tv_nsec / 1000;
    return 0;
}

SHOWN time_t time(time_t *into)
{
    struct timespec at;

    clock_gettime(CLOCK_REALTIME, &at);
    if (into)
        *into = at.tv_sec;
    return at.tv_sec;
}
