"""Programs that run a command where nobody looked: in another container, or on another host."""

ELSEWHERE = frozenset(
    ("apptainer", "crictl", "docker", "enroot", "kubectl", "nerdctl", "podman", "singularity", "srun", "ssh")
)
