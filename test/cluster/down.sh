#!/usr/bin/env bash
# Stops the cluster that up.sh started and removes its mounts, network and rules; fails when something stays behind.
# Certificates, etcd and images stay for the next start, unless `--purge` is given. In a cluster of somebody else, only the
# release and the namespaces of the tests are removed.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/settings.sh"
. "$here/processes.sh"
. "$here/kernel-settings.sh"
. "$here/leftovers.sh"

if foreign_cluster; then
  exec "$here/leave-foreign.sh"
fi
if [ ! -e "$state" ]; then
  say "there is no cluster"
  exit
fi
[ "$(id -u)" = 0 ] || die "The cluster was started as root and can be stopped only by it."
hold_cluster
mkdir -p "$state"/{pid,log}
exec 8>"$state/lock"
flock 8
demand_no_other_cluster

# What starts containers goes first, then the containers, then what they stand on. No graceful end of Pods: nobody waits.
for name in kubelet proxy scheduler controller-manager; do end $name; done
for name in kubelet proxy scheduler controller-manager; do reap $name 3; done
end apiserver
if ctr_ version >/dev/null 2>&1; then
  ctr_ tasks ls -q | xargs -r -P 8 -n 1 ctr -a "$containerd_socket" -n k8s.io tasks rm -f >/dev/null 2>&1
  ctr_ containers ls -q | xargs -r ctr -a "$containerd_socket" -n k8s.io containers rm >/dev/null 2>&1
fi
reap apiserver 2 # its graceful end waits for all watches
for name in etcd containerd; do end $name; done
for name in etcd containerd; do reap $name 5; done
remove_leftovers
restore_kernel_settings
rm -rf "$run"
[ "${1:-}" != --purge ] || rm -rf "$state"
left=$(list_leftovers)
[ -z "$left" ] || die "The cluster has left behind:" "$left"
say "the cluster is down"
