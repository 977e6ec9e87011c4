# shellcheck shell=bash disable=SC2034 # the scripts that source this file use registry
# Sourced in the root of the repository. registry_up starts a container registry on loopback, which ends with the script, and sets
# registry (HOST:PORT) and registry_work (a folder that is removed, too).

# crane is quiet unless it fails.
crane() { "${CRANE:-bin/tools/crane}" "$@" 2>"$registry_work/crane" || { cat "$registry_work/crane" >&2; return 1; }; }

registry_up() {
  local port='' i
  registry_work=$(mktemp -d)
  : >"$registry_work/log" # the background process may open it after the first sed
  PORT='' "${CRANE:-bin/tools/crane}" registry serve --address 127.0.0.1:0 >"$registry_work/log" 2>&1 &
  registry_pid=$!
  trap 'kill $registry_pid; rm -rf "$registry_work"' EXIT
  for ((i = 0; i < 600; i++)); do
    port=$(sed -n 's/.*serving on port //p' "$registry_work/log")
    if [ -n "$port" ]; then break; fi
    kill -0 $registry_pid || { cat "$registry_work/log" >&2; exit 1; }
    sleep .1
  done
  registry=127.0.0.1:$port
}
