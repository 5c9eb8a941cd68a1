# Whether this machine can be a node at all (sourced): told before anything is built or started, all of it at once.

problems=()
needs_that() { # COMMAND WHAT-IS-WRONG
  (eval "$1") >/dev/null 2>&1 || problems+=("- $2")
}

# In namespaces of their own: nothing of a trial outlives it.
trial_overlay='unshare --mount sh -c "mount -t tmpfs none /mnt && cd /mnt && mkdir lower upper work all &&
  mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work none all"'
trial_bridge='unshare --net sh -c "ip link add krt-trial type bridge && ip link add krt-a type veth peer name krt-b"'
trial_rules='unshare --net iptables -w -t nat -A PREROUTING -p tcp -m comment --comment trial -m statistic --mode random \
  --probability 0.5 -j RETURN'
# With cgroup v2 a container's own cgroup often has no controllers to hand on.
trial_cgroups='if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    for each in cpu memory pids; do grep -qw $each /sys/fs/cgroup/cgroup.controllers || exit 1; done
    dir=/sys/fs/cgroup/krt-trial-$$
  else
    dir=/sys/fs/cgroup/memory/krt-trial-$$
  fi
  mkdir -p $dir && rmdir $dir'

demand_able_machine() {
  problems=()
  needs_that '[ "$(uname -s)" = Linux ]' "it is no Linux"
  needs_that '[ "$(id -u)" = 0 ]' "containers and bridges need root"
  needs_that 'unshare --mount --pid --fork true' "namespaces cannot be made (CAP_SYS_ADMIN)"
  needs_that "$trial_overlay" "overlay file systems cannot be mounted"
  needs_that "$trial_bridge" "bridges cannot be made (CAP_NET_ADMIN, or the kernel modules bridge and veth)"
  needs_that "$trial_rules" "iptables cannot add rules (CAP_NET_ADMIN, or its kernel modules)"
  needs_that "$trial_cgroups" "cgroups for cpu, memory and pids cannot be made in /sys/fs/cgroup"
  [ "${#problems[@]}" = 0 ] || die "A cluster of one node cannot run on this machine:" "${problems[@]}" \
    "Run as root on a machine or in a privileged container, or set KUBECONFIG to a cluster that may be used."
}
