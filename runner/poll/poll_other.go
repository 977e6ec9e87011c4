//go:build !linux

package poll

import "errors"

// ErrUnsupported is returned where there is no epoll.
var ErrUnsupported = errors.New("poll: only Linux has epoll")

// Pin cannot bind threads here.
func Pin(int) error { return ErrUnsupported }

// PreciseTimers changes nothing here.
func PreciseTimers() error { return nil }
