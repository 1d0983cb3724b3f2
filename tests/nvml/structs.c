/* Getters that fill a struct, or several. */
#include "calls.h"

#include <assert.h>

static const struct field pci_info[] = {
    FIELD(nvmlPciInfo_t, busIdLegacy), FIELD(nvmlPciInfo_t, domain),      FIELD(nvmlPciInfo_t, bus),
    FIELD(nvmlPciInfo_t, device),      FIELD(nvmlPciInfo_t, pciDeviceId), FIELD(nvmlPciInfo_t, pciSubSystemId),
    FIELD(nvmlPciInfo_t, busId),
};
STRUCT(nvmlDeviceGetPciInfo_v3, nvmlPciInfo_t, pci_info)

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int link, nvmlPciInfo_t *pci)
{
    REFUSE_UNLESS(device && pci && link < NVML_NVLINK_MAX_LINKS);
    ASK(device, "nvmlDeviceGetNvLinkRemotePciInfo", "(%u)", link);
    fill_fields(value, pci_info, COUNT_OF(pci_info), pci);
    return NVML_SUCCESS;
}

static const struct field utilization[] = {FIELD(nvmlUtilization_t, gpu), FIELD(nvmlUtilization_t, memory)};
STRUCT(nvmlDeviceGetUtilizationRates, nvmlUtilization_t, utilization)

static const struct field bar1[] = {
    FIELD(nvmlBAR1Memory_t, bar1Total),
    FIELD(nvmlBAR1Memory_t, bar1Free),
    FIELD(nvmlBAR1Memory_t, bar1Used),
};
STRUCT(nvmlDeviceGetBAR1MemoryInfo, nvmlBAR1Memory_t, bar1)

static const struct field c2c_mode[] = {FIELD(nvmlC2cModeInfo_v1_t, isC2cEnabled)};
STRUCT(nvmlDeviceGetC2cModeInfoV, nvmlC2cModeInfo_v1_t, c2c_mode)

static const struct field memory_v2[] = {
    FIELD(nvmlMemory_v2_t, total),
    FIELD(nvmlMemory_v2_t, reserved),
    FIELD(nvmlMemory_v2_t, free),
    FIELD(nvmlMemory_v2_t, used),
};
VERSIONED_AS(nvmlDeviceGetMemoryInfo_v2, "nvmlDeviceGetMemoryInfo", nvmlMemory_v2_t, nvmlMemory_v2, memory_v2)

static const struct field memory[] = {
    FIELD(nvmlMemory_t, total),
    FIELD(nvmlMemory_t, free),
    FIELD(nvmlMemory_t, used),
};

/* Version 1 counts what the driver reserves as used. */
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *to)
{
    REFUSE_UNLESS(device && to);
    ASK(device, NULL, "%s", "");
    fill_fields(value, memory, COUNT_OF(memory), to);
    to->used += json_bits(json_member(value, "reserved"));
    return NVML_SUCCESS;
}

STRUCT(nvmlDeviceGetConfComputeProtectedMemoryUsage, nvmlMemory_t, memory)

static const struct field protected_memory[] = {
    FIELD(nvmlConfComputeMemSizeInfo_t, protectedMemSizeKib),
    FIELD(nvmlConfComputeMemSizeInfo_t, unprotectedMemSizeKib),
};
STRUCT(nvmlDeviceGetConfComputeMemSizeInfo, nvmlConfComputeMemSizeInfo_t, protected_memory)

static const struct field attributes[] = {
    FIELD(nvmlDeviceAttributes_t, multiprocessorCount),   FIELD(nvmlDeviceAttributes_t, sharedCopyEngineCount),
    FIELD(nvmlDeviceAttributes_t, sharedDecoderCount),    FIELD(nvmlDeviceAttributes_t, sharedEncoderCount),
    FIELD(nvmlDeviceAttributes_t, sharedJpegCount),       FIELD(nvmlDeviceAttributes_t, sharedOfaCount),
    FIELD(nvmlDeviceAttributes_t, gpuInstanceSliceCount), FIELD(nvmlDeviceAttributes_t, computeInstanceSliceCount),
    FIELD(nvmlDeviceAttributes_t, memorySizeMB),
};
STRUCT(nvmlDeviceGetAttributes_v2, nvmlDeviceAttributes_t, attributes)

static const struct field histogram[] = {
    FIELD(nvmlRowRemapperHistogramValues_t, max),     FIELD(nvmlRowRemapperHistogramValues_t, high),
    FIELD(nvmlRowRemapperHistogramValues_t, partial), FIELD(nvmlRowRemapperHistogramValues_t, low),
    FIELD(nvmlRowRemapperHistogramValues_t, none),
};
STRUCT(nvmlDeviceGetRowRemapperHistogram, nvmlRowRemapperHistogramValues_t, histogram)

nvmlReturn_t nvmlDeviceGetUnrepairableMemoryFlag_v1(nvmlDevice_t device, nvmlUnrepairableMemoryStatus_v1_t *to)
{
    REFUSE_UNLESS(device && to);
    ASK(device, NULL, "%s", "");
    return PUT(value, &to->bUnrepairableMemory);
}

VERSIONED_VALUE(nvmlDeviceGetAddressingMode, nvmlDeviceAddressingMode_t, nvmlDeviceAddressingMode_v1, value)
VERSIONED_VALUE(nvmlDeviceGetMarginTemperature, nvmlMarginTemperature_t, nvmlMarginTemperature_v1, marginTemperature)

nvmlReturn_t nvmlDeviceGetRepairStatus(nvmlDevice_t device, nvmlRepairStatus_t *to)
{
    REFUSE_UNLESS(device && to);
    REFUSE_VERSION(to, nvmlRepairStatus_v1);
    ASK(device, NULL, "%s", "");
    PUT(json_item(value, 0), &to->bChannelRepairPending);
    return PUT(json_item(value, 1), &to->bTpcRepairPending);
}

nvmlReturn_t nvmlDeviceGetDramEncryptionMode(nvmlDevice_t device, nvmlDramEncryptionInfo_t *current,
                                             nvmlDramEncryptionInfo_t *pending)
{
    REFUSE_UNLESS(device && current && pending);
    REFUSE_VERSION(current, nvmlDramEncryptionInfo_v1);
    REFUSE_VERSION(pending, nvmlDramEncryptionInfo_v1);
    ASK(device, NULL, "%s", "");
    PUT(json_item(value, 0), &current->encryptionState);
    return PUT(json_item(value, 1), &pending->encryptionState);
}

nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t *temperature)
{
    REFUSE_UNLESS(device && temperature && (unsigned int)temperature->sensorType < NVML_TEMPERATURE_COUNT);
    REFUSE_VERSION(temperature, nvmlTemperature_v1);
    ASK(device, NULL, "(%u)", (unsigned int)temperature->sensorType);
    return PUT(value, &temperature->temperature);
}

static const struct field power_mizer[] = {
    FIELD(nvmlDevicePowerMizerModes_v1_t, currentMode),
    FIELD(nvmlDevicePowerMizerModes_v1_t, mode),
    FIELD(nvmlDevicePowerMizerModes_v1_t, supportedPowerMizerModes),
};
STRUCT(nvmlDeviceGetPowerMizerMode_v1, nvmlDevicePowerMizerModes_v1_t, power_mizer)

static const struct field clock_offset[] = {
    FIELD(nvmlClockOffset_t, type),
    FIELD(nvmlClockOffset_t, pstate),
    FIELD(nvmlClockOffset_t, clockOffsetMHz),
    FIELD(nvmlClockOffset_t, minClockOffsetMHz),
    FIELD(nvmlClockOffset_t, maxClockOffsetMHz),
};

nvmlReturn_t nvmlDeviceGetClockOffsets(nvmlDevice_t device, nvmlClockOffset_t *info)
{
    REFUSE_UNLESS(device && info && (unsigned int)info->type < NVML_CLOCK_COUNT);
    REFUSE_VERSION(info, nvmlClockOffset_v1);
    ASK(device, NULL, "(%u,%u)", (unsigned int)info->type, (unsigned int)info->pstate);
    fill_fields(value, clock_offset, COUNT_OF(clock_offset), info);
    return NVML_SUCCESS;
}

#define SRAM(member) FIELD(nvmlEccSramErrorStatus_v1_t, member)
static const struct field sram[] = {
    SRAM(aggregateUncParity), SRAM(aggregateUncSecDed), SRAM(aggregateCor),
    SRAM(volatileUncParity), SRAM(volatileUncSecDed), SRAM(volatileCor),
    SRAM(aggregateUncBucketL2), SRAM(aggregateUncBucketSm), SRAM(aggregateUncBucketPcie),
    SRAM(aggregateUncBucketMcu), SRAM(aggregateUncBucketOther), SRAM(bThresholdExceeded),
};
VERSIONED(nvmlDeviceGetSramEccErrorStatus, nvmlEccSramErrorStatus_t, nvmlEccSramErrorStatus_v1, sram)

static const struct field profiles[] = {
    FIELD(nvmlWorkloadPowerProfileCurrentProfiles_t, perfProfilesMask.mask),
    FIELD(nvmlWorkloadPowerProfileCurrentProfiles_t, requestedProfilesMask.mask),
    FIELD(nvmlWorkloadPowerProfileCurrentProfiles_t, enforcedProfilesMask.mask),
};
VERSIONED(nvmlDeviceWorkloadPowerProfileGetCurrentProfiles, nvmlWorkloadPowerProfileCurrentProfiles_t,
          nvmlWorkloadPowerProfileCurrentProfiles_v1, profiles)

static const struct field nvlink_mode[] = {FIELD(nvmlNvlinkGetBwMode_t, bIsBest), FIELD(nvmlNvlinkGetBwMode_t, bwMode)};
VERSIONED(nvmlDeviceGetNvlinkBwMode, nvmlNvlinkGetBwMode_t, nvmlNvlinkGetBwMode_v1, nvlink_mode)

/* Structs of several forms: this driver knows the forms whose every field is staged. */
struct form {
    unsigned int version;
    const struct field *fields;
    size_t count;
};

static nvmlReturn_t fill_form(const struct json *value, const struct form *forms, size_t count, unsigned int *to)
{
    for (const struct form *form = forms; form < forms + count; form++)
        if (form->version == *to && tells(value, form->fields, form->count)) {
            fill_fields(value, form->fields, form->count, to);
            return NVML_SUCCESS;
        }
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
}

static const struct field platform_v1[] = {
    FIELD(nvmlPlatformInfo_v1_t, ibGuid),
    FIELD(nvmlPlatformInfo_v1_t, rackGuid),
    FIELD(nvmlPlatformInfo_v1_t, chassisPhysicalSlotNumber),
    FIELD(nvmlPlatformInfo_v1_t, computeSlotIndex),
    FIELD(nvmlPlatformInfo_v1_t, nodeIndex),
    FIELD(nvmlPlatformInfo_v1_t, peerType),
    FIELD(nvmlPlatformInfo_v1_t, moduleId),
};
static const struct field platform_v2[] = {
    FIELD(nvmlPlatformInfo_v2_t, ibGuid),     FIELD(nvmlPlatformInfo_v2_t, chassisSerialNumber),
    FIELD(nvmlPlatformInfo_v2_t, slotNumber), FIELD(nvmlPlatformInfo_v2_t, trayIndex),
    FIELD(nvmlPlatformInfo_v2_t, hostId),     FIELD(nvmlPlatformInfo_v2_t, peerType),
    FIELD(nvmlPlatformInfo_v2_t, moduleId),
};
static const struct form platforms[] = {
    {nvmlPlatformInfo_v1, platform_v1, COUNT_OF(platform_v1)},
    {nvmlPlatformInfo_v2, platform_v2, COUNT_OF(platform_v2)},
};

nvmlReturn_t nvmlDeviceGetPlatformInfo(nvmlDevice_t device, nvmlPlatformInfo_t *platformInfo)
{
    REFUSE_UNLESS(device && platformInfo);
    ASK(device, NULL, "%s", "");
    return fill_form(value, platforms, COUNT_OF(platforms), &platformInfo->version);
}

static const struct field fabric[] = {
    FIELD(nvmlGpuFabricInfo_t, clusterUuid),
    FIELD(nvmlGpuFabricInfo_t, status),
    FIELD(nvmlGpuFabricInfo_t, cliqueId),
    FIELD(nvmlGpuFabricInfo_t, state),
};
static const struct field fabric_v2[] = {
    FIELD(nvmlGpuFabricInfo_v2_t, clusterUuid), FIELD(nvmlGpuFabricInfo_v2_t, status),
    FIELD(nvmlGpuFabricInfo_v2_t, cliqueId),    FIELD(nvmlGpuFabricInfo_v2_t, state),
    FIELD(nvmlGpuFabricInfo_v2_t, healthMask),
};
static const struct field fabric_v3[] = {
    FIELD(nvmlGpuFabricInfo_v3_t, clusterUuid), FIELD(nvmlGpuFabricInfo_v3_t, status),
    FIELD(nvmlGpuFabricInfo_v3_t, cliqueId),    FIELD(nvmlGpuFabricInfo_v3_t, state),
    FIELD(nvmlGpuFabricInfo_v3_t, healthMask),  FIELD(nvmlGpuFabricInfo_v3_t, healthSummary),
};
static const struct form fabrics[] = {
    {nvmlGpuFabricInfo_v2, fabric_v2, COUNT_OF(fabric_v2)},
    {nvmlGpuFabricInfo_v3, fabric_v3, COUNT_OF(fabric_v3)},
};
STRUCT_AS(nvmlDeviceGetGpuFabricInfo, "nvmlDeviceGetGpuFabricInfoV", nvmlGpuFabricInfo_t, fabric)

nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t *gpuFabricInfo)
{
    REFUSE_UNLESS(device && gpuFabricInfo);
    ASK(device, NULL, "%s", "");
    return fill_form(value, fabrics, COUNT_OF(fabrics), &gpuFabricInfo->version);
}

static const struct field licensed[] = {
    FIELD(nvmlGridLicensableFeature_t, featureCode),         FIELD(nvmlGridLicensableFeature_t, featureState),
    FIELD(nvmlGridLicensableFeature_t, licenseInfo),         FIELD(nvmlGridLicensableFeature_t, productName),
    FIELD(nvmlGridLicensableFeature_t, featureEnabled),      FIELD(nvmlGridLicensableFeature_t, licenseExpiry.year),
    FIELD(nvmlGridLicensableFeature_t, licenseExpiry.month), FIELD(nvmlGridLicensableFeature_t, licenseExpiry.day),
    FIELD(nvmlGridLicensableFeature_t, licenseExpiry.hour),  FIELD(nvmlGridLicensableFeature_t, licenseExpiry.min),
    FIELD(nvmlGridLicensableFeature_t, licenseExpiry.sec),   FIELD(nvmlGridLicensableFeature_t, licenseExpiry.status),
};

nvmlReturn_t nvmlDeviceGetGridLicensableFeatures_v4(nvmlDevice_t device, nvmlGridLicensableFeatures_t *to)
{
    REFUSE_UNLESS(device && to);
    ASK(device, NULL, "%s", "");
    PUT(json_member(value, "isGridLicenseSupported"), &to->isGridLicenseSupported);
    PUT(json_member(value, "licensableFeaturesCount"), &to->licensableFeaturesCount);
    for (size_t at = 0; at < COUNT_OF(to->gridLicensableFeatures); at++)
        fill_fields(json_item(json_member(value, "gridLicensableFeatures"), at), licensed, COUNT_OF(licensed),
                    &to->gridLicensableFeatures[at]);
    return NVML_SUCCESS;
}

static const struct field process[] = {
    FIELD(nvmlProcessInfo_t, pid),
    FIELD(nvmlProcessInfo_t, usedGpuMemory),
    FIELD(nvmlProcessInfo_t, gpuInstanceId),
    FIELD(nvmlProcessInfo_t, computeInstanceId),
};
static_assert(sizeof(nvmlProcessInfo_t) == sizeof(nvmlProcessInfo_v2_t), "version 3 took the struct of version 2");

/* A caller with too little room, or none, is told the count. */
static nvmlReturn_t list(const struct json *value, unsigned int *room, void *infos)
{
    const unsigned int count = (unsigned int)json_length(value), had = *room;

    *room = count;
    if (count > had || (count && !infos))
        return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned int at = 0; at < count; at++)
        fill_fields(json_item(value, at), process, COUNT_OF(process), (nvmlProcessInfo_t *)infos + at);
    return NVML_SUCCESS;
}

#define RUNNING(name, other, type)                                                                                     \
    nvmlReturn_t name(nvmlDevice_t device, unsigned int *infoCount, type *infos)                                       \
    {                                                                                                                  \
        REFUSE_UNLESS(device &&infoCount);                                                                             \
        ASK(device, other, "%s", "");                                                                                  \
        return list(value, infoCount, infos);                                                                          \
    }
RUNNING(nvmlDeviceGetComputeRunningProcesses_v3, NULL, nvmlProcessInfo_t)
RUNNING(nvmlDeviceGetGraphicsRunningProcesses_v3, NULL, nvmlProcessInfo_t)
RUNNING(nvmlDeviceGetMPSComputeRunningProcesses_v3, NULL, nvmlProcessInfo_t)
RUNNING(nvmlDeviceGetComputeRunningProcesses_v2, "nvmlDeviceGetComputeRunningProcesses_v3", nvmlProcessInfo_v2_t)
RUNNING(nvmlDeviceGetGraphicsRunningProcesses_v2, "nvmlDeviceGetGraphicsRunningProcesses_v3", nvmlProcessInfo_v2_t)
RUNNING(nvmlDeviceGetMPSComputeRunningProcesses_v2, "nvmlDeviceGetMPSComputeRunningProcesses_v3", nvmlProcessInfo_v2_t)

static nvmlReturn_t field_value(nvmlDevice_t device, nvmlFieldValue_t *to)
{
    const struct call plain = call_of(device, "nvmlDeviceGetFieldValues", NULL, "(%u)", to->fieldId);
    const struct call scoped = call_of(device, "nvmlDeviceGetFieldValues", NULL, "(%u,%u)", to->fieldId, to->scopeId);
    const struct json *value = NULL;
    nvmlReturn_t code;

    REFUSE_UNLESS(to->fieldId && to->fieldId < NVML_FI_MAX);
    code = behave(staged(device->name, to->scopeId ? scoped.key : plain.key), &value);
    if (code != NVML_SUCCESS)
        return code;
    if (!value)
        return NVML_ERROR_NOT_SUPPORTED;
    fill_union(value, to);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int valuesCount, nvmlFieldValue_t *values)
{
    const struct call call = call_of(device, __func__, NULL, "%s", "");
    const struct json *ignored;
    nvmlReturn_t code;

    REFUSE_UNLESS(device && values && valuesCount > 0);
    if (!opened)
        return NVML_ERROR_UNINITIALIZED;
    code = ask_or_succeed(&call, &ignored);
    for (int at = 0; code == NVML_SUCCESS && at < valuesCount; at++)
        values[at].nvmlReturn = field_value(device, &values[at]);
    return code;
}
