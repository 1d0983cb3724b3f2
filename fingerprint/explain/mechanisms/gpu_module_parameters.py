"""Parameters of the drivers of GPUs: of AMD's and Intel's, and of NVIDIA's for unified memory and displays.

They stand in /sys/module, and on the boot line with the module's name before them.
"""

from fingerprint.explain.mechanisms.graph import Rule

AMD = "https://docs.kernel.org/gpu/amdgpu/module-parameters.html"
UVM = "https://github.com/NVIDIA/open-gpu-kernel-modules/tree/main/kernel-open/nvidia-uvm"
INTEL = (
    "https://www.intel.com/content/www/us/en/docs/oneapi/installation-guide-hpc-cluster/2025-1/"
    "step-4-set-up-user-permissions-for-using-the.html"
)


def parameters(module: str, names: str) -> tuple[str, ...]:
    """Globs of a module's parameters by their names, with blanks between them: as in force, and as asked for at
    boot."""
    places = (f"kernel/modules/{module}/parameters/", f"kernel/cmdline/{module}.")
    return tuple(f"{place}{name}" for name in names.split() for place in places)


RULES: tuple[Rule, ...] = (
    Rule(
        name="uvm-pageable-memory",
        sees=parameters("nvidia_uvm", "uvm_disable_hmm uvm_ats_mode uvm_enable_va_space_mm"),
        moves=("availability", "page placement"),
        breaks="often",
        beside=("gpu/*/addressing_mode", "kernel/release", "driver/module/flavour"),
        told_by=("cuda-unknown-error", "cuda-init-failed"),
        why="Whether a GPU may read the host's pageable memory in place. On some kernels HMM makes CUDA fail to start "
        "(error 3) while nvidia-smi works, and engines go to the CPU; uvm_disable_hmm=1 has cured it again and again. "
        "What allocates by CUDA's own calls runs as before.",
        confirm="options nvidia_uvm uvm_disable_hmm=1 in /etc/modprobe.d, reload nvidia_uvm, start a CUDA program",
        confirmed=1,
        sources=(
            "https://github.com/ollama/ollama/issues/11593",
            "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/901",
            "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/797",
        ),
    ),
    Rule(
        name="uvm-oversubscription",
        sees=parameters("nvidia_uvm", "uvm_global_oversubscription"),
        moves=("availability", "gpu memory", "host memory"),
        breaks="often",
        beside=("memory/total", "gpu/*/addressing_mode"),
        told_by=("gpu-memory-full", "host-memory-refused"),
        why="With it managed memory may be more than the GPU has, and is moved to and fro; without it such an "
        "allocation fails. Where GPU and host share one memory (GB10), what fails late takes the whole host down, and "
        "switching it off has been a partial remedy.",
        confirm="dmesg | grep NV_ERR_NO_MEMORY around the run; load nvidia_uvm with the other value",
        sources=(UVM, "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1358"),
    ),
    Rule(
        name="uvm-page-movement",
        sees=parameters(
            "nvidia_uvm",
            "uvm_perf_prefetch_* uvm_perf_thrashing_* uvm_perf_access_counter_* uvm_perf_migrate_* uvm_perf_map_*"
            " uvm_perf_fault_* uvm_perf_reenable_* uvm_perf_pma_* uvm_cpu_chunk_allocation_sizes"
            " uvm_downgrade_force_membar_sys uvm_parallel_fault_*",
        ),
        moves=("page placement", "pcie link", "gpu memory"),
        phases=("prefill", "decode step", "verify step", "transfer", "any work"),
        beside=("process/*/env/GGML_CUDA_ENABLE_UNIFIED_MEMORY",),
        why="Of managed memory: how many pages come with the one that was asked for, when they stop going to and fro, "
        "and how many faults are served at once. What holds its weights in plain GPU memory has no such faults.",
        confirm="nsys profile --cuda-um-gpu-page-faults=true in either run: without faults it is not the cause",
        sources=(UVM,),
    ),
    Rule(
        name="uvm-structures",
        sees=parameters(
            "nvidia_uvm",
            "uvm_page_table_location uvm_channel_* uvm_peer_copy uvm_exp_gpu_cache_* uvm_fault_force_sysmem"
            " uvm_block_cpu_to_cpu_copy_with_ce uvm_conf_computing_*",
        ),
        moves=("gpu memory bandwidth", "pcie link", "collective"),
        phases=("prefill", "decode step", "verify step", "transfer", "any work"),
        why="Where page tables and queues of unified memory lie, and how peers are copied to: tables in the host's "
        "memory make each miss of a translation cross the bus. The driver chooses well unless told otherwise.",
        confirm="load nvidia_uvm without the parameter, and repeat",
        sources=(UVM,),
    ),
    Rule(
        name="uvm-debugging",
        sees=parameters(
            "nvidia_uvm",
            "uvm_debug_* uvm_enable_builtin_tests uvm_leak_checker uvm_enable_debug_procfs uvm_release_asserts*"
            " uvm_debug_prints",
        ),
        moves=("cpu time", "availability"),
        unused=True,
        why="Checks and messages of unified memory for its developers: they cost where pages are made and moved, which "
        "plain GPU memory is not.",
        confirm="load nvidia_uvm without the parameter, and repeat",
        sources=(UVM,),
    ),
    Rule(
        name="display-parameters",
        sees=(
            *parameters("nvidia_drm", "modeset fbdev"),
            *parameters("nvidia_modeset", "*"),
            *parameters(
                "amdgpu",
                "audio abmlevel backlight dc dcdebugmask dcfeaturemask deep_color disp_priority freesync_video hw_i2c"
                " visualconfirm virtual_display seamless dmub_trace edp* damageclips wbrf color_mod* ngg"
                " prim_buf_per_se pos_buf_per_se cntl_sb_buf_per_se param_buf_per_se",
            ),
            *parameters(
                "i915",
                "enable_psr* enable_fbc enable_dc enable_ips enable_dpcd_backlight edp_* panel_* vbt_*"
                " fastboot invert_brightness disable_display enable_dp_mst psr_safest_params",
            ),
            *parameters("xe", "enable_psr* enable_fbc disable_display probe_display"),
            *parameters("nouveau", "noaccel nofbaccel atomic"),
        ),
        moves=("availability", "gpu memory", "gpu initialisation"),
        unused=True,
        why="What is shown on a screen, and how: takes no part in a step. A console or a desktop on the GPU takes some "
        "MB to some hundred, and its share of the GPU, which shows among the GPU's processes.",
        confirm="nvidia-smi (or rocm-smi --showpids) before the run: who else is on the GPU, with how much memory",
        sources=(AMD, "https://download.nvidia.com/XFree86/Linux-x86_64/570.133.07/README/index.html"),
    ),
    Rule(
        name="shared-gpu-memory",
        sees=(
            *parameters("ttm", "pages_limit page_pool_size dma32_pages_limit"),
            *parameters("amdttm", "pages_limit page_pool_size dma32_pages_limit"),
            *parameters("amdgpu", "gttsize vramlimit vis_vramlimit gartsize no_system_mem_limit carveout*"),
        ),
        moves=("gpu memory", "host memory", "availability"),
        way="more helps",
        mostly=True,
        breaks="often",
        beside=("memory/total",),
        told_by=("gpu-memory-full", "host-memory-refused"),
        why="How much of the host's memory a GPU may map that has little of its own: half by default, 96 GiB of 128 "
        "with ttm.pages_limit=25165824 (pages of 4 KiB; amdgpu.gttsize is in MiB and deprecated). What does not fit "
        "fails or stays on the CPU. More of it is reserved for nobody and makes nothing faster.",
        confirm="dmesg | grep -i 'memory ready': MiB of VRAM and of GTT; rocminfo's pools in both boots",
        sources=(
            AMD,
            "https://github.com/noamsto/nix-amd-ai/issues/42",
            "https://github.com/ROCm/rocm-systems/issues/351",
            "https://github.com/ROCm/legacy-rocm-build/issues/5595",
        ),
    ),
    Rule(
        name="amd-wave-saving",
        sees=(*parameters("amdgpu", "cwsr_enable mcbp debug_evictions no_queue_eviction_on_vm_fault"),),
        moves=("availability", "kernel choice"),
        breaks="often",
        usual=(1.0, 1.1),
        beside=("kernel/release",),
        why="cwsr_enable lets a compute kernel be interrupted in the middle, its registers saved. On gfx1151 and "
        "gfx1103 of some releases the area for them was too small and the GPU hung under load; with 0 a long run is as "
        "fast or a little slower (55 against 60 results an hour), and alive.",
        confirm="dmesg | grep -E 'MES|ring|reset' during the run; boot with amdgpu.cwsr_enable=0",
        sources=(
            AMD,
            "https://github.com/ROCm/legacy-rocm-build/issues/5590",
            "https://github.com/ROCm/legacy-rocm-build/issues/6012",
            "https://github.com/ROCm/legacy-rocm-build/issues/6386",
        ),
    ),
    Rule(
        name="amd-queue-scheduling",
        sees=parameters(
            "amdgpu",
            "sched_policy hws_max_conc_proc hws_gws_support max_num_of_queues_per_device sched_jobs sched_hw_submission"
            " mes mes_* uni_mes num_kcq async_gfx_ring compute_multipipe user_queue queue_preemption_timeout_ms"
            " sdma_phase_quantum mes_log_enable enforce_isolation",
        ),
        moves=("launch latency", "gpu compute", "availability"),
        breaks="seldom",
        beside=("kernel/release",),
        why="Who hands queues to the GPU, its firmware or the driver, how many at once, and for how long each: with "
        "more queues than it holds, or processes that may not run side by side, they wait for each other; "
        "sched_policy=2 is for debugging.",
        confirm="rocprofv3 --kernel-trace: gaps between kernels in both runs; one process alone on the GPU",
        sources=(AMD,),
    ),
    Rule(
        name="amd-page-faults",
        sees=parameters("amdgpu", "noretry svm_default_granularity"),
        moves=("page placement", "pcie link", "availability"),
        breaks="seldom",
        beside=("process/*/env/HSA_XNACK",),
        why="With noretry=0 and HSA_XNACK=1 a page that is elsewhere is fetched and the access repeated, so that "
        "managed and plain memory move to the GPU; without, they are read over the bus each time. Code built without "
        "xnack does not load where it is on for all.",
        confirm="rocminfo | grep xnack in both runs; HSA_XNACK=0 and 1 with the same build",
        sources=(
            AMD,
            "https://github.com/ROCm/legacy-rocm-build/issues/2385",
            "https://github.com/ROCm/rocm-systems/pull/2669",
        ),
    ),
    Rule(
        name="amd-page-tables",
        sees=parameters("amdgpu", "vm_size vm_fragment_size vm_block_size vm_update_mode vram_page_split moverate"),
        moves=("gpu memory bandwidth", "launch latency"),
        beside=("gpu/*/memory/bar1_total",),
        why="How large the pieces are in which the GPU's memory is mapped (4: 64 KiB, 9: 2 MiB) and who writes the "
        "tables: smaller pieces are more misses of the translation buffer where weights are read in one go. The "
        "default is chosen for each chip.",
        confirm="rocm-bandwidth-test, and load the driver without the parameter",
        sources=(AMD,),
    ),
    Rule(
        name="amd-memory-type",
        sees=parameters("amdgpu", "mtype_local"),
        moves=("gpu memory bandwidth", "kernel choice"),
        why="How local memory of MI300 is cached: kept for reading and writing, for nobody, or coherent with the other "
        "dies, which each pay for in another way.",
        confirm="load the driver without the parameter; rocprof counters of the L2 in both runs",
        sources=(AMD,),
    ),
    Rule(
        name="amd-power-features",
        sees=parameters("amdgpu", "ppfeaturemask dpm lbpw bapm smu_memory_pool_size"),
        moves=("sm clock", "memory clock", "launch latency", "availability"),
        breaks="seldom",
        beside=("cpu/platform_profile",),
        why="Which features of power management there are: dpm=0 leaves the clocks where the firmware had them, bits "
        "of ppfeaturemask forbid levels of engine, memory and link, or the sleep of an idle engine (0x8000, GFXOFF, "
        "off to stop hangs), or allow that clocks and limits be set at all (0x4000).",
        confirm="cat pp_dpm_sclk and pp_dpm_mclk of the device under load in both boots",
        sources=(AMD, "https://github.com/ROCm/legacy-rocm-build/issues/6386"),
    ),
    Rule(
        name="amd-sleep",
        sees=parameters("amdgpu", "runpm aspm pg_mask cg_mask"),
        moves=("gpu initialisation", "pcie link", "launch latency", "availability"),
        phases=("start-up", "host latency", "transfer", "decode step", "any work"),
        breaks="seldom",
        beside=("pcie/gpus/*/power/control",),
        why="Whether an idle GPU, its link and its parts sleep: a part of a second until the first kernel, "
        "microseconds for small copies, and some boards never wake. Under steady load nothing.",
        confirm="power/runtime_status of the device before the run; load the driver with runpm=0 aspm=0",
        sources=(AMD,),
    ),
    Rule(
        name="amd-disabled-units",
        sees=parameters("amdgpu", "disable_cu ip_block_mask"),
        moves=("gpu compute", "availability"),
        best=("absent", "(null)"),
        breaks="seldom",
        why="Compute units, or whole parts, that are switched off: as many kernels less at once.",
        confirm="rocminfo: Compute Unit in both runs",
        sources=(AMD,),
    ),
    Rule(
        name="amd-peer-access",
        sees=parameters("amdgpu", "pcie_p2p use_xgmi_p2p"),
        moves=("collective", "pcie link", "nvlink"),
        best=("1", "Y"),
        between=True,
        over_pcie="between GPUs",
        breaks="seldom",
        beside=("kernel/cmdline/iommu", "kernel/cmdline/amd_iommu"),
        why="Whether GPUs read each other's memory over PCIe or xGMI, or by way of the host's: what falls back is "
        "copied twice. It needs windows as large as the memory, too.",
        confirm="rocm-smi --showtopoaccess, and rccl-tests all_reduce_perf with either value",
        sources=(AMD,),
    ),
    Rule(
        name="amd-link-capabilities",
        sees=parameters("amdgpu", "pcie_gen2 pcie_gen_cap pcie_lane_cap rebar debug_largebar"),
        moves=("pcie link",),
        over_pcie="all",
        breaks="seldom",
        beside=("pcie/gpus/*/usable_link_speed", "pcie/gpus/*/usable_link_width"),
        why="Which speed and width of the link the driver believes in, and how large a window it asks for: lower than "
        "what the slot has, copies take as much longer.",
        confirm="cat current_link_speed and current_link_width of the device under load in both boots",
        sources=(AMD,),
    ),
    Rule(
        name="amd-partitions",
        sees=parameters("amdgpu", "user_partt_mode"),
        moves=("gpu compute", "gpu memory", "gpu memory bandwidth", "availability"),
        breaks="often",
        why="Into how many devices an MI300 is divided from the start: each has so many dies, and a share of the "
        "memory.",
        confirm="amd-smi partition in both runs, and how many devices there are",
        sources=(AMD, "https://rocm.docs.amd.com/projects/amdsmi/en/develop/conceptual/partition.html"),
    ),
    Rule(
        name="amd-recovery",
        sees=parameters(
            "amdgpu",
            "lockup_timeout gpu_recovery job_hang_limit timeout_fatal_disable timeout_period reset_method"
            " halt_if_hws_hang vm_fault_stop send_sigterm ras_enable ras_mask bad_page_threshold",
        ),
        moves=("availability",),
        breaks="often",
        beside=("driver/log/*/fallen_off_bus",),
        why="When the driver takes a kernel for hung, and what then: one operation over a long context that took more "
        "than lockup_timeout (2 s in recent kernels) reset the device in the middle of a run. A run in which nothing "
        "was reset is as it was.",
        confirm="dmesg | grep -E 'amdgpu.*(timeout|reset)'; load the driver with a longer lockup_timeout",
        sources=(AMD, "https://github.com/defilantech/LLMKube/pull/1387"),
    ),
    Rule(
        name="amd-debugging",
        sees=parameters(
            "amdgpu",
            "vm_debug emu_mode fw_load_type discovery force_asic_type exp_hw_support ignore_crat ignore_min_pcap"
            " si_support cik_support debug_mask tmz sg_display lbpw_* smu_pptable_id forcelongtraining msi"
            " benchmark testing agp_*",
        ),
        moves=("availability", "gpu initialisation"),
        breaks="seldom",
        unused=True,
        why="Switches for those who build the driver, for chips of long ago, and for emulators: at their defaults they "
        "say nothing. What they switch off is not there at all.",
        confirm="load the driver without the parameter, and repeat",
        sources=(AMD,),
    ),
    Rule(
        name="intel-hang-check",
        sees=(
            *parameters("i915", "enable_hangcheck request_timeout_ms reset"),
            *parameters("xe", "wedged_mode max_vfs_*"),
        ),
        moves=("availability",),
        breaks="often",
        beside=("kernel/release",),
        why="A kernel that runs for more than some seconds is taken for hung and the GPU reset: long prompts, tuning "
        "and large products end so. Intel's guides switch the check off for computing.",
        confirm="dmesg | grep -i 'GPU HANG'; echo N > /sys/module/i915/parameters/enable_hangcheck, then the same run",
        sources=(INTEL,),
    ),
    Rule(
        name="intel-submission",
        sees=(
            *parameters("i915", "enable_guc guc_firmware_path huc_firmware_path guc_log_level enable_gvt"),
            *parameters("xe", "guc_firmware_path huc_firmware_path gsc_firmware_path guc_log_level force_execlist"),
        ),
        moves=("launch latency", "sm clock", "availability"),
        breaks="seldom",
        beside=("kernel/release",),
        why="Whether firmware on the GPU (GuC) hands out work and sets its clocks, or the driver does: microseconds at "
        "each launch. Newer chips know only the first and do not start without its file.",
        confirm="dmesg | grep -i guc in both boots; intel_gpu_top for the clock during the run",
        sources=("https://docs.kernel.org/gpu/i915.html", "https://docs.kernel.org/gpu/xe/index.html"),
    ),
    Rule(
        name="intel-driver-choice",
        sees=(*parameters("i915", "force_probe modeset"), *parameters("xe", "force_probe modeset")),
        moves=("availability", "launch latency", "gpu memory"),
        breaks="often",
        beside=("kernel/modules/i915/version", "kernel/modules/xe/version"),
        why="Which of two drivers takes the chip, or none: with ! before its number i915 leaves it to xe, with it "
        "alone a new chip is tried at all. They differ in how they launch, map and share memory.",
        confirm="lspci -nnk -d 8086::0300 in both boots; clinfo or sycl-ls lists the device",
        sources=("https://docs.kernel.org/gpu/xe/index.html", "https://docs.kernel.org/gpu/i915.html"),
    ),
    Rule(
        name="intel-memory-window",
        sees=(*parameters("i915", "lmem_size lmem_bar_size"), *parameters("xe", "vram_bar_size vram_*")),
        moves=("pcie link", "gpu memory"),
        breaks="seldom",
        over_pcie="all",
        why="How large the window into the GPU's own memory is: with a small one Arc cards lose much of their speed in "
        "copies by the CPU. lmem_size makes the memory smaller, for testing.",
        confirm="lspci -vv: size of the prefetchable region in both boots",
        sources=("https://docs.kernel.org/gpu/xe/index.html",),
    ),
)
