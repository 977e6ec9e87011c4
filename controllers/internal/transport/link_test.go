package transport

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/shards"
)

// largeClient answers with a large snapshot, and needs a second to read it.
type largeClient struct{ Client }

func (largeClient) Snapshot(ctx context.Context, p Poll) (*runnerv1alpha1.Snapshot, error) {
	if err := p.Large(); err != nil {
		return nil, err
	}
	return &runnerv1alpha1.Snapshot{}, pause(ctx, time.Second)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// TestLargeSnapshots: only so many are in memory at a time. The others wait longer than a call may take, and their runners are not silent.
func TestLargeSnapshots(t *testing.T) {
	for name, tc := range map[string]struct {
		free    time.Duration // when another snapshot is forgotten
		timeout time.Duration
		want    error
		took    time.Duration
	}{
		"waits":                     {free: 10 * time.Second, timeout: 2 * time.Second, took: 11 * time.Second},
		"waits too long":            {free: time.Minute, timeout: 2 * time.Second, want: context.DeadlineExceeded, took: maxWait},
		"is read for too long then": {free: 10 * time.Second, timeout: time.Second / 2, want: context.DeadlineExceeded, took: 10*time.Second + time.Second/2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				load := &Load{large: make(chan struct{}, 1)}
				load.large <- struct{}{}
				link := NewLink(largeClient{}, func() int64 { return 0 }, tc.timeout, load)
				begin := time.Now()
				time.AfterFunc(tc.free, func() { <-load.large })
				time.AfterFunc(5*time.Second, func() {
					if !link.Waits() {
						t.Error("the runner does not wait")
					}
				})
				a := link.Do(t.Context(), shards.Call{Kind: shards.CallSnapshot})
				if took := time.Since(begin); !errors.Is(a.Err, tc.want) || took != tc.took || link.Waits() {
					t.Errorf("error %v after %s, waits %v; want %v after %s", a.Err, took, link.Waits(), tc.want, tc.took)
				}
				if link.large != (tc.took != maxWait) {
					t.Errorf("large %v after %s", link.large, tc.took)
				}
				link.Release()
				time.Sleep(time.Minute)
				if n := len(load.large); n != 0 {
					t.Errorf("%d large snapshots are not forgotten", n)
				}
			})
		})
	}
}
