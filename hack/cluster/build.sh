# shellcheck shell=bash
# Sourced after lib.sh: builds what is missing in $BIN, from Go modules only. One throw-away module per program, because one
# for all would raise grpc, otel and golang.org/x above what Kubernetes was tested with. go.sum is made anew and checked
# against Go's checksum database.

# -trimpath everywhere: flags are part of the build cache's key, and a build without it would compile client-go once more.
# GOWORK and GOFLAGS of the project around us must not leak in.
gobuild() { CGO_ENABLED=0 GOWORK=off GOFLAGS='' GOOS='' GOARCH='' nice go build -trimpath -buildvcs=false "$@"; }
gotidy() { GOWORK=off GOFLAGS='' go mod tidy >"$LOG/tidy-${PWD##*/}.log" 2>&1 || die "go mod tidy failed, see $LOG/tidy-${PWD##*/}.log"; }

built() { [ -x "$BIN/$1" ] && [ -e "$BIN/.built/$1-$2" ]; }
mark_built() { mkdir -p "$BIN/.built"; rm -f "$BIN/.built/$1"-[0-9]*; touch "$BIN/.built/$1-$2"; }
module() { command -v go >/dev/null || die "go is needed to build $1"; mkdir -p "$CLUSTER_HOME/src/$1" "$BIN" "$LOG"; cd "$CLUSTER_HOME/src/$1" || exit; }

build_etcd() {
  built etcd "$ETCD_VERSION" || { (
    module etcd
    printf '%s\n' 'module cluster/etcd' 'go 1.26.0' "require go.etcd.io/etcd/server/v3 v$ETCD_VERSION" \
      'tool go.etcd.io/etcd/server/v3' >go.mod
    gotidy
    gobuild -ldflags '-s -w' -o "$BIN/etcd" go.etcd.io/etcd/server/v3
    mark_built etcd "$ETCD_VERSION"
  ); lap "built etcd"; }
}

# build_kube PROGRAM...
build_kube() {
  local c todo=()
  for c; do built "$c" "$K8S_VERSION" || todo+=("$c"); done
  [ ${#todo[@]} = 0 ] || { (
    module kube
    upstream=$(GOWORK=off GOFLAGS='' go list -m -f '{{.GoMod}}' "k8s.io/kubernetes@v$K8S_VERSION")
    {
      echo 'module cluster/kube'
      grep -E '^(go|godebug) ' "$upstream"
      echo "require k8s.io/kubernetes v$K8S_VERSION"
      for c in kube-apiserver kube-controller-manager kube-proxy kube-scheduler kubectl kubelet; do echo "tool k8s.io/kubernetes/cmd/$c"; done
      # k8s.io/kubernetes requires its staging modules at v0.0.0 and replaces them by folders which its module does not have
      sed -nE "s|^\t(k8s\.io/[a-z-]+) => \./staging.*|replace \1 => \1 v0.${K8S_VERSION#*.}|p" "$upstream"
    } >go.mod
    gotidy
    v=k8s.io/component-base/version minor=${K8S_VERSION#*.}
    # one go command for all makes the best use of the cores
    gobuild -ldflags "-s -w -X $v.gitVersion=v$K8S_VERSION -X $v.gitMajor=1 -X $v.gitMinor=${minor%.*} -X $v.gitTreeState=clean" \
      -o "$BIN/" "${todo[@]/#/k8s.io/kubernetes/cmd/}"
    for c in "${todo[@]}"; do mark_built "$c" "$K8S_VERSION"; done
  ); lap "built Kubernetes (${#todo[@]} programs)"; }
}

build_coredns() {
  built coredns "$COREDNS_VERSION" || { (
    module coredns
    cp "$HERE/src/coredns/main.go" .
    printf '%s\n' 'module cluster/coredns' 'go 1.26.0' "require github.com/coredns/coredns v$COREDNS_VERSION" >go.mod
    gotidy
    gobuild -ldflags '-s -w' -o "$BIN/coredns" .
    mark_built coredns "$COREDNS_VERSION"
  ); lap "built coredns"; }
}

# build_src NAME...: our own small programs (standard library only, so built by file name, without a module)
build_src() {
  local c
  for c; do
    [ "$BIN/$c" -nt "$HERE/src/$c/main.go" ] || (module src; gobuild -ldflags '-s -w' -o "$BIN/$c" "$HERE/src/$c/main.go")
  done
}

# build_crane: what hack/image.sh packs images with; its module is apart from ours
build_crane() {
  local src=$HERE/../tools/release
  [ "$BIN/crane" -nt "$src/go.mod" ] || (cd "$src" && gobuild -o "$BIN/crane" github.com/google/go-containerregistry/cmd/crane)
}

# pack NAME UID:GID: images/NAME.tar as localhost/NAME:1, with the program NAME alone in it
pack() {
  local root
  [ "$IMAGES/$1.tar" -nt "$BIN/$1" ] && return
  root=$(mktemp -d)
  cp "$BIN/$1" "$root/"
  CRANE=$BIN/crane IMAGE_USER=$2 "$HERE/../image.sh" "$IMAGES/$1" "localhost/$1:1" 1 "/$1" "linux/$(go env GOARCH)=$root" >&2
  rm -rf "$root"
}
