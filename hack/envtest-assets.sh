#!/bin/bash
# envtest-assets.sh: prints the directory of kube-apiserver, etcd and kubectl for envtest. KUBEBUILDER_ASSETS if set, else what
# setup-envtest has or can download in a few seconds, else what hack/cluster builds from Go modules (some 5 minutes, once).
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/cluster/versions.env

if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
  echo "envtest: KUBEBUILDER_ASSETS is set" >&2
  echo "$KUBEBUILDER_ASSETS"
  exit
fi
# What has been built here before is at hand without asking anybody.
built=$(hack/cluster/envtest-assets --built)
if [ -n "$built" ]; then
  echo "envtest: Kubernetes $K8S_VERSION, built before" >&2
  echo "$built"
  exit
fi
make -s bin/tools/setup-envtest >&2
minor=${K8S_VERSION%.*}
if dir=$(bin/tools/setup-envtest use -i -p path "$minor.x" 2>/dev/null) && [ -n "$dir" ] ||
  dir=$(timeout 20 bin/tools/setup-envtest use -p path "$minor.x" 2>/dev/null) && [ -n "$dir" ]; then
  echo "envtest: Kubernetes $minor by setup-envtest" >&2
  echo "$dir"
  exit
fi
echo "envtest: download failed, building kube-apiserver and etcd $K8S_VERSION and $ETCD_VERSION from Go modules (once, about 5 minutes)" >&2
hack/cluster/envtest-assets
