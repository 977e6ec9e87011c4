// Package pki makes the certificates of the control channel.
//
// One install CA signs both ends. What keeps a stranger out:
//
//   - A runner takes no client whose certificate the CA has not signed, so a pod without one
//     cannot even read a snapshot.
//   - A runner's own leaf lies in a Secret that people of its namespace may be able to read. It
//     is therefore good for nothing else than being that run's server: its only extended key
//     usage is serverAuth, its names are runner.h2surge.io and the run's own, and a runner asks
//     its client for clientAuth and for the name operator.h2surge.io.
//   - The operator asks for the run's own name, which holds the UID of the LoadTest, so that a
//     runner of one run cannot pass for that of another, whatever address it has.
//   - The operator's client key exists in its memory only, and for a day. The CA's key lies in
//     one Secret of the operator's namespace, the only one that the operator may read.
//   - The CA may sign names below h2surge.io only and no further CA, should its key get lost.
//
// Certificates are verified by name, never by address: pod addresses are used again.
package pki
