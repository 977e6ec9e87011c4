// Package aka computes what a USIM answers in 5G AKA: MILENAGE (TS 35.206) with AES-128 as its block cipher, RES* (TS
// 33.501 A.4) and HXRES* (A.5).
//
// A USIM belongs to one worker. New allocates memory; after the first call, the methods of a USIM do not.
package aka
