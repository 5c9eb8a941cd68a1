#!/usr/bin/env bash
# usage: export-root.sh NAME DIRECTORY
# Writes the root file system of an image to an empty directory: of one that cluster:images has built (kruntimes,
# kruntimes-bash, kruntimes-python), or of one that is made from roots/NAME.Dockerfile.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/settings.sh"
. "$here/images.sh"
exec 8>"$cache/images.lock"
flock 8

image="localhost/$1:test"
if [ -e "$here/roots/$1.Dockerfile" ]; then
  image="localhost/kruntimes-root/${1//+/p}:test"
  build_image "$image" "$here/roots/$1.Dockerfile" "$here/roots" --build-arg DEBIAN=localhost/kruntimes-base/debian:bookworm
fi
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
echo "FROM $image" >"$context/Dockerfile"
build_images bud -q --isolation chroot --output "type=local,dest=$2" "$context" >/dev/null
chmod 755 "$2"
