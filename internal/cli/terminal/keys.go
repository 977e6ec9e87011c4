// Package terminal reads the keys and the signals of the user while a command runs.
package terminal

import "io"

// Keys during a run. Ctrl-C and Ctrl-Z are the terminal's.
const (
	KeyFaster = '+'
	KeySlower = '-'
	KeyPause  = 'p'
	KeyEnd    = 'q'
	KeyHelp   = '?'
)

// Texts about the keys: KeysHint is shown at the start, KeysHelp after KeyHelp.
const (
	KeysHint = "keys: + - rate, p pause, q end, ? help"
	KeysHelp = "keys: + and - change the rate or concurrency of this stage by a tenth; p pauses and resumes;\n" +
		"      q stops and writes the report, a second q does not wait for responses; ? shows this"
)

// escape begins what arrow and function keys send.
const escape = 0x1b

// readKeys delivers keys until reading fails and retry returns false. Keys that are not read in time
// are lost.
func readKeys(in io.Reader, keys chan<- byte, retry func() bool) {
	var b [64]byte
	for {
		n, err := in.Read(b[:])
		if n > 0 && b[0] != escape {
			deliver(keys, b[:n])
		}
		if err != nil && !retry() {
			return
		}
	}
}

func deliver(keys chan<- byte, pressed []byte) {
	for _, key := range pressed {
		select {
		case keys <- key:
		default:
		}
	}
}

// keysAhead is how many keys may be pressed before the first of them takes effect.
const keysAhead = 16
