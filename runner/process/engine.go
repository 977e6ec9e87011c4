package process

import (
	"crypto/rand"
	"errors"
	"fmt"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/version"
	"github.com/h2surge/h2surge/runner/control"
)

// Engine runs a plan: it is package runner's Runner, except in tests.
type Engine interface {
	control.Engine
	Done() <-chan struct{}
	Close() error
}

// errForeignShare: the message is for another pod. The operator sends it if the address of the other pod belongs to
// this pod now.
var errForeignShare = errors.New("the share belongs to another runner")

// identified is an engine that knows which pod it runs in.
type identified struct {
	Engine
	index     int // of the pod in its Job; below zero: unknown
	pod, node string
}

func (e identified) Update(u rv.Update) error {
	if none := u.Leave && u.Share.Shards == 0; e.index >= 0 && u.Share.Shard != e.index && !none {
		return fmt.Errorf("%w: this is shard %d", errForeignShare, e.index)
	}
	return e.Engine.Update(u)
}

func (e identified) Snapshot() *rv.Snapshot { return e.identify(*e.Engine.Snapshot()) }
func (e identified) Totals() *rv.Snapshot   { return e.identify(*e.Engine.Totals()) }

func (e identified) identify(s rv.Snapshot) *rv.Snapshot {
	s.Protocol, s.Version = rv.ProtocolVersion, version.Get().String()
	s.Generator.Pod, s.Generator.Node = e.pod, e.node
	if s.Revision == 0 && e.index >= 0 {
		s.Shard = e.index
	}
	return &s
}

// rejected stands in for an engine that cannot be made: its snapshots report the cause to the operator. If the runner
// exited instead, its Job would restart it, and the operator would not learn the cause.
type rejected struct {
	err   error
	boot  string
	clock func() int64
	done  chan struct{}
}

func newRejected(err error, clock func() int64) *rejected {
	r := &rejected{err: fmt.Errorf("the plan is rejected: %w", err), boot: rand.Text(), clock: clock,
		done: make(chan struct{})}
	close(r.done)
	return r
}

func (r *rejected) Update(rv.Update) error     { return r.err }
func (r *rejected) Start(rv.Start) error       { return r.err }
func (r *rejected) Stop(rv.Stop) error         { return nil }
func (r *rejected) Teardown(rv.Teardown) error { return r.err }
func (r *rejected) Renew(rv.Lease)             {}
func (r *rejected) Observe(bool)               {}
func (r *rejected) Done() <-chan struct{}      { return r.done }
func (r *rejected) Close() error               { return nil }

func (r *rejected) Totals() *rv.Snapshot { return r.Snapshot() }

// Snapshot always has sequence 1, because its content does not change.
func (r *rejected) Snapshot() *rv.Snapshot {
	return &rv.Snapshot{
		APIVersion: rv.APIVersion, Kind: rv.SnapshotKind,
		Boot: r.boot, Sequence: 1, State: rv.StateDone, Clock: r.clock(),
		Problem: rv.ProblemPlan, Message: r.err.Error(),
	}
}
