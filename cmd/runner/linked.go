package main

import (
	"errors"
	"log/slog"
	"net/http"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// linked are the parts of the real thing.
func linked(log *slog.Logger) parts {
	return parts{
		newEngine: func(*rv.Plan, *slog.Logger) (engine, error) { return nil, errors.New("no engine") },
		metrics:   func(*rv.Plan, func() *rv.Snapshot) http.Handler { return http.NotFoundHandler() },
		log:       log,
	}
}
