# shellcheck shell=bash
# Sourced by up: finds within a second what would make it fail after minutes of building.

# Ports on 127.0.0.1 that the daemons listen on, and whose they are.
PORTS='12379:etcd 12380:etcd 10248:kubelet 10249:kube-proxy 10256:kube-proxy 10257:kube-controller-manager 10259:kube-scheduler'

# problems prints a line for each thing that is missing, with what to install or change.
problems() {
  local p
  [ "$(id -u)" = 0 ] || echo "needs root: the kubelet and containerd do"
  command -v go >/dev/null || echo "go is missing: install Go 1.26 or later and put it on PATH"
  command -v apt-get >/dev/null || command -v containerd >/dev/null ||
    echo "containerd is missing, and so is apt-get: install containerd, runc, the CNI plugins and nftables, or use Debian 12"
  [ "$(nproc --all)" -ge 2 ] || echo "needs 2 CPUs: the static CPU manager keeps one for the system"
  if [ "$(id -u)" = 0 ] && ! unshare --net --mount true 2>/dev/null; then
    echo "cannot create namespaces: run it on the machine itself or in a privileged container"
  fi
  for p in $PORTS; do
    if ! alive "${p#*:}" && (: <"/dev/tcp/127.0.0.1/${p%:*}") 2>/dev/null; then
      echo "port ${p%:*} of 127.0.0.1 is in use, and ${p#*:} needs it: end the program that listens there (ss -ltnp sport = :${p%:*})"
    fi
  done
}

# preflight ends the script when there are problems.
preflight() {
  local found
  found=$(problems)
  [ -z "$found" ] || die "${found//$'\n'/$'\n'${0##*/}: }"
}
