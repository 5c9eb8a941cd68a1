#!/usr/bin/env bash
# Prints the path of a kubectl for the tests: $KUBECTL when that is set, else kubectl of the version below, built once
# for the machine from Go modules into the user's cache. A first build takes some minutes; later calls take none.
set -euo pipefail

version=1.34.4
staging=v0.34.4 # version of the k8s.io/* modules that kubectl is made of

die() {
  printf '%s\n' "$@" >&2
  exit 1
}

if [ -n "${KUBECTL:-}" ]; then
  found=$(command -v "$KUBECTL") || die "KUBECTL is $KUBECTL, which is no program that can be run."
  echo "$found"
  exit
fi

platform="$(uname -s | tr '[:upper:]' '[:lower:]')-$(uname -m)"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/kruntimes/kubectl-$version-$platform"
if [ -x "$cache/kubectl" ]; then
  echo "$cache/kubectl"
  exit
fi

go=$(command -v go || ls /usr/local/go/bin/go 2>/dev/null) || die \
  "kubectl $version has to be built and there is no go in PATH." \
  "Install Go 1.21 or newer (https://go.dev/dl; the golang package of Debian 12 is too old, golang-1.2x of newer ones will do)," \
  "or set KUBECTL to a kubectl 1.34."
minor=$("$go" env GOVERSION | sed -E 's/^go1\.([0-9]+).*/\1/')
[ "$minor" -ge 21 ] || die \
  "kubectl $version has to be built, and $("$go" env GOVERSION) cannot: Go 1.21 or newer is needed (https://go.dev/dl), or set KUBECTL."

mkdir -p "$cache"
exec 9>"$cache/lock"
if command -v flock >/dev/null; then flock 9; fi # one build for all who ask at the same time
if [ ! -x "$cache/kubectl" ]; then
  echo "building kubectl $version into $cache (some minutes, once for this machine)" >&2
  module="$cache/module"
  rm -rf "$module" && mkdir -p "$module"
  cd "$module"
  # From 1.21 on, go fetches the toolchain that a module asks for; CGO is not needed.
  export CGO_ENABLED=0 GOFLAGS="-buildvcs=false -mod=mod" GOTOOLCHAIN="${GOTOOLCHAIN:-auto}"
  quiet() { nice -n 19 "$@" >>"$cache/build.log" 2>&1 || { tail -n 30 "$cache/build.log" >&2; die "see $cache/build.log"; }; }
  : >"$cache/build.log"
  "$go" mod init kubectlbuild 2>>"$cache/build.log"
  download=$(nice -n 19 "$go" mod download -json "k8s.io/kubernetes@v$version") || die "$download"
  directory=$(sed -nE 's/^\s*"Dir": "(.*)",?$/\1/p' <<<"$download")
  # k8s.io/kubernetes names its own parts by directories of its repository; as modules they have versions.
  while read -r part; do
    "$go" mod edit -replace "$part=$part@$staging"
  done < <(sed -nE 's|^\s*(k8s\.io/[a-z0-9-]+) => \./staging.*|\1|p' "$directory/go.mod")
  "$go" mod edit -go "$(sed -nE 's/^go ([0-9.]+)$/\1/p' "$directory/go.mod")"
  quiet "$go" get -tool "k8s.io/kubernetes/cmd/kubectl@v$version"
  names=k8s.io/component-base/version
  flags="-s -w -X $names.gitVersion=v$version -X $names.gitMajor=1 -X $names.gitMinor=34 -X $names.gitTreeState=clean"
  flags="$flags -X k8s.io/client-go/pkg/version.gitVersion=v$version"
  quiet "$go" build -trimpath -ldflags "$flags" -o "$cache/kubectl.new" k8s.io/kubernetes/cmd/kubectl
  mv "$cache/kubectl.new" "$cache/kubectl"
  rm -rf "$module"
fi
echo "$cache/kubectl"
