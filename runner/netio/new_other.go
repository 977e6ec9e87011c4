//go:build !linux

package netio

import rv "github.com/h2surge/h2surge/api/runner/v1alpha1"

// New returns a Net of goroutines.
func New() (Net, func(), error) { return NewPlain(rv.Clock), func() {}, nil }
