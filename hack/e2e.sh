#!/bin/bash
# e2e.sh: the user stories on a real cluster. Which one: E2E_KUBECONFIG if set, else kind where a Docker engine and kind are there,
# else hack/cluster (root, Debian 12). What a killed run left behind is cleared first; at the end the machine is as it was.
#
#   KEEP=1           leave the cluster up for a look, and take the same one the next time
#   RUN=REGEXP       run these stories only, as go test -run does
#   LONG=1           run the stories that wait for minutes (TestLong...) and no others
#   E2E_KUBECONFIG   use this cluster; an h2surge in it is removed. It must have the images E2E_IMG and E2E_PROBE_IMG, or be able to pull them, or
#   E2E_LOAD         is a command that brings an image archive, its argument, to the cluster's nodes
#   E2E_EXCLUSIVE=0  the cluster's nodes hand out no exclusive CPUs: that story is skipped, and says so
set -euo pipefail
cd "$(dirname "$0")/.."
export GOFLAGS='-trimpath -buildvcs=false' CGO_ENABLED=0
img=${E2E_IMG:-localhost/h2surge:e2e} probe=${E2E_PROBE_IMG:-localhost/h2surge-probe:e2e}
kind_name=h2surge-e2e
LONG=${LONG:-}
RUN=${RUN:-${LONG:+^TestLong}}
RUN=${RUN:-.}

step() { printf '\n==> %s (%d s so far)\n' "$1" "$SECONDS"; }

choose() {
  if [ -n "${E2E_KUBECONFIG:-}" ]; then
    echo given
  elif command -v kind >/dev/null && timeout 10 docker info >/dev/null 2>&1; then
    echo kind
  else
    echo own
  fi
}

die() { echo "e2e.sh: $*" >&2; exit 1; }

# given: a cluster of E2E_KUBECONFIG, which is neither made nor removed
given_up() {
  export KUBECONFIG=$E2E_KUBECONFIG
  command -v kubectl >/dev/null || die "kubectl is missing: install it and put it on PATH"
  kubectl get --raw /readyz --request-timeout=10s >/dev/null || die "the cluster of E2E_KUBECONFIG does not answer: check $KUBECONFIG"
}
given_load() { if [ -n "${E2E_LOAD:-}" ]; then $E2E_LOAD "$1"; fi; }
given_clear() { given_up && clear_cluster; }
given_down() { clear_cluster; }

kind_up() {
  mkdir -p dist/e2e
  export KUBECONFIG=$PWD/dist/e2e/kind.kubeconfig
  kind get clusters 2>/dev/null | grep -qx $kind_name ||
    kind create cluster --name $kind_name --config test/e2e/kind.yaml --kubeconfig "$KUBECONFIG" --wait 120s
}
kind_load() { kind load image-archive "$1" --name $kind_name; }
kind_clear() { if [ -z "${KEEP:-}" ]; then kind delete cluster --name $kind_name 2>/dev/null || true; fi; }
kind_down() { kind delete cluster --name $kind_name; }

# own: hack/cluster. One that a developer brought up is used and stays; a mark tells it from one that an earlier run left.
own_env() {
  # shellcheck disable=SC1090
  . <(hack/cluster/env)
  own_mark=$CLUSTER_HOME/run/e2e
}
own_clear() {
  hack/cluster/up --check
  own_env
  [ -d "$CLUSTER_HOME/run" ] || return 0
  if [ -e "$own_mark" ] && [ -n "${KEEP:-}" ]; then return; fi
  if [ -e "$own_mark" ] || ! timeout 10 kubectl get --raw /readyz >/dev/null 2>&1; then
    echo "an earlier run left a cluster behind: taking it down"
    hack/cluster/down
  else
    echo "a cluster is up that no e2e run started: using it, and leaving it up"
  fi
}
own_up() {
  if [ ! -d "$CLUSTER_HOME/run" ]; then # create the mark first: this script may be killed at any time
    mkdir -p "$CLUSTER_HOME/run"
    touch "$own_mark"
  fi
  hack/cluster/up
  if [ ! -e "$own_mark" ]; then clear_cluster; fi
}
own_load() { hack/cluster/load-image "$1"; }
own_down() {
  if [ -e "$own_mark" ]; then hack/cluster/down; else clear_cluster; fi
}

# clear_cluster removes what the stories and the deployment put into a cluster that stays.
clear_cluster() {
  kubectl delete namespace -l h2surge.io/e2e=true --ignore-not-found --timeout=120s || true
  kubectl delete clusterroles,clusterrolebindings -l h2surge.io/e2e=true --ignore-not-found || true
  kubectl delete -k config/default --ignore-not-found --timeout=120s || true
}

finish() {
  local rc=$?
  trap - EXIT INT TERM
  if [ -n "${KEEP:-}" ]; then
    echo "KEEP: the cluster stays; KUBECONFIG=$KUBECONFIG"
  else
    step "putting the machine back as it was"
    "${cluster}_down" || rc=1
  fi
  step "e2e ends with status $rc"
  exit "$rc"
}

images() {
  make -s image IMG="$img" bin/tools/helm bin/tools/prometheus
  rm -rf dist/e2e/root
  go build -ldflags '-s -w' -o dist/e2e/root/probe ./test/e2e/probe
  mkdir -p dist/e2e/bin
  ln -sfn "$PWD/dist/root/linux/$(go env GOARCH)/kubectl-h2surge" dist/e2e/bin/kubectl-h2surge # the image's own program, for kubectl to find
  hack/image.sh dist/e2e/probe "$probe" dev /probe "linux/$(go env GOARCH)=dist/e2e/root"
}

deploy() {
  hack/overlay.sh "$img" dist/e2e/deploy
  hack/overlay.sh "$img" dist/e2e/target config/target
  hack/overlay.sh "$img" dist/e2e/target-rules config/target-rules
  kubectl apply -k dist/e2e/deploy
  kubectl -n h2surge-system wait --for=condition=Available deployment --all --timeout=120s || {
    kubectl -n h2surge-system describe pods
    kubectl -n h2surge-system logs --all-containers --tail=50 -l app.kubernetes.io/name=h2surge || true
    return 1
  }
}

# stories ARGUMENT...: runs them as "go test -v" does, with arguments of the test's program.
stories() {
  (cd test/e2e && go tool test2json -p github.com/h2surge/h2surge/test/e2e ../../dist/e2e/stories -test.v=test2json -test.timeout ${LONG:+1h}30m -test.parallel 4 "$@") |
    hack/gotest.sh -v
}

cluster=$(choose)
step "cluster: $cluster (given: E2E_KUBECONFIG, kind, own: hack/cluster)"
"${cluster}_clear"
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
"${cluster}_up"
step "images"
images
"${cluster}_load" dist/h2surge.tar
"${cluster}_load" dist/e2e/probe.tar
step "deploying config/default"
deploy
export E2E_CLUSTER=$cluster E2E_IMG=$img E2E_PROBE_IMG=$probe E2E_PLUGIN_DIR=$PWD/dist/e2e/bin
export E2E_DEPLOY_DIR=$PWD/dist/e2e/deploy E2E_TARGET_DIR=$PWD/dist/e2e/target E2E_TARGET_RULES_DIR=$PWD/dist/e2e/target-rules
go test -c -tags e2e -o dist/e2e/stories ./test/e2e
step "stories"
# test.parallel: as many stories of the language at a time as have room, with their targets, on a node of two CPUs
rc=0
wanted=$(cd test/e2e && ../../dist/e2e/stories -test.list "${RUN%%/*}")
skip='^(TestInstall|TestGettingStarted)$'
[ -n "$LONG" ] || skip+='|^TestLong'
if grep -vE "$skip" <<<"$wanted" >/dev/null; then
  stories -test.run "$RUN" -test.skip "$skip" || rc=1
fi
if grep -x TestInstall <<<"$wanted" >/dev/null; then
  step "installations: by kustomize, which ends here, and by Helm"
  installs='^TestInstall$'
  case $RUN in */*) installs+=/${RUN#*/} ;; esac
  stories -test.run "$installs" || rc=1
fi
if grep -x TestGettingStarted <<<"$wanted" >/dev/null; then
  step "docs/tutorials/on-a-cluster.md, on a cluster without h2surge"
  clear_cluster
  stories -test.run '^TestGettingStarted$' || rc=1
fi
exit $rc
