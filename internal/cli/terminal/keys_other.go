//go:build !linux && !darwin

package terminal

import "io"

// Keyboard has no keys here.
func Keyboard(io.Reader, io.Writer) (pressed <-chan byte, restore func()) {
	return nil, func() {}
}
