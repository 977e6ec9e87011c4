package main

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
)

// ready says whether the caches have synced: then this process can lead. The manager starts it at that time. It stays
// true while the API server does not answer, because the operator then continues to poll runners.
type ready struct{ atomic.Bool }

// Start implements manager.Runnable.
func (r *ready) Start(context.Context) error {
	r.Store(true)
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable. Replicas that wait to lead are ready, too.
func (*ready) NeedLeaderElection() bool { return false }

// check implements healthz.Checker.
func (r *ready) check(*http.Request) error {
	if !r.Load() {
		return errors.New("the caches have not synced")
	}
	return nil
}
