//go:build !linux

package dial

import (
	"context"
	"errors"
	"time"
)

// Open fails: the engine's sockets are Linux's so far.
func Open(ctx context.Context, address string, timeout time.Duration) (fd int, took time.Duration, err error) {
	c, took, err := connect(ctx, address, timeout)
	if err == nil {
		_ = c.Close()
		err = errors.New("load can be generated on Linux only")
	}
	return -1, took, err
}

// Close has nothing to close.
func Close(int) {}
