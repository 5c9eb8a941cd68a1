#!/usr/bin/env bash
# Says `held` when the cluster of this machine is ours, and holds it until its input ends.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/settings.sh"
hold_cluster
echo held
cat >/dev/null
