# shellcheck shell=bash
# Sourced by every command: paths, addresses, starting and stopping of daemons.
# shellcheck disable=SC2034  # most of these are used by the scripts that source this file, or by name in render

HERE=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
. "$HERE/versions.env"

die() { echo "${0##*/}: $*" >&2; exit 1; }

export CLUSTER_HOME=${CLUSTER_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/h2surge-cluster}
case $CLUSTER_HOME in /*[!A-Za-z0-9/._-]* | [!/]*) die "CLUSTER_HOME must be an absolute path of letters, digits and . _ - /" ;; esac
[ ${#CLUSTER_HOME} -le 70 ] || die "CLUSTER_HOME is too long: unix sockets below it may have 107 characters"
BIN=$CLUSTER_HOME/bin RUN=$CLUSTER_HOME/run IMAGES=$CLUSTER_HOME/images LOG=$CLUSTER_HOME/log
PKI=$RUN/pki CONF=$RUN/conf

NODE=node-1 NODE_IP=10.250.0.1
POD_CIDR=10.244.0.0/16 NODE_POD_CIDR=10.244.0.0/24      # the second is what the controller-manager gives the first node
SVC_CIDR=10.96.0.0/16 API_SVC_IP=10.96.0.1 DNS_IP=10.96.0.10
NODE_LINK=h2snode0 POD_LINK=h2spods0 CNI_NET=h2surge-cluster GUARD=h2surge_cluster
ETCD_URL=http://127.0.0.1:12379 ETCD_PEER=http://127.0.0.1:12380      # not 2379: other etcds (envtest) come and go there

export PATH=$BIN:$PATH:/usr/sbin:/sbin
export KUBECONFIG=$CONF/admin.kubeconfig
export KUBECACHEDIR=$RUN/kubectl-cache      # goes with the cluster: discovery data of the last one would mislead kubectl
export CONTAINERD_ADDRESS=$RUN/containerd/containerd.sock CONTAINERD_NAMESPACE=k8s.io
# kubectl must not ask a proxy for the node's address
export NO_PROXY=${NO_PROXY:+$NO_PROXY,}127.0.0.1,$NODE_IP,$POD_CIDR,$SVC_CIDR
export no_proxy=$NO_PROXY

need_root() { [ "$(id -u)" = 0 ] || die "needs root"; }
need_up() { { alive containerd && alive kube-apiserver; } || die "the cluster is down: run $HERE/up"; }
one_at_a_time() { mkdir -p "$CLUSTER_HOME"; exec 9>"$CLUSTER_HOME/lock"; flock 9; }

# lap TEXT: seconds since the last lap and since the start
T_START=${EPOCHREALTIME/./} T_LAP=$T_START
lap() {
  local now=${EPOCHREALTIME/./} a b
  a=$(((now - T_LAP) / 100000)) b=$(((now - T_START) / 100000)) T_LAP=$now
  printf '%-34s %4d.%d s  (%d.%d s)\n' "$1" $((a / 10)) $((a % 10)) $((b / 10)) $((b % 10)) >&2
}

# birth PID: its start time; nothing for a dead one or a zombie (whoever is pid 1 may reap late)
birth() { awk '$3 != "Z" {print $22}' "/proc/$1/stat" 2>/dev/null || true; }

# alive NAME: the recorded process runs. The start time keeps us from taking (or killing) a stranger with a reused pid.
alive() {
  local pid t
  [ -f "$RUN/pid/$1" ] && read -r pid t <"$RUN/pid/$1" && [ -n "$t" ] && [ "$(birth "$pid")" = "$t" ]
}

# start NAME CMD...: in a session of its own, so that it outlives this shell (there is no systemd to ask)
start() {
  local name=$1 log=$LOG/$1.log
  shift
  if alive "$name"; then return; fi
  mkdir -p "$RUN/pid" "$LOG"
  [ ! -f "$log" ] || mv "$log" "$log.old"
  # no proxies: containerd must not find a way out. 9 is the lock, which daemons must not hold.
  env -u http_proxy -u https_proxy -u all_proxy -u HTTP_PROXY -u HTTPS_PROXY -u ALL_PROXY \
    setsid "$@" </dev/null >"$log" 2>&1 9>&- &
  echo "$! $(birth $!)" >"$RUN/pid/$name"
}

# stop NAME...: SIGTERM to all, then wait for each; SIGKILL after 10 s
stop() {
  local name pid i
  for name; do
    if alive "$name"; then read -r pid _ <"$RUN/pid/$name" && kill "$pid"; fi
  done
  for name; do
    for ((i = 0; i < 100; i++)); do alive "$name" || break; sleep .1; done
    if alive "$name"; then read -r pid _ <"$RUN/pid/$name" && kill -9 "$pid"; fi
    rm -f "$RUN/pid/$name"
  done
}

# waitfor SECONDS DAEMON CMD...: until CMD succeeds; gives up at once, with the log's end, when DAEMON is dead ("" for none)
waitfor() {
  local end=$((SECONDS + $1)) name=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    if [ -n "$name" ] && ! alive "$name"; then tail -5 "$LOG/$name.log" >&2; die "$name died, see $LOG/$name.log"; fi
    if [ $SECONDS -ge $end ]; then echo "${0##*/}: timeout: $*" >&2; return 1; fi
    sleep .2
  done
}

# render TEMPLATE OUTPUT: @NAME@ becomes the value of the variable NAME
render() {
  local v e=()
  for v in RUN PKI CONF NODE NODE_IP POD_CIDR NODE_POD_CIDR DNS_IP POD_LINK CNI_NET; do e+=(-e "s|@$v@|${!v}|g"); done
  sed "${e[@]}" "$1" >"$2.new"
  mv "$2.new" "$2" # at one go: containerd watches its CNI folder and would read half a file
}
