# What the scripts of this folder agree on (sourced).

platform="$(uname -s | tr '[:upper:]' '[:lower:]')-$(uname -m)"

# Versions of what the cluster is made of. etcd is the one that Kubernetes 1.34 pins, so that both share compiled packages.
kubernetes_version=1.34.4
staging_version=0.34.4 # of the k8s.io/* modules that Kubernetes is made of
etcd_version=3.6.4
coredns_version=1.12.4 # older ones do not compile with client-go 0.34
helm_version=3.22.0

# Programs and images: once for the machine, shared by all checkouts.
cache="${XDG_CACHE_HOME:-$HOME/.cache}/kruntimes"
programs="$cache/kubernetes-$kubernetes_version-$platform"
bin="$programs/bin"

# Certificates, etcd, containers and logs of the one cluster of this machine.
state="${XDG_STATE_HOME:-$HOME/.local/state}/kruntimes/cluster"
logs="$state/log"
kubeconfig="$state/admin.kubeconfig"
run=/run/kruntimes-cluster # sockets: their paths have at most 107 bytes
containerd_socket="$run/containerd.sock"

node=node1
node_bridge=krt-node # the node's address is on a bridge without ports: independent of the machine's network, reachable from Pods
pod_bridge=krt-pods
pod_network=krt-cluster # name of the CNI network; it marks its iptables rules
node_ip=172.30.0.1
pod_cidr=10.244.0.0/24
service_cidr=10.96.0.0/16
api_service_ip=10.96.0.1
dns_service_ip=10.96.0.10
etcd_client=http://127.0.0.1:23790 # not etcd's usual ports: another one may run here
etcd_peer=http://127.0.0.1:23800

# What tests may put into a cluster of somebody else.
test_release=kruntimes-test
test_namespace=kruntimes-test
test_label=kruntimes.io/test=true # on each namespace of a test

die() {
  printf '%s\n' "$@" >&2
  exit 1
}

say() { printf '%4d s  %s\n' "$SECONDS" "$*" >&2; }

kube() { "$bin/kubectl" --kubeconfig="$kubeconfig" "$@"; }
ctr_() { ctr -a "$containerd_socket" -n k8s.io "$@"; }

# Whether KUBECONFIG names a cluster of somebody else: then that one is used, and never changed beyond our own objects.
foreign_cluster() { [ -n "${KUBECONFIG:-}" ] && [ "$KUBECONFIG" != "$kubeconfig" ]; }

# hold_cluster: until the script ends, no other checkout tests on this machine's cluster, changes its images or stops it.
# Descendants of a holder have it already.
hold_cluster() {
  [ -z "${KRUNTIMES_CLUSTER_IS_HELD:-}" ] || return 0
  mkdir -p "$(dirname "$state")"
  exec 7>"$state.held"
  flock -n 7 || {
    say "another checkout uses the cluster of this machine; waiting for an hour at most"
    flock -w 3600 7 || die "another checkout still uses it: find the holder of $state.held, for example with fuser"
  }
  export KRUNTIMES_CLUSTER_IS_HELD=yes
}
