// Package fiveg has what the engine knows of a 5G core: subscribers, the USIM of 5G AKA, client credentials assertions,
// and header fields of the service-based interface (SBI) that are not in the plan.
//
// A USIM verifies and answers challenges of 5G AKA and EAP-AKA' (TS 33.501 6.1.3). It computes MILENAGE (TS 35.206)
// with AES-128 as its block cipher, RES* (TS 33.501 A.4) and HXRES* (A.5). It belongs to one worker, and has the keys
// of the subscriber of its last call. Sequences has what differs from one challenge of a subscriber to the next.
// Methods do not allocate memory after the first call, except Sequences for every 512th number. runner/chain/usim.go is
// the only file of the engine that knows of challenges.
package fiveg
