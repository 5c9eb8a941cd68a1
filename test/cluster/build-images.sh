#!/usr/bin/env bash
# Builds the images of the platform and of the ready-made Runtimes from their Dockerfiles, without a registry: on a Debian
# that is made here from packages. When the cluster of cluster:up runs, they are brought into it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/settings.sh"
. "$here/processes.sh"
. "$here/images.sh"

[ "$(id -u)" = 0 ] || die "Images are built by root here; with Docker or another builder use the Dockerfiles as they are."
"$here/packages.sh" buildah mmdebstrap
hold_cluster
mkdir -p "$cache"
exec 8>"$cache/images.lock"
flock 8

base=localhost/kruntimes-base/debian:bookworm
if ! has_image "$base"; then
  context=$(mktemp -d)
  trap 'rm -rf "$context"' EXIT
  # Without documentation and translations, as the slim images of Debian are.
  mmdebstrap --quiet --variant=minbase --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' bookworm "$context/debian.tar"
  printf 'FROM scratch\nADD debian.tar /\nCMD ["bash"]\n' >"$context/Dockerfile"
  build_images bud -q --isolation chroot -t "$base" "$context" >/dev/null
  say "a Debian to build on is there"
fi
PATH="$root/node_modules/.bin:$PATH" node "$root/scripts/bundle.ts" "$root/dist"
for each in kruntimes:Dockerfile kruntimes-bash:Dockerfile.bash kruntimes-python:Dockerfile.python; do
  image="localhost/${each%%:*}:test"
  build_image "$image" "$root/${each#*:}" "$root" --build-arg "DEBIAN=$base"
  say "$image is built"
  if pid_of containerd >/dev/null; then import_image "$image" && say "$image is in the cluster"; fi
done
# The examples name images of Docker Hub; in the cluster they stand for these.
if pid_of containerd >/dev/null; then
  for each in "debian:bookworm-slim $base" "python:3.13-slim localhost/kruntimes-python:test"; do
    read -r name image <<<"$each"
    build_images tag "$image" "docker.io/library/$name"
    import_image "docker.io/library/$name"
  done
  say "the images of the examples are in the cluster"
fi
