/* What is staged: read from the file beside the library, anew whenever it was replaced. */
#ifndef SCENARIO_H
#define SCENARIO_H

#include "json.h"
#include "public.h"

/* One call of the library. key: as the product files its answer, `nvmlDeviceGetClockInfo(1)`.
   older: the key where the function's newer form is staged, or NULL. */
struct call {
    nvmlDevice_t device; /* NULL: the system's */
    char key[160];
    char other[160];
};

struct nvmlDevice_st {
    char name[48]; /* `0000:17:00.0`, `0000:17:00.0/mig/0` */
};

/* Notes the call in the log, does what is staged for it (sleeps, hangs, aborts) and returns its code; with
   NVML_SUCCESS, *value is the staged answer. What is not staged is NOT_SUPPORTED. */
nvmlReturn_t ask(const struct call *call, const struct json **value);

/* As ask, for what succeeds unless something else is staged: handles, init, shutdown. */
nvmlReturn_t ask_or_succeed(const struct call *call, const struct json **value);

/* Does what is staged and returns its code. The value is what is left of it: the answer, or NULL. */
nvmlReturn_t behave(const struct json *staged, const struct json **value);

const struct json *staged_devices(void);
const struct json *staged(const char *device, const char *key);

/* The handle of this name: the same pointer every time. */
nvmlDevice_t handle_of(const char *name);

/* Whether nvmlInit succeeded more often than nvmlShutdown. */
extern unsigned int opened;

#endif
