/* Getters of the system, and setters: nobody may call these, and the log would tell. */
#include "calls.h"

#define SYSTEM_WORDS(name)                                                                                             \
    nvmlReturn_t name(char *version, unsigned int length)                                                              \
    {                                                                                                                  \
        ASK(NULL, NULL, "%s", "");                                                                                     \
        return fill_text(value, version, length);                                                                      \
    }
SYSTEM_WORDS(nvmlSystemGetDriverVersion)
SYSTEM_WORDS(nvmlSystemGetNVMLVersion)

#define SYSTEM_VALUE(name, other, type)                                                                                \
    nvmlReturn_t name(type *to)                                                                                        \
    {                                                                                                                  \
        REFUSE_UNLESS(to);                                                                                             \
        ASK(NULL, other, "%s", "");                                                                                    \
        return PUT(value, to);                                                                                         \
    }
SYSTEM_VALUE(nvmlSystemGetCudaDriverVersion_v2, NULL, int)
SYSTEM_VALUE(nvmlSystemGetCudaDriverVersion, "nvmlSystemGetCudaDriverVersion_v2", int)
SYSTEM_VALUE(nvmlSystemGetNvlinkBwMode, NULL, unsigned int)

static const struct field branch[] = {FIELD(nvmlSystemDriverBranchInfo_t, branch)};

nvmlReturn_t nvmlSystemGetDriverBranch(nvmlSystemDriverBranchInfo_t *branchInfo, unsigned int length)
{
    REFUSE_UNLESS(branchInfo && length);
    REFUSE_VERSION(branchInfo, nvmlSystemDriverBranchInfo_v1);
    ASK(NULL, NULL, "%s", "");
    fill_fields(value, branch, COUNT_OF(branch), branchInfo);
    return NVML_SUCCESS;
}

static const struct field state[] = {
    FIELD(nvmlConfComputeSystemState_t, environment),
    FIELD(nvmlConfComputeSystemState_t, ccFeature),
    FIELD(nvmlConfComputeSystemState_t, devToolsMode),
};

nvmlReturn_t nvmlSystemGetConfComputeState(nvmlConfComputeSystemState_t *to)
{
    REFUSE_UNLESS(to);
    ASK(NULL, NULL, "%s", "");
    fill_fields(value, state, COUNT_OF(state), to);
    return NVML_SUCCESS;
}

static const struct field settings[] = {
    FIELD(nvmlSystemConfComputeSettings_t, environment),  FIELD(nvmlSystemConfComputeSettings_t, ccFeature),
    FIELD(nvmlSystemConfComputeSettings_t, devToolsMode), FIELD(nvmlSystemConfComputeSettings_t, multiGpuMode),
};

nvmlReturn_t nvmlSystemGetConfComputeSettings(nvmlSystemConfComputeSettings_t *to)
{
    REFUSE_UNLESS(to);
    REFUSE_VERSION(to, nvmlSystemConfComputeSettings_v1);
    ASK(NULL, NULL, "%s", "");
    fill_fields(value, settings, COUNT_OF(settings), to);
    return NVML_SUCCESS;
}

#define SETTER(name, type)                                                                                             \
    nvmlReturn_t name(nvmlDevice_t device, type to)                                                                    \
    {                                                                                                                  \
        const struct call call = call_of(device, __func__, NULL, "(%u)", (unsigned int)to);                            \
        const struct json *ignored;                                                                                    \
                                                                                                                       \
        ask_or_succeed(&call, &ignored);                                                                               \
        return NVML_ERROR_NO_PERMISSION;                                                                               \
    }
SETTER(nvmlDeviceSetPersistenceMode, nvmlEnableState_t)
SETTER(nvmlDeviceSetComputeMode, nvmlComputeMode_t)
SETTER(nvmlDeviceSetEccMode, nvmlEnableState_t)
SETTER(nvmlDeviceSetPowerManagementLimit, unsigned int)
