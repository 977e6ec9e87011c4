//go:build !linux

package target

import "context"

func (s *Server) serve(ctx context.Context) error { return s.serveGoroutines(ctx) }
