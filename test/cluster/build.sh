#!/usr/bin/env bash
# Builds the programs of the test cluster (or those that are named) from Go modules into the user's cache, once for the
# machine and version, and prints their folder. Cold about 20 minutes on two cores; nothing to do when they are there.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/settings.sh"

kubernetes_programs="kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy"
mkdir -p "$bin"
exec 9>"$programs/lock"
flock 9 # one build for all who ask at the same time

missing=
wanted=${*:-$kubernetes_programs etcd coredns helm pause kubectl}
for name in $wanted; do [ -x "$bin/$name" ] || missing="$missing $name"; done
if [ -z "$missing" ]; then
  echo "$bin"
  exit
fi

go=$(command -v go || ls /usr/local/go/bin/go 2>/dev/null) || die \
  "The programs of the test cluster have to be built ($missing ) and there is no go in PATH." \
  "Install Go 1.21 or newer (https://go.dev/dl), or set KUBECONFIG to a cluster that may be used."
export CGO_ENABLED=0 GOFLAGS="-buildvcs=false -mod=mod" GOTOOLCHAIN="${GOTOOLCHAIN:-auto}"
log="$programs/build.log"
: >"$log"
echo "building$missing into $bin (about 20 minutes when nothing is cached, once for this machine)" >&2

quiet() { nice -n 19 "$@" >>"$log" 2>&1 || { tail -n 30 "$log" >&2; die "$* failed, see $log"; }; }

# module NAME: an empty module to build in, because `go install` of Kubernetes is impossible: it replaces its own parts.
module() {
  rm -rf "$programs/module" && mkdir -p "$programs/module" && cd "$programs/module"
  quiet "$go" mod init "$1"
}

# program NAME PACKAGE LINKER-FLAGS
program() {
  local start=$SECONDS
  quiet "$go" build -trimpath -ldflags "-s -w ${3:-}" -o "$bin/$1.new" "$2"
  mv "$bin/$1.new" "$bin/$1"
  echo "  $1 in $((SECONDS - start)) s" >&2
}

# needs NAME...: whether any of them has to be built.
needs() {
  local name
  for name in "$@"; do
    [[ " $missing " != *" $name "* ]] || return 0
  done
  return 1
}

# First, because other tests wait for it.
if needs kubectl; then ln -sf "$("$here/../../scripts/kubectl/build.sh")" "$bin/kubectl"; fi
if needs $kubernetes_programs etcd; then
  module kubernetesbuild
  download=$(nice -n 19 "$go" mod download -json "k8s.io/kubernetes@v$kubernetes_version") || die "$download"
  directory=$(sed -nE 's/^\s*"Dir": "(.*)",?$/\1/p' <<<"$download")
  while read -r part; do
    "$go" mod edit -replace "$part=$part@v$staging_version"
  done < <(sed -nE 's|^\s*(k8s\.io/[a-z0-9-]+) => \./staging.*|\1|p' "$directory/go.mod")
  "$go" mod edit -go "$(sed -nE 's/^go ([0-9.]+)$/\1/p' "$directory/go.mod")"
  tools=
  for name in $kubernetes_programs; do tools="$tools k8s.io/kubernetes/cmd/$name@v$kubernetes_version"; done
  quiet "$go" get -tool $tools "go.etcd.io/etcd/server/v3@v$etcd_version"
  stamp="k8s.io/component-base/version"
  stamps="-X $stamp.gitVersion=v$kubernetes_version -X $stamp.gitMajor=1 -X $stamp.gitMinor=34 -X $stamp.gitTreeState=clean"
  stamps="$stamps -X k8s.io/client-go/pkg/version.gitVersion=v$kubernetes_version"
  for name in $kubernetes_programs; do ! needs "$name" || program "$name" "k8s.io/kubernetes/cmd/$name" "$stamps"; done
  ! needs etcd || program etcd go.etcd.io/etcd/server/v3
fi
if needs coredns; then
  module corednsbuild
  cp "$here/programs/coredns.go.txt" main.go
  "$go" mod edit -require "github.com/coredns/coredns@v$coredns_version"
  quiet "$go" mod tidy
  program coredns .
fi
if needs helm; then
  module helmbuild
  quiet "$go" get -tool "helm.sh/helm/v3/cmd/helm@v$helm_version"
  program helm helm.sh/helm/v3/cmd/helm "-X helm.sh/helm/v3/internal/version.version=v$helm_version"
fi
if needs pause; then
  module pausebuild
  cp "$here/programs/pod.go.txt" main.go
  program pause .
fi
rm -rf "$programs/module"
echo "$bin"
