//go:build !linux

package mock

import "context"

func (s *Server) serve(ctx context.Context) error { return s.serveGoroutines(ctx) }
