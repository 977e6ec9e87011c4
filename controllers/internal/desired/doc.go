// Package desired builds the objects that a run owns. Its functions are pure: the same input
// gives the same object, and nothing is read or written.
//
// Runner pods are the operator's template with spec.runner.podTemplate merged over it (strategic
// merge, containers by name). The user wins on everything but:
//
//   - restartPolicy and activeDeadlineSeconds of the pod, which would start or end runners
//     behind the operator's back;
//   - automountServiceAccountToken, which is false: whoever takes over a runner, by way of a
//     hostile target say, must find no way to the API server; internal/compile refuses volumes with such tokens;
//   - the labels and annotations under h2surge.io and app.kubernetes.io;
//   - of the container runner: name, command, args, the ports control and metrics, the
//     environment variables POD_NAME, NODE_NAME and, with listeners, POD_IP, JOB_NAME and LISTENER_DOMAIN, the
//     readiness probe, and no other probe or lifecycle hook, since a failing one would restart or delay a runner;
//   - the volumes h2surge-plan, h2surge-tls and h2surge-files and their mounts;
//   - with spec.runner.cpusPerShard: the CPU of the container runner, and memory requests, which
//     become the limits, because only a Guaranteed pod gets CPUs of its own.
package desired
