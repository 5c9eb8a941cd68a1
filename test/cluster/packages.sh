#!/usr/bin/env bash
# Installs those of the given Debian packages that are missing.
set -euo pipefail
missing=
for package in "$@"; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
command -v apt-get >/dev/null || {
  echo "The programs of these Debian packages are needed:$missing. This system has no apt-get to install them with." >&2
  exit 1
}
echo "installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
# A service that a package brings must not start: the cluster runs its own.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod +x "$policy"
  trap 'rm -f "$policy"' EXIT
fi
if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing; } >"$log" 2>&1; then
  tail -n 30 "$log" >&2
  exit 1
fi
rm -f "$log"
