# etcd, API server, controller manager and scheduler (sourced).

start_etcd() {
  start etcd "$bin/etcd" --name="$node" --data-dir="$state/etcd" \
    --listen-client-urls="$etcd_client" --advertise-client-urls="$etcd_client" \
    --listen-peer-urls="$etcd_peer" --initial-advertise-peer-urls="$etcd_peer" --initial-cluster="$node=$etcd_peer" \
    --log-level=warn --auto-compaction-retention=5m
}

start_api_server() {
  start apiserver "$bin/kube-apiserver" --advertise-address="$node_ip" --bind-address="$node_ip" --secure-port=6443 \
    --etcd-servers="$etcd_client" --service-cluster-ip-range="$service_cidr" --allow-privileged=true \
    --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction \
    --client-ca-file="$pki/ca.crt" --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" \
    --kubelet-client-certificate="$pki/apiserver-kubelet-client.crt" --kubelet-client-key="$pki/apiserver-kubelet-client.key" \
    --kubelet-certificate-authority="$pki/ca.crt" --kubelet-preferred-address-types=InternalIP \
    --service-account-issuer=https://kubernetes.default.svc.cluster.local \
    --service-account-key-file="$pki/sa.pub" --service-account-signing-key-file="$pki/sa.key" \
    --requestheader-client-ca-file="$pki/front-proxy-ca.crt" --requestheader-allowed-names=front-proxy-client \
    --requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group \
    --requestheader-extra-headers-prefix=X-Remote-Extra- \
    --proxy-client-cert-file="$pki/front-proxy-client.crt" --proxy-client-key-file="$pki/front-proxy-client.key" \
    --enable-aggregator-routing=true --profiling=false \
    --audit-policy-file="$here/../../docs/audit-policy.yaml" --audit-log-path="$logs/audit.log" \
    --audit-log-maxsize=20 --audit-log-maxbackup=1
}

start_controllers() {
  start controller-manager "$bin/kube-controller-manager" --secure-port=0 --leader-elect=false \
    --kubeconfig="$state/etc/controller-manager.kubeconfig" --root-ca-file="$pki/ca.crt" \
    --service-account-private-key-file="$pki/sa.key" --use-service-account-credentials=true
  start scheduler "$bin/kube-scheduler" --secure-port=0 --leader-elect=false --kubeconfig="$state/etc/scheduler.kubeconfig"
}
