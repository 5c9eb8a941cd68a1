#!/usr/bin/env bash
# Whether the cluster of KUBECONFIG can be used by the tests: it answers, is new enough, and lets us do what they do.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/settings.sh"
"$here/build.sh" kubectl helm >/dev/null
minor=$("$bin/kubectl" get --raw /version | sed -nE 's/.*"minor": "([0-9]+).*/\1/p') ||
  die "The cluster of KUBECONFIG=$KUBECONFIG does not answer; correct it, or unset KUBECONFIG for a cluster of our own."
[ "$minor" -ge 32 ] || die "The cluster of KUBECONFIG is Kubernetes 1.$minor; the tests need 1.32 or newer."
[ "$("$bin/kubectl" auth can-i '*' '*' --all-namespaces)" = yes ] ||
  die "The user of KUBECONFIG must be an administrator: the tests install definitions, roles and webhooks."
[ -n "${KRUNTIMES_TEST_IMAGES:-}" ] || die \
  "The cluster of KUBECONFIG cannot take images from this machine. Build them (npm run bundle, then each Dockerfile), push them" \
  "as PREFIX/kruntimes:test, PREFIX/kruntimes-bash:test and PREFIX/kruntimes-python:test, and set KRUNTIMES_TEST_IMAGES=PREFIX."
