#!/usr/bin/env bash
# Removes from the cluster of KUBECONFIG what the tests put there: their release and their namespaces.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/settings.sh"
"$here/build.sh" kubectl helm >/dev/null
"$bin/helm" uninstall "$test_release" --namespace "$test_namespace" --ignore-not-found --wait >/dev/null
"$bin/kubectl" delete namespaces -l "$test_label" --wait >/dev/null
say "the release and the namespaces of the tests are gone"
