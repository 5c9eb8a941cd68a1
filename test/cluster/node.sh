# The one node: network, containerd, kubelet, kube-proxy (sourced).

# configuration FILE: writes its input there; an equal file stays as it is, because kube-proxy ends when its own is written to.
configuration() {
  local text
  text=$(cat)
  [ "$text" = "$(cat "$1" 2>/dev/null)" ] || printf '%s\n' "$text" >"$1"
}

make_network() {
  sysctl -qw net.ipv4.ip_forward=1
  modprobe br_netfilter 2>/dev/null || true # often compiled in
  [ ! -e /proc/sys/net/bridge/bridge-nf-call-iptables ] || sysctl -qw net.bridge.bridge-nf-call-iptables=1
  ip link show "$node_bridge" >/dev/null 2>&1 || ip link add "$node_bridge" type bridge
  [[ "$(ip addr show dev "$node_bridge")" = *" $node_ip/"* ]] || ip addr add "$node_ip/24" dev "$node_bridge"
  ip link set "$node_bridge" up
}

start_containerd() {
  mkdir -p "$state/etc/cni"
  configuration "$state/etc/cni/10-bridge.conflist" <<EOF
{"cniVersion": "0.4.0", "name": "$pod_network", "plugins": [
  {"type": "bridge", "bridge": "$pod_bridge", "isGateway": true, "ipMasq": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "$run/cni-ipam", "ranges": [[{"subnet": "$pod_cidr"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
EOF
  # restrict_oom_score_adj: a root without CAP_SYS_RESOURCE cannot lower the score of the first process of a Pod.
  configuration "$state/etc/containerd.toml" <<EOF
version = 2
root = "$state/containerd"
state = "$run/containerd"
[grpc]
  address = "$containerd_socket"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/kruntimes-cluster/pause:1"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$state/etc/cni"
EOF
  start containerd containerd -c "$state/etc/containerd.toml"
}

# Bounds of the kubelet: images are imported by hand, so they must not be collected (100 switches that off); the disk of a
# developer's machine may be fuller than a node's; a heartbeat each 2 s makes the node Ready sooner after a restart.
# oomScoreAdj and maxOpenFiles: as above, root may lack CAP_SYS_RESOURCE.
start_kubelet() {
  configuration "$state/etc/kubelet.yaml" <<EOF
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $node_ip
healthzPort: 0
containerRuntimeEndpoint: unix://$containerd_socket
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $pki/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $pki/kubelet.crt
tlsPrivateKeyFile: $pki/kubelet.key
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
clusterDomain: cluster.local
clusterDNS: [$dns_service_ip]
resolvConf: /dev/null
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
volumeStatsAggPeriod: 10s # a test waits until the kubelet has seen how large a volume is
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1%}
podLogsDir: $state/pod-logs
volumePluginDir: $state/volume-plugins
serializeImagePulls: false
maxPods: 110
nodeStatusUpdateFrequency: 2s
oomScoreAdj: 0
maxOpenFiles: 20000
EOF
  start kubelet "$bin/kubelet" --config="$state/etc/kubelet.yaml" --kubeconfig="$state/etc/kubelet.kubeconfig" \
    --root-dir="$state/kubelet" --cert-dir="$pki/kubelet" --hostname-override="$node" --node-ip="$node_ip" --v=1
}

start_proxy() {
  configuration "$state/etc/proxy.yaml" <<EOF
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
clientConnection: {kubeconfig: $state/etc/proxy.kubeconfig}
clusterCIDR: $pod_cidr
hostnameOverride: $node
oomScoreAdj: 0
metricsBindAddress: $node_ip:10249
healthzBindAddress: $node_ip:10256
nodePortAddresses: [$node_ip/32]
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
EOF
  start proxy "$bin/kube-proxy" --config="$state/etc/proxy.yaml"
}
