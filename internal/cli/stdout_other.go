//go:build !unix

package cli

import "io"

func lost(io.Writer) bool { return false }
