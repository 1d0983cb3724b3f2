#define _GNU_SOURCE
#include "scenario.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HANDLES 256
#define QUIET_SECONDS 0.01

unsigned int opened;
static struct json *document;
static bool quiet; /* no log, and a change is looked for from time to time: for measuring what the caller costs */

static const char *beside(const char *suffix)
{
    static char path[4096];
    Dl_info self;

    if (!dladdr((void *)beside, &self))
        abort();
    snprintf(path, sizeof path, "%s%s", self.dli_fname, suffix);
    return path;
}

static char *content(int fd, off_t size)
{
    char *text = calloc(1, (size_t)size + 1);
    off_t got = 0;
    ssize_t more;

    while (got < size && (more = read(fd, text + got, (size_t)(size - got))) > 0)
        got += more;
    return text;
}

static bool is_quiet(void)
{
    const struct json *told = json_member(json_member(document, "system"), "log");

    return told && !json_bits(told);
}

static void load(int fd, off_t size)
{
    char *text = content(fd, size);

    json_free(document);
    document = json_parse(text);
    free(text);
    if (!document) {
        fprintf(stderr, "%s is no JSON\n", beside(".json"));
        abort();
    }
    quiet = is_quiet();
}

static bool was_just_read(void)
{
    static double last;
    struct timespec time;
    double now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    now = (double)time.tv_sec + (double)time.tv_nsec / 1e9;
    if (now < last + QUIET_SECONDS)
        return true;
    last = now;
    return false;
}

/* Whoever stages replaces the file by a new one: its inode or its time tells. */
static void refresh(void)
{
    static struct stat last;
    struct stat now;
    int fd;

    if (quiet && was_just_read())
        return;
    fd = open(beside(".json"), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &now)) {
        fprintf(stderr, "no scenario %s\n", beside(".json"));
        abort();
    }
    if (now.st_ino != last.st_ino || memcmp(&now.st_mtim, &last.st_mtim, sizeof now.st_mtim))
        load(fd, now.st_size);
    last = now;
    close(fd);
}

static void note(const struct call *call)
{
    char line[256];
    int length = snprintf(line, sizeof line, "%s %s\n", call->key, call->device ? call->device->name : "");
    int fd = open(beside(".log"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);

    if (fd < 0 || write(fd, line, (size_t)length) != length)
        abort();
    close(fd);
}

static _Noreturn void hang(void)
{
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    for (;;)
        pause();
}

static void sleep_for(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

    while (nanosleep(&time, &time) && errno == EINTR) /* as in the driver: a signal waits for the call's end */
        ;
}

/* Where `path` is a file system that does not answer, for ever, in state D. */
static void read_from(const char *path)
{
    char byte;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        (void)!read(fd, &byte, 1);
        close(fd);
    }
}

static _Noreturn void crash(int signal_number)
{
    raise(signal_number);
    abort();
}

nvmlReturn_t behave(const struct json *found, const struct json **value)
{
    const struct json *code = json_member(found, "error"), *seconds = json_member(found, "sleep");
    const struct json *place = json_member(found, "read"), *death = json_member(found, "crash");

    if (json_member(found, "hang"))
        hang();
    if (place)
        read_from(place->text);
    if (death)
        crash((int)json_bits(death));
    if (seconds)
        sleep_for(json_double(seconds));
    *value = seconds ? json_member(found, "then") : found;
    return code ? (nvmlReturn_t)json_bits(code) : NVML_SUCCESS;
}

const struct json *staged_devices(void)
{
    refresh();
    return json_member(document, "devices");
}

const struct json *staged(const char *device, const char *key)
{
    const struct json *devices = json_member(document, "devices");

    return json_member(device ? json_member(devices, device) : json_member(document, "system"), key);
}

static const struct json *found(const struct call *call)
{
    const char *device = call->device ? call->device->name : NULL;
    const struct json *answer = staged(device, call->key);

    return answer || !*call->other ? answer : staged(device, call->other);
}

nvmlReturn_t ask_or_succeed(const struct call *call, const struct json **value)
{
    const struct json *ignored;
    nvmlReturn_t code;

    refresh();
    if (!quiet)
        note(call);
    code = behave(staged(call->device ? call->device->name : NULL, "*"), &ignored);
    return code ? code : behave(found(call), value);
}

nvmlReturn_t ask(const struct call *call, const struct json **value)
{
    nvmlReturn_t code;

    if (!opened)
        return NVML_ERROR_UNINITIALIZED;
    code = ask_or_succeed(call, value);
    return code == NVML_SUCCESS && !*value ? NVML_ERROR_NOT_SUPPORTED : code;
}

nvmlDevice_t handle_of(const char *name)
{
    static struct nvmlDevice_st handles[HANDLES];

    for (size_t at = 0; at < HANDLES; at++) {
        if (!*handles[at].name)
            snprintf(handles[at].name, sizeof handles[at].name, "%s", name);
        if (!strcmp(handles[at].name, name))
            return &handles[at];
    }
    abort();
}
