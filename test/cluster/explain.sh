#!/usr/bin/env bash
# After a failed run of the tests: keeps what the cluster can tell in a folder, and prints the lines that most likely say why.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/settings.sh"
. "$here/processes.sh"

folder="$state/failures/$(date -u +%Y%m%dT%H%M%S)"
mkdir -p "$folder"
# The last three are kept.
ls -d "$state"/failures/* | head -n -3 | xargs -r rm -rf

if foreign_cluster; then
  ask() { timeout 30 "$bin/kubectl" "$@"; }
else
  cp -r "$logs" "$folder/processes" 2>/dev/null
  for file in "$state"/pid/*; do
    [ ! -e "$file" ] || pid_of "${file##*/}" >/dev/null || echo "${file##*/} of the cluster has ended; the end of its log:" \
      "$(tail -n 5 "$logs/${file##*/}.log")"
  done
  ask() { timeout 30 "$bin/kubectl" --kubeconfig="$kubeconfig" "$@"; }
fi

if [ -x "$bin/kubectl" ] && ask get --raw /readyz >/dev/null 2>&1; then
  ask get pods -A -o wide >"$folder/pods.txt" 2>&1
  ask get events -A --sort-by=.metadata.creationTimestamp >"$folder/events.txt" 2>&1
  ask get runtimes,runs,persistentworkspaces,workflowruns -A -o yaml >"$folder/objects.yaml" 2>&1
  ask describe pods -A >"$folder/describe.txt" 2>&1
  for pod in $(ask get pods -n "$test_namespace" -o name 2>/dev/null); do
    for which in false true; do
      ask logs -n "$test_namespace" "$pod" --previous=$which >>"$folder/platform.log" 2>/dev/null
    done
  done
  echo "-- Pods that do not run"
  grep -vE ' (Running|Completed) ' "$folder/pods.txt" | tail -n 20
  echo "-- the last warnings"
  grep ' Warning ' "$folder/events.txt" | grep -v 'Readiness probe failed' | tail -n 20 | cut -c 1-300
  echo "-- the last complaints of scheduler, controller and webhook"
  grep -E '"level":"?(warn|error|fatal|[456]0)' "$folder/platform.log" 2>/dev/null | tail -n 15 | cut -c 1-300
else
  echo "-- the API server does not answer"
fi
for name in apiserver kubelet containerd; do
  [ ! -e "$folder/processes/$name.log" ] || {
    echo "-- the last errors of $name"
    grep -E '^E[0-9]{4}|level=(error|fatal)' "$folder/processes/$name.log" | grep -v NotFound | tail -n 5 | cut -c 1-300
  }
done
echo "-- everything is in $folder"
