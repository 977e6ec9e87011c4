// Package fiveg has what the engine knows of a 5G core: subscribers, the USIM of 5G AKA, client credentials assertions,
// and header fields of the service-based interface (SBI) that are not in the plan.
//
// A USIM computes MILENAGE (TS 35.206) with AES-128 as its block cipher, RES* (TS 33.501 A.4) and HXRES* (A.5). It
// belongs to one worker, and has the keys of the subscriber of its last call. Its methods do not allocate memory after
// the first call.
package fiveg
