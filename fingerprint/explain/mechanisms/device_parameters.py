"""Parameters of the drivers of disks, file systems, networks and guests, in force and as asked for at boot."""

from fingerprint.explain.mechanisms.gpu_module_parameters import parameters
from fingerprint.explain.mechanisms.graph import Condition, Rule
from fingerprint.explain.mechanisms.kernel_code import PARAMETERS

ZFS = "https://manpages.ubuntu.com/manpages/jammy/man5/zfs-module-parameters.5.html"
_WAITED = (Condition(facts="pressure/io/some/total", sign="grew", says="threads waited for a disk", least=1e5),)

RULES: tuple[Rule, ...] = (
    Rule(
        name="disk-sleep",
        sees=(
            *parameters("nvme_core", "default_ps_max_latency_us apst_* force_apst"),
            *parameters("ahci", "mobile_lpm_policy"),
            *parameters("libata", "force noacpi"),
        ),
        moves=("storage", "availability"),
        breaks="seldom",
        beside=("block/*/model",),
        why="Whether a drive goes to sleep by itself: milliseconds until the first read after a pause, nothing while "
        "it is at work; some drives do not come back and take the file system along, which 0 prevents.",
        confirm="dmesg | grep -iE 'nvme.*(reset|down)'; boot with nvme_core.default_ps_max_latency_us=0",
        sources=(
            "https://unix.stackexchange.com/questions/612096/clarifying-nvme-apst-problems-for-linux",
            "https://blog.bspwr.com/blog/samsung-990-pro-nvme-disconnect/",
        ),
    ),
    Rule(
        name="disk-queues",
        sees=(
            *parameters("nvme", "poll_queues write_queues io_queue_depth use_threaded_interrupts sgl_threshold"),
            *parameters("virtio_blk", "num_request_queues poll_queues queue_depth"),
            *parameters("scsi_mod", "use_blk_mq"),
            *parameters("dm_mod", "use_blk_mq dm_mq_nr_hw_queues dm_mq_queue_depth"),
        ),
        moves=("storage", "cpu time"),
        phases=("start-up", "any work"),
        shows=_WAITED,
        beside=("block/*/nr_requests", "block/*/scheduler"),
        why="How many queues a disk has and how deep, for reads apart from writes, and whether any are polled: what "
        "is taken for polling and writing is missing for reads by interrupts. Few large reads in order fill a disk "
        "with any of them.",
        confirm="fio --rw=read --bs=1M --iodepth=32 --direct=1 on the weights in both runs",
        sources=("https://docs.kernel.org/block/index.html", PARAMETERS),
    ),
    Rule(
        name="disk-time-outs",
        sees=(
            *parameters("nvme_core", "io_timeout admin_timeout max_retries multipath shutdown_timeout iopolicy"),
            *parameters("scsi_mod", "eh_deadline scan inq_timeout"),
            *parameters("dm_multipath", "*"),
        ),
        moves=("availability", "storage"),
        phases=("start-up", "any work"),
        breaks="seldom",
        shows=_WAITED,
        why="How long a disk that does not answer is waited for, how often it is asked again, and by which of several "
        "ways. With a disk that answers it moves nothing, but for the choice of the way.",
        confirm="dmesg | grep -iE 'timeout|I/O error' around the run; nvme list-subsys for the ways",
        sources=("https://docs.kernel.org/admin-guide/nvme-multipath.html", PARAMETERS),
    ),
    Rule(
        name="zfs-cache",
        sees=parameters("zfs", "zfs_arc_* l2arc_* zfs_compressed_arc_enabled dbuf_cache_* dbuf_metadata_*"),
        moves=("host memory", "storage", "page cache"),
        breaks="seldom",
        beside=("memory/total",),
        told_by=("worker-killed", "host-memory-refused"),
        why="ZFS keeps what it read in a cache of its own, by default up to half of memory and more, which no page "
        "cache shows and which gives way late: weights come from it or from the disks, and pinned buffers may find no "
        "room beside it.",
        confirm="/proc/spl/kstat/zfs/arcstats: size, c_max, hits and misses over the start in both runs",
        sources=(ZFS,),
    ),
    Rule(
        name="zfs-reading",
        sees=parameters(
            "zfs", "zfs_prefetch_disable zfetch_* zfs_vdev_* zfs_read_chunk_size zfs_abd_* zfs_dio_* spa_load_verify_*"
        ),
        moves=("storage",),
        phases=("start-up", "any work"),
        shows=_WAITED,
        beside=("block/*/model",),
        why="How far ahead a file is read that is read in order, and how many requests a disk gets at once: with "
        "little of either, weights come at the latency of single reads.",
        confirm="zpool iostat -q 1 during a cold start in both runs",
        sources=(ZFS,),
    ),
    Rule(
        name="nfs-slots",
        sees=(
            *parameters("sunrpc", "tcp_slot_table_entries tcp_max_slot_table_entries udp_slot_table_entries pool_mode"),
            *parameters("nfs", "max_session_slots max_session_cb_slots nfs_mountpoint_expiry_timeout"),
            *parameters("nfsv4", "*"),
            *parameters("rpcrdma", "*"),
        ),
        moves=("storage", "network"),
        phases=("start-up", "any work"),
        shows=_WAITED,
        beside=("storage/*/models/*/mount/options", "storage/*/models/*/mount/type"),
        why="How many requests to one server may be under way: 64 for a session of NFS 4.1 unless told otherwise, each "
        "of rsize. Over a long way, and where many ranks read at once, they wait for a slot. Mounts that were there "
        "before keep what they had.",
        confirm="mountstats for the backlog's wait in both runs; mount anew with nconnect=8",
        sources=(PARAMETERS,),
    ),
    Rule(
        name="fuse-requests",
        sees=parameters("fuse", "max_user_bgreq max_user_congthresh enable_uring allow_sys_admin_access"),
        moves=("storage",),
        phases=("start-up", "any work"),
        shows=_WAITED,
        beside=("storage/*/models/*/mount/type",),
        why="How many reads ahead may wait in a file system of a program (object stores, caches of models), for users "
        "that are not root: fewer make it ask for one piece after another.",
        confirm="cat /sys/fs/fuse/connections/*/max_background and waiting during a cold start in both runs",
        sources=("https://docs.kernel.org/filesystems/fuse/fuse.html",),
    ),
    Rule(
        name="overlay-features",
        sees=parameters("overlay", "*"),
        moves=("storage", "page cache"),
        phases=("start-up", "any work"),
        why="Whether a container that changes a file's owner copies all of it up, and whether its layers are one to "
        "the page cache: the first start after it takes the time and the disk of whole layers.",
        confirm="time of a first and a second start in both runs; docker info for the features in use",
        sources=("https://docs.kernel.org/filesystems/overlayfs.html",),
    ),
    Rule(
        name="registrable-memory",
        sees=(
            *parameters("mlx4_core", "log_num_mtt log_mtts_per_seg"),
            *parameters("ib_mthca", "num_mtt log_mtts_per_seg"),
        ),
        moves=("availability", "network", "collective"),
        way="more helps",
        over_rdma=True,
        breaks="often",
        beside=("memory/total", "process/*/limits/memlock"),
        told_by=("register-gpu-memory-failed",),
        why="How much memory old adapters of Mellanox may have registered at one time, as powers of two: less than the "
        "host has, and registering fails, or is done and undone for each message. Later ones know no such bound.",
        confirm="2^log_num_mtt * 2^log_mtts_per_seg * 4 KiB against the host's memory; Open MPI warns of it",
        sources=("https://www.open-mpi.org/faq/?category=openfabrics",),
    ),
    Rule(
        name="rdma-adapter-parameters",
        sees=(
            *parameters("mlx5_core", "prof_sel num_of_groups guids node_guid probe_vf debug_mask"),
            *parameters("mlx5_ib", "dc_cnak_qp_depth"),
            *parameters("ib_core", "*"),
            *parameters("ib_uverbs", "*"),
            *parameters("irdma", "*"),
            *parameters("bnxt_re", "*"),
            *parameters("rdma_cm", "*"),
        ),
        moves=("network", "collective"),
        over_rdma=True,
        breaks="seldom",
        why="Profiles of the adapter's memory, its virtual functions, which kind of RDMA a card speaks (RoCE or "
        "iWARP): the last decides whether two hosts can talk at all, the others move little.",
        confirm="ibv_devinfo -v and ib_write_bw in both states",
        sources=(
            "https://docs.kernel.org/networking/device_drivers/ethernet/mellanox/mlx5/index.html",
            "https://docs.kernel.org/infiniband/index.html",
        ),
    ),
    Rule(
        name="ip-over-infiniband-queues",
        sees=parameters("ib_ipoib", "send_queue_size recv_queue_size ipoib_enhanced max_nonsrq_conn_qp debug_level"),
        moves=("network",),
        phases=("transfer", "start-up", "any work"),
        beside=("process/*/env/NCCL_SOCKET_IFNAME",),
        why="How many packets of IP over InfiniBand may wait: of account where NCCL goes by sockets over it, or files "
        "come over it, and for nothing that speaks RDMA.",
        confirm="iperf3 -P 4 over the interface in both states; ip -s link for drops",
        sources=("https://docs.kernel.org/infiniband/ipoib.html",),
    ),
    Rule(
        name="bond-defaults",
        sees=parameters("bonding", "*"),
        moves=("network", "availability"),
        phases=("transfer", "start-up", "any work"),
        breaks="seldom",
        why="How bonds made without settings of their own spread traffic and notice a dead link: one flow goes over "
        "one link with any of them but round robin, which brings packets out of order.",
        confirm="cat /proc/net/bonding/* in both runs; iperf3 -P 1 and -P 8",
        sources=("https://docs.kernel.org/networking/bonding.html",),
    ),
    Rule(
        name="virtual-network-offloads",
        sees=parameters("virtio_net", "csum gso napi_tx"),
        moves=("network", "cpu time"),
        best=("Y", "1"),
        phases=("transfer", "host latency", "start-up", "any work"),
        beside=("cpu/processor/hypervisor",),
        why="Whether a guest leaves checksums and cutting into packets to its host, and clears what was sent when told "
        "so: without, a core does it, packet by packet.",
        confirm="ethtool -k DEVICE in both runs; iperf3 with softirq time beside it",
        sources=("https://git.zx2c4.com/linux-dev/commit/?id=31c03aef9bc22a64a8324d650ca4198819ef3a33",),
    ),
    Rule(
        name="direct-storage-statistics",
        sees=parameters("nvidia_fs", "rw_stats_enabled peer_stats_enabled dbg_enabled info_enabled"),
        moves=("storage", "cpu time"),
        phases=("start-up", "any work"),
        way="less helps",
        why="Each read into GPU memory is counted and timed, or written to the log: percents of small reads, nothing "
        "of large ones.",
        confirm="echo 0 > /sys/module/nvidia_fs/parameters/rw_stats_enabled, then the same load",
        sources=(
            "https://docs.nvidia.com/gpudirect-storage/troubleshooting-guide/displaying-gds-nvidia-fs-driver-statistics.html",
        ),
    ),
    Rule(
        name="guest-halt-polling",
        sees=(
            *parameters("kvm", "halt_poll_ns*"),
            *parameters("haltpoll", "*"),
            *parameters("cpuidle_haltpoll", "*"),
            *parameters("kvm_intel", "ple_*"),
            *parameters("kvm_amd", "pause_filter_*"),
        ),
        moves=("wake latency", "cpu time"),
        beside=("cpu/processor/hypervisor",),
        why="How long host or guest spins before a virtual CPU that waits is put to sleep: microseconds less to wake, "
        "for a core that looks busy. Of account for guests, and for whoever shares their cores.",
        confirm="perf stat -e 'kvm:kvm_halt_poll_ns' -a sleep 10 on the host; echo 0 > .../halt_poll_ns",
        sources=(
            "https://docs.kernel.org/virt/kvm/halt-polling.html",
            "https://docs.kernel.org/virt/guest-halt-polling.html",
        ),
    ),
    Rule(
        name="guest-page-tables",
        sees=(
            *parameters("kvm", "nx_huge_pages* tdp_mmu mmio_caching flush_on_reuse"),
            *parameters("kvm_intel", "ept eptad pml unrestricted_guest vpid"),
            *parameters("kvm_amd", "npt sev* nested_paging"),
        ),
        moves=("page size", "host memory bandwidth"),
        beside=("cpu/processor/hypervisor", "cpu/mitigations/itlb_multihit"),
        why="How a guest's memory is mapped by its host: in huge pages or broken up into small ones where code runs "
        "(a mitigation), by the hardware or by exits. Each miss of the translation buffer in the guest walks both.",
        confirm="perf kvm stat live on the host; grep AnonHuge /proc/PID/smaps_rollup of qemu",
        sources=(
            "https://docs.kernel.org/admin-guide/hw-vuln/multihit.html",
            "https://docs.kernel.org/virt/kvm/index.html",
        ),
    ),
    Rule(
        name="guest-interrupts",
        sees=(
            *parameters(
                "kvm_intel", "enable_apicv enable_ipiv preemption_timer vmentry_l1d_flush enable_device_posted_irqs"
            ),
            *parameters("kvm_amd", "avic vgif vls enable_ipiv enable_device_posted_irqs"),
            *parameters("kvm", "lapic_timer_advance* min_timer_period_us enable_vmware_backdoor eager_page_split"),
        ),
        moves=("wake latency", "cpu time", "system calls"),
        beside=("cpu/processor/hypervisor",),
        why="Whether interrupts and timers reach a guest without its host: else each completion of a GPU, a NIC or a "
        "disk, and each wake of another core, leaves the guest and comes back, microseconds every time.",
        confirm="perf kvm stat live on the host: exits a second and their causes in both runs",
        sources=("https://docs.kernel.org/virt/kvm/index.html", PARAMETERS),
    ),
    Rule(
        name="idle-device-parameters",
        sees=tuple(
            f"kernel/modules/{name}/parameters/*"
            for name in (
                "snd",
                "snd_*",
                "usbcore",
                "usb_storage",
                "usbhid",
                "hid",
                "hid_*",
                "psmouse",
                "i8042",
                "bluetooth",
                "btusb",
                "cfg80211",
                "mac80211",
                "iwlwifi",
                "iwlmvm",
                "rtw8*",
                "ath*",
                "uvcvideo",
                "videobuf2_*",
                "joydev",
                "sr_mod",
                "cdrom",
                "parport*",
                "lp",
                "ppdev",
                "thunderbolt",
                "video",
                "backlight",
                "button",
                "battery",
                "efivarfs",
                "pstore",
                "ramoops",
                "binfmt_misc",
                "squashfs",
                "vfat",
                "fat",
                "loop",
                "ipmi_*",
                "acpi_ipmi",
                "mei*",
                "wmi*",
                "drm",
                "drm_*",
                "ast",
                "mgag200",
                "simpledrm",
                "soundcore",
                "autofs4",
            )
        ),
        moves=("availability", "system calls", "cpu time"),
        unused=True,
        why="Of sound, wireless, input, cameras, the console's picture and the like: takes no part in a step.",
        confirm="modinfo -p MODULE says what it is; unload the module and repeat",
        sources=("https://man7.org/linux/man-pages/man8/modinfo.8.html",),
    ),
)
