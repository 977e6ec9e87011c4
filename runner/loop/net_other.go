//go:build !linux

package loop

import "errors"

// NewNet fails: the engine needs epoll so far.
func NewNet() (Net, func(), error) {
	return nil, nil, errors.New("load can be generated on Linux only")
}
