//go:build !linux

package loop

// NewNet makes a Net of goroutines.
func NewNet() (Net, func(), error) {
	n := newPlainNet()
	return n, n.release, nil
}
