# Certificates and kubeconfigs of the cluster (sourced); made once and kept until the state is purged.

pki="$state/pki"

authority() { # NAME
  [ -s "$pki/$1.crt" ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj "/CN=$1" \
    -addext "keyUsage=critical,keyCertSign,cRLSign,digitalSignature" -keyout "$pki/$1.key" -out "$pki/$1.crt" 2>/dev/null
}

certificate() { # NAME SUBJECT AUTHORITY [ALTERNATIVE-NAMES]
  [ ! -s "$pki/$1.crt" ] || return 0
  openssl ecparam -name prime256v1 -genkey -noout -out "$pki/$1.key"
  openssl req -new -key "$pki/$1.key" -subj "$2" -out "$pki/$1.csr"
  {
    echo "keyUsage=critical,digitalSignature,keyEncipherment"
    echo "extendedKeyUsage=clientAuth,serverAuth"
    echo "basicConstraints=critical,CA:FALSE"
    [ -z "${4:-}" ] || echo "subjectAltName=$4"
  } >"$pki/$1.ext"
  openssl x509 -req -in "$pki/$1.csr" -CA "$pki/$3.crt" -CAkey "$pki/$3.key" -CAcreateserial -days 3650 \
    -extfile "$pki/$1.ext" -out "$pki/$1.crt" 2>/dev/null
}

write_kubeconfig() { # CERTIFICATE FILE
  [ ! -s "$2" ] || return 0
  (umask 077 && cat >"$2") <<EOF
apiVersion: v1
kind: Config
clusters:
- name: kruntimes-test
  cluster: {server: "https://$node_ip:6443", certificate-authority-data: $(base64 -w0 "$pki/ca.crt")}
users:
- name: $1
  user: {client-certificate-data: $(base64 -w0 "$pki/$1.crt"), client-key-data: $(base64 -w0 "$pki/$1.key")}
contexts:
- name: kruntimes-test
  context: {cluster: kruntimes-test, user: $1}
current-context: kruntimes-test
EOF
}

make_certificates() {
  mkdir -p "$pki"
  chmod 700 "$pki"
  authority ca
  authority front-proxy-ca
  if [ ! -s "$pki/sa.pub" ]; then
    openssl ecparam -name prime256v1 -genkey -noout -out "$pki/sa.key"
    openssl ec -in "$pki/sa.key" -pubout -out "$pki/sa.pub" 2>/dev/null
  fi
  local api="DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc"
  certificate apiserver /CN=kube-apiserver ca \
    "$api,DNS:kubernetes.default.svc.cluster.local,IP:127.0.0.1,IP:$node_ip,IP:$api_service_ip"
  certificate apiserver-kubelet-client /O=system:masters/CN=kube-apiserver-kubelet-client ca
  certificate front-proxy-client /CN=front-proxy-client front-proxy-ca
  certificate kubelet "/O=system:nodes/CN=system:node:$node" ca "DNS:$node,IP:$node_ip"
  certificate admin /O=system:masters/CN=admin ca
  local name
  for name in controller-manager scheduler proxy; do certificate $name "/CN=system:kube-$name" ca; done
  write_kubeconfig admin "$kubeconfig"
  for name in controller-manager scheduler proxy kubelet; do write_kubeconfig $name "$state/etc/$name.kubeconfig"; done
}
