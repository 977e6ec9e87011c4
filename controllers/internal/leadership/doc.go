// Package leadership keeps the operator running while the API server does not answer.
//
// The manager of controller-runtime elects a leader with a Lease, and ends the process when it cannot renew the Lease
// for
// 10 seconds. The operator must not end then: runners continue to send, the operator has to poll them, and a restarted
// process needs up to minutes to come back. A Leader stands between the election and the Lease. While the API server
// does not answer, the election continues as if the Lease were renewed, and Leading returns false, so that decisions
// wait. When the API server shows another holder, Start returns an error, which ends the process.
//
// Connections make the requests of informers succeed soon after the API server answers again.
package leadership
