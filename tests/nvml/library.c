/* The library's life, and its handles. */
#include "scenario.h"

#include <stdio.h>
#include <string.h>

static nvmlReturn_t begin(const char *name)
{
    struct call call = {.device = NULL, .other = "nvmlInit"};
    const struct json *ignored;
    nvmlReturn_t code;

    snprintf(call.key, sizeof call.key, "%s", name);
    code = ask_or_succeed(&call, &ignored);
    opened += code == NVML_SUCCESS;
    return code;
}

nvmlReturn_t nvmlInit(void)
{
    return begin(__func__);
}

nvmlReturn_t nvmlInit_v2(void)
{
    return begin(__func__);
}

nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
    if (flags & ~(unsigned int)(NVML_INIT_FLAG_NO_GPUS | NVML_INIT_FLAG_NO_ATTACH))
        return NVML_ERROR_INVALID_ARGUMENT;
    return begin(__func__);
}

nvmlReturn_t nvmlShutdown(void)
{
    struct call call = {.device = NULL, .key = "nvmlShutdown"};
    const struct json *ignored;
    nvmlReturn_t code;

    if (!opened)
        return NVML_ERROR_UNINITIALIZED;
    code = ask_or_succeed(&call, &ignored);
    opened -= code == NVML_SUCCESS;
    return code;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
    static const char *const words[] = {
        "Success", "Uninitialized", "Invalid Argument", "Not Supported", "Insufficient Permissions",
        "Already Initialized", "Not Found", "Insufficient Size", "Insufficient External Power", "Driver Not Loaded",
        "Timeout", "Interrupt Request Issue", "NVML Shared Library Not Found", "Function Not Found",
        "Corrupted infoROM", "GPU is lost", "GPU requires reset", "Blocked by the operating system",
        "Driver/library version mismatch", "In use by another client", "Insufficient Memory", "No data",
        "ECC is not supported with vGPU", "Insufficient Resources", "Frequency Not Supported",
        "Argument version mismatch", "Deprecated", "Not ready", "GPU not found", "Invalid state",
        "Reset type not supported",
    };

    return (size_t)result < sizeof words / sizeof *words ? words[result] : "Unknown Error";
}

/* A GPU that NVML lists, in the scenario's order; NULL where there is no such number. */
static const struct json *listed(unsigned int index)
{
    const struct json *devices = staged_devices();

    for (const struct json *device = devices ? devices->item : NULL; device; device = device->next) {
        const struct json *told = json_member(device, "listed");

        if (!strchr(device->name, '/') && (!told || json_bits(told)) && !index--)
            return device;
    }
    return NULL;
}

static nvmlReturn_t count(const char *name, unsigned int *deviceCount)
{
    struct call call = {.device = NULL, .other = "nvmlDeviceGetCount"};
    const struct json *value = NULL;
    nvmlReturn_t code;

    if (!opened)
        return NVML_ERROR_UNINITIALIZED;
    snprintf(call.key, sizeof call.key, "%s", name);
    code = ask_or_succeed(&call, &value);
    if (code != NVML_SUCCESS)
        return code;
    for (*deviceCount = 0; listed(*deviceCount);)
        ++*deviceCount;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *deviceCount)
{
    return count(__func__, deviceCount);
}

nvmlReturn_t nvmlDeviceGetCount(unsigned int *deviceCount)
{
    return count(__func__, deviceCount);
}

static nvmlReturn_t attach(const struct json *found, nvmlReturn_t otherwise, nvmlDevice_t *device)
{
    struct call call = {.device = found ? handle_of(found->name) : NULL, .key = "nvmlDeviceGetHandle"};
    const struct json *ignored;

    if (!opened)
        return NVML_ERROR_UNINITIALIZED;
    if (!found)
        return otherwise;
    *device = call.device;
    return ask_or_succeed(&call, &ignored);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    return attach(listed(index), NVML_ERROR_INVALID_ARGUMENT, device);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device)
{
    return nvmlDeviceGetHandleByIndex_v2(index, device);
}

/* NVML takes an address with a domain of four or eight digits, or none, in either case. */
static int same_slot(const char *name, const char *asked)
{
    unsigned int a[4], b[4] = {0};

    sscanf(name, "%x:%x:%x.%x", &a[0], &a[1], &a[2], &a[3]);
    if (sscanf(asked, "%x:%x:%x.%x", &b[0], &b[1], &b[2], &b[3]) != 4) {
        b[0] = 0;
        sscanf(asked, "%x:%x.%x", &b[1], &b[2], &b[3]);
    }
    return !memcmp(a, b, sizeof a);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *pciBusId, nvmlDevice_t *device)
{
    const struct json *found = NULL;

    for (unsigned int at = 0; (found = listed(at)) && !same_slot(found->name, pciBusId);)
        at++;
    return attach(found, NVML_ERROR_NOT_FOUND, device);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *pciBusId, nvmlDevice_t *device)
{
    return nvmlDeviceGetHandleByPciBusId_v2(pciBusId, device);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
    const struct json *found = NULL, *unit;

    for (unsigned int at = 0; (found = listed(at)); at++)
        if ((unit = json_member(found, "nvmlDeviceGetUUID")) && unit->kind == JSON_TEXT && !strcmp(unit->text, uuid))
            break;
    return attach(found, NVML_ERROR_NOT_FOUND, device);
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index, nvmlDevice_t *migDevice)
{
    struct call call = {.device = device};
    const struct json *value = NULL;
    char name[sizeof device->name];
    nvmlReturn_t code;

    snprintf(call.key, sizeof call.key, "%s(%u)", __func__, index);
    snprintf(name, sizeof name, "%.30s/mig/%u", device->name, index);
    code = ask_or_succeed(&call, &value);
    if (code != NVML_SUCCESS)
        return code;
    if (!json_member(staged_devices(), name))
        return NVML_ERROR_NOT_FOUND;
    *migDevice = handle_of(name);
    return NVML_SUCCESS;
}
