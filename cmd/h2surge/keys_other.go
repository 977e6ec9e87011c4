//go:build !linux && !darwin

package main

import "io"

// keyboard has no keys here.
func keyboard(io.Reader, io.Writer) (pressed <-chan byte, restore func()) {
	return nil, func() {}
}
