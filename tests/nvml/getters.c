/* Getters of one shape: what a device is, how it is set, what it does now. */
#include "calls.h"

#include <string.h>

WORDS(nvmlDeviceGetName)
WORDS(nvmlDeviceGetUUID)
WORDS(nvmlDeviceGetSerial)
WORDS(nvmlDeviceGetBoardPartNumber)
WORDS(nvmlDeviceGetVbiosVersion)
WORDS(nvmlDeviceGetInforomImageVersion)

VALUE(nvmlDeviceGetMinorNumber, unsigned int)
VALUE(nvmlDeviceGetIndex, unsigned int)
VALUE(nvmlDeviceGetBrand, nvmlBrandType_t)
VALUE(nvmlDeviceGetArchitecture, nvmlDeviceArchitecture_t)
VALUE(nvmlDeviceGetModuleId, unsigned int)
VALUE(nvmlDeviceGetNumGpuCores, unsigned int)
VALUE(nvmlDeviceGetMemoryBusWidth, unsigned int)
VALUE(nvmlDeviceGetMultiGpuBoard, unsigned int)
VALUE(nvmlDeviceGetIrqNum, unsigned int)
VALUE(nvmlDeviceGetPersistenceMode, nvmlEnableState_t)
VALUE(nvmlDeviceGetComputeMode, nvmlComputeMode_t)
VALUE(nvmlDeviceGetVirtualizationMode, nvmlGpuVirtualizationMode_t)
VALUE(nvmlDeviceGetHostVgpuMode, nvmlHostVgpuMode_t)
VALUE(nvmlDeviceGetAccountingMode, nvmlEnableState_t)
VALUE(nvmlDeviceGetDisplayActive, nvmlEnableState_t)
VALUE(nvmlDeviceGetPowerManagementLimit, unsigned int)
VALUE(nvmlDeviceGetEnforcedPowerLimit, unsigned int)
VALUE(nvmlDeviceGetPowerManagementDefaultLimit, unsigned int)
VALUE(nvmlDeviceGetPowerSource, nvmlPowerSource_t)
VALUE(nvmlDeviceGetSupportedClocksEventReasons, unsigned long long)
VALUE_AS(nvmlDeviceGetSupportedClocksThrottleReasons, "nvmlDeviceGetSupportedClocksEventReasons", unsigned long long)
VALUE(nvmlDeviceGetGpcClkVfOffset, int)
VALUE(nvmlDeviceGetMemClkVfOffset, int)
VALUE(nvmlDeviceGetNumFans, unsigned int)
VALUE(nvmlDeviceGetPerformanceState, nvmlPstates_t)
VALUE_AS(nvmlDeviceGetPowerState, "nvmlDeviceGetPerformanceState", nvmlPstates_t)
VALUE(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long)
VALUE_AS(nvmlDeviceGetCurrentClocksThrottleReasons, "nvmlDeviceGetCurrentClocksEventReasons", unsigned long long)
VALUE(nvmlDeviceGetPowerUsage, unsigned int)
VALUE(nvmlDeviceGetTotalEnergyConsumption, unsigned long long)
VALUE(nvmlDeviceGetCurrPcieLinkGeneration, unsigned int)
VALUE(nvmlDeviceGetCurrPcieLinkWidth, unsigned int)
VALUE(nvmlDeviceGetFanSpeed, unsigned int)
VALUE(nvmlDeviceGetMaxPcieLinkGeneration, unsigned int)
VALUE(nvmlDeviceGetMaxPcieLinkWidth, unsigned int)
VALUE(nvmlDeviceGetGpuMaxPcieLinkGeneration, unsigned int)
VALUE(nvmlDeviceGetPcieReplayCounter, unsigned int)
VALUE(nvmlDeviceGetPcieSpeed, unsigned int)
VALUE(nvmlDeviceGetPcieLinkMaxSpeed, unsigned int)
VALUE(nvmlDeviceGetNumaNodeId, unsigned int)
VALUE(nvmlDeviceGetRetiredPagesPendingStatus, nvmlEnableState_t)
VALUE(nvmlDeviceGetMaxMigDeviceCount, unsigned int)
VALUE(nvmlDeviceGetGpuInstanceId, unsigned int)
VALUE(nvmlDeviceGetComputeInstanceId, unsigned int)

TWO(nvmlDeviceGetEccMode, nvmlEnableState_t)
TWO(nvmlDeviceGetMigMode, unsigned int)
TWO(nvmlDeviceGetGpuOperationMode, nvmlGpuOperationMode_t)
TWO(nvmlDeviceGetDriverModel_v2, nvmlDriverModel_t)
TWO_AS(nvmlDeviceGetDriverModel, "nvmlDeviceGetDriverModel_v2", nvmlDriverModel_t)
TWO(nvmlDeviceGetPowerManagementLimitConstraints, unsigned int)
TWO(nvmlDeviceGetAutoBoostedClocksEnabled, nvmlEnableState_t)
TWO(nvmlDeviceGetGspFirmwareMode, unsigned int)
TWO(nvmlDeviceGetCudaComputeCapability, int)

CHOICE(nvmlDeviceGetClockInfo, nvmlClockType_t, NVML_CLOCK_COUNT, unsigned int)
CHOICE(nvmlDeviceGetMaxClockInfo, nvmlClockType_t, NVML_CLOCK_COUNT, unsigned int)
CHOICE(nvmlDeviceGetApplicationsClock, nvmlClockType_t, NVML_CLOCK_COUNT, unsigned int)
CHOICE(nvmlDeviceGetDefaultApplicationsClock, nvmlClockType_t, NVML_CLOCK_COUNT, unsigned int)
CHOICE(nvmlDeviceGetMaxCustomerBoostClock, nvmlClockType_t, NVML_CLOCK_COUNT, unsigned int)
CHOICE(nvmlDeviceGetAPIRestriction, nvmlRestrictedAPI_t, NVML_RESTRICTED_API_COUNT, nvmlEnableState_t)
CHOICE(nvmlDeviceGetTemperatureThreshold, nvmlTemperatureThresholds_t, NVML_TEMPERATURE_THRESHOLD_COUNT, unsigned int)
CHOICE_AS(nvmlDeviceGetTemperature, "nvmlDeviceGetTemperatureV", nvmlTemperatureSensors_t, NVML_TEMPERATURE_COUNT,
          unsigned int)
CHOICE(nvmlDeviceGetFanControlPolicy_v2, unsigned int, 16, nvmlFanControlPolicy_t)
CHOICE(nvmlDeviceGetNvLinkState, unsigned int, NVML_NVLINK_MAX_LINKS, nvmlEnableState_t)
CHOICE(nvmlDeviceGetNvLinkVersion, unsigned int, NVML_NVLINK_MAX_LINKS, unsigned int)
CHOICE(nvmlDeviceGetNvLinkRemoteDeviceType, unsigned int, NVML_NVLINK_MAX_LINKS, nvmlIntNvLinkDeviceType_t)

nvmlReturn_t nvmlDeviceGetInforomVersion(nvmlDevice_t device, nvmlInforomObject_t object, char *version,
                                         unsigned int length)
{
    REFUSE_UNLESS(device && version && (unsigned int)object < NVML_INFOROM_COUNT);
    ASK(device, NULL, "(%u)", (unsigned int)object);
    return fill_text(value, version, length);
}

nvmlReturn_t nvmlDeviceGetGspFirmwareVersion(nvmlDevice_t device, char *version)
{
    REFUSE_UNLESS(device && version);
    ASK(device, NULL, "%s", "");
    return fill_text(value, version, NVML_GSP_FIRMWARE_VERSION_BUF_SIZE);
}

nvmlReturn_t nvmlDeviceGetDefaultEccMode(nvmlDevice_t device, nvmlEnableState_t *defaultMode)
{
    REFUSE_UNLESS(device && defaultMode);
    ASK(device, NULL, "%s", "");
    return PUT(json_item(value, 0), defaultMode);
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t errorType,
                                         nvmlEccCounterType_t counterType, unsigned long long *eccCounts)
{
    REFUSE_UNLESS(device && eccCounts && (unsigned int)errorType < NVML_MEMORY_ERROR_TYPE_COUNT &&
                  (unsigned int)counterType < NVML_ECC_COUNTER_TYPE_COUNT);
    ASK(device, NULL, "(%u,%u)", (unsigned int)errorType, (unsigned int)counterType);
    return PUT(value, eccCounts);
}

nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device, nvmlMemoryErrorType_t errorType,
                                             nvmlEccCounterType_t counterType, nvmlMemoryLocation_t locationType,
                                             unsigned long long *count)
{
    REFUSE_UNLESS(device && count && (unsigned int)errorType < NVML_MEMORY_ERROR_TYPE_COUNT &&
                  (unsigned int)counterType < NVML_ECC_COUNTER_TYPE_COUNT &&
                  (unsigned int)locationType < NVML_MEMORY_LOCATION_COUNT);
    ASK(device, NULL, "(%u,%u,%u)", (unsigned int)errorType, (unsigned int)counterType, (unsigned int)locationType);
    return PUT(value, count);
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *corrRows, unsigned int *uncRows,
                                       unsigned int *isPending, unsigned int *failureOccurred)
{
    REFUSE_UNLESS(device && corrRows && uncRows && isPending && failureOccurred);
    ASK(device, NULL, "%s", "");
    PUT(json_item(value, 0), corrRows);
    PUT(json_item(value, 1), uncRows);
    PUT(json_item(value, 2), isPending);
    return PUT(json_item(value, 3), failureOccurred);
}

nvmlReturn_t nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t device, unsigned int cpuSetSize, unsigned long *cpuSet,
                                                 nvmlAffinityScope_t scope)
{
    REFUSE_UNLESS(device && cpuSet && cpuSetSize && scope <= NVML_AFFINITY_SCOPE_SOCKET);
    ASK(device, NULL, "(%u,%u)", cpuSetSize, scope);
    fill(value, U64, cpuSet, cpuSetSize * sizeof *cpuSet);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned int cpuSetSize, unsigned long *cpuSet)
{
    struct call call = call_of(device, "nvmlDeviceGetCpuAffinityWithinScope", NULL, "(%u,%u)", cpuSetSize, 0U);
    const struct call older = call_of(device, __func__, NULL, "(%u)", cpuSetSize);
    const struct json *value = NULL;
    nvmlReturn_t code;

    REFUSE_UNLESS(device && cpuSet && cpuSetSize);
    memcpy(call.other, call.key, sizeof call.other);
    memcpy(call.key, older.key, sizeof call.key);
    code = ask(&call, &value);
    fill(code ? NULL : value, U64, cpuSet, cpuSetSize * sizeof *cpuSet);
    return code;
}

nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t device, unsigned int nodeSetSize, unsigned long *nodeSet,
                                         nvmlAffinityScope_t scope)
{
    REFUSE_UNLESS(device && nodeSet && nodeSetSize && scope <= NVML_AFFINITY_SCOPE_SOCKET);
    ASK(device, NULL, "(%u,%u)", nodeSetSize, scope);
    fill(value, U64, nodeSet, nodeSetSize * sizeof *nodeSet);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t device1, nvmlDevice_t device2,
                                                 nvmlGpuTopologyLevel_t *pathInfo)
{
    REFUSE_UNLESS(device1 && device2 && pathInfo);
    ASK(device1, NULL, "(%s)", device2->name);
    return PUT(value, pathInfo);
}

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t device1, nvmlDevice_t device2, nvmlGpuP2PCapsIndex_t p2pIndex,
                                    nvmlGpuP2PStatus_t *p2pStatus)
{
    REFUSE_UNLESS(device1 && device2 && p2pStatus && (unsigned int)p2pIndex < NVML_P2P_CAPS_INDEX_UNKNOWN);
    ASK(device1, NULL, "(%s,%u)", device2->name, (unsigned int)p2pIndex);
    return PUT(value, p2pStatus);
}
