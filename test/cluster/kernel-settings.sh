# Kernel settings that kubelet, kube-proxy and the network change: remembered at the start, put back at the end (sourced).

remembered="$state/kernel-settings"

remember_kernel_settings() {
  [ ! -e "$remembered" ] || return 0
  local name
  for name in net.ipv4.ip_forward net.ipv4.conf.all.route_localnet net.bridge.bridge-nf-call-iptables \
    vm.overcommit_memory vm.panic_on_oom kernel.panic kernel.panic_on_oops; do
    sysctl -e "$name" 2>/dev/null || true # one that this kernel has not is none to put back
  done >"$remembered"
}

restore_kernel_settings() {
  [ ! -e "$remembered" ] || { sysctl -q -e -p "$remembered" >/dev/null 2>&1 || true; rm -f "$remembered"; }
}
