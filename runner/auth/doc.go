// Package auth makes the value of the Authorization field of a target's requests (RFC 9110 11.6.2) from
// files and token endpoints, and keeps it valid while a test runs: Basic (RFC 7617), Bearer tokens (RFC
// 6750) and OAuth 2.0 client credentials (RFC 6749 4.4), as the NRF of a 5G core grants them too (3GPP TS
// 29.510 5.4.2.2).
//
// No error that the package returns has a password, a token or a client's secret in it.
package auth
