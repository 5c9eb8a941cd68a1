# What a cluster leaves on the machine when its processes are gone (sourced).

shims() { pgrep -f "containerd-shim-runc-v2 .*-address $containerd_socket"; }
# Processes whose root is an overlay of our containerd: they outlive a shim that was killed.
contained() {
  local file
  for file in /proc/[0-9]*/mountinfo; do
    ! awk -v a="$state/containerd/" '$5 == "/" && index($0, a) {found = 1} END {exit !found}' "$file" 2>/dev/null ||
      basename "$(dirname "$file")"
  done
}
mounts() { awk -v a="$state/" -v b="$run/" 'index($2, a) == 1 || index($2, b) == 1 {print $2}' /proc/mounts | sort -r; }
bridges() { ip -o link show type bridge | awk -F': ' '{print $2}' | grep -xE "$node_bridge|$pod_bridge"; }
# Network namespaces of Pods are those whose address on the Pods' bridge is gone with it or still there: CNI names them cni-UUID.
namespaces() { ip netns list 2>/dev/null | awk '/^cni-/ {print $1}'; }
rules() { iptables-save 2>/dev/null | grep -E -e '(^:|-j |^-A )(KUBE|CNI)-' -e "$pod_network"; }

remove_leftovers() {
  local each table
  for each in $(shims) $(contained); do kill -9 "$each"; done
  for each in $(mounts); do umount -l "$each"; done
  for each in $(namespaces); do ip netns del "$each"; done
  for each in $(bridges); do ip link del "$each"; done
  for table in nat filter mangle; do remove_rules $table; done
  # Cgroups of Pods: only empty ones can be removed, so no other kubelet is disturbed.
  find /sys/fs/cgroup -depth -type d -path '*/kubepods*' -exec rmdir {} + 2>/dev/null
}

# Rules that lead to our chains, then the chains.
remove_rules() {
  local table=$1 rule chain
  iptables-save -t "$table" 2>/dev/null | grep -E -e '-j (KUBE|CNI)-' -e "$pod_network" | sed 's/^-A/-D/' |
    while read -r rule; do eval "iptables -w -t $table $rule" 2>/dev/null; done
  for chain in $(iptables-save -t "$table" 2>/dev/null | sed -nE 's/^:((KUBE|CNI)-[^ ]+).*/\1/p'); do
    iptables -w -t "$table" -F "$chain"
  done
  for chain in $(iptables-save -t "$table" 2>/dev/null | sed -nE 's/^:((KUBE|CNI)-[^ ]+).*/\1/p'); do
    iptables -w -t "$table" -X "$chain"
  done
}

list_leftovers() {
  local each
  for each in $(shims); do echo "process $each (containerd-shim)"; done
  for each in $(contained); do echo "process $each (of a container)"; done
  for each in $(mounts); do echo "mount $each"; done
  for each in $(namespaces); do echo "network namespace $each"; done
  for each in $(bridges); do echo "bridge $each"; done
  rules | sed 's/^/iptables rule /'
}
