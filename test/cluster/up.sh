#!/usr/bin/env bash
# Starts a Kubernetes of one node, or nothing when it runs already or KUBECONFIG names another one; waits until a Pod ran
# in it; prints the path of its kubeconfig. Needs root on a Debian; everything else is installed or built.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/settings.sh"
. "$here/processes.sh"
. "$here/certificates.sh"
. "$here/control-plane.sh"
. "$here/kernel-settings.sh"
. "$here/node.sh"
. "$here/images.sh"
. "$here/leftovers.sh"
. "$here/able.sh"

if foreign_cluster; then
  "$here/check-foreign.sh"
  echo "$KUBECONFIG"
  exit
fi
[ "$(id -u)" = 0 ] || die "A cluster needs root (containers, bridges): run as root, or set KUBECONFIG to a cluster that may be used."

"$here/packages.sh" containerd runc containernetworking-plugins iptables conntrack openssl iproute2 procps buildah
demand_able_machine
"$here/build.sh" >/dev/null
mkdir -p "$state"/{etc,log,pid} "$run"
exec 8>"$state/lock"
flock 8 # two at a time would start everything twice
forget_dead
demand_no_other_cluster
if ! any_alive; then # after a start of the machine, or when everything was killed
  (set +eo pipefail; remove_leftovers)
  rm -rf "$run"
  mkdir -p "$run"
fi
echo "$state" >"$run/state"
remember_kernel_settings

make_certificates
make_network
start_etcd
start_containerd
start_api_server
until_ok 30 "containerd answers" ctr_ version
import_own_images
until_ok 120 "the API server is ready" kube get --raw /readyz
start_controllers
start_kubelet
start_proxy
# An earlier life of this cluster may have left a node that claims to be ready in etcd: its heartbeat tells.
node_ready() {
  local condition='{range .status.conditions[?(@.type=="Ready")]}'
  [ "$(kube get node "$node" -o jsonpath="$condition{.status}{end}")" = True ] &&
    [ "$(date -d "$(kube get node "$node" -o jsonpath="$condition{.lastHeartbeatTime}{end}")" +%s)" -ge "$(stat -c %Y "$state/pid/kubelet")" ]
}
until_ok 60 "the node is ready" node_ready
until_ok 30 "service accounts are made" kube -n kube-system get serviceaccount default
kube apply -f "$here/manifests/dns.yaml" >/dev/null
kube delete -f "$here/manifests/probe.yaml" --ignore-not-found --now >/dev/null
kube apply -f "$here/manifests/probe.yaml" >/dev/null
until_ok 70 "a Pod ran and reached a Service by its name" kube wait -n kube-system pod/cluster-probe \
  --for=jsonpath='{.status.phase}=Succeeded' --timeout=1s
kube delete -f "$here/manifests/probe.yaml" --now --wait=false >/dev/null
echo "$kubeconfig"
