package runner

import (
	"context"
	"strconv"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/otlp"
	"github.com/h2surge/h2surge/internal/report/render"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/observe"
)

// lastExport bounds the request with the figures of a run that has ended. The runner is not done earlier.
const lastExport = 5 * time.Second

// export sends the figures of this runner to the target that the plan names, while the run lasts and at its end. The
// caller holds mu.
func (r *Runner) export() {
	if r.plan.OTLP == 0 || r.opts.Trial != nil {
		return
	}
	i := r.plan.OTLP - 1
	t := &r.program.Targets[i]
	e := &t.Endpoints[0]
	// The last figures are sent after r.ctx has ended.
	ctx, cancel := context.WithCancel(context.Background())
	receiver := &otlp.Receiver{
		URL: otlp.URLOf(e.Scheme + "://" + e.Authority + e.BasePath),
		Transport: observe.Transport(&observe.Config{Context: ctx, Policy: r.policy, Network: r.opts.Network,
			Resolver: dial.NewResolver(r.opts.Network)}, e, t, r.tls[i][0]),
	}
	run := &otlp.Run{Plan: r.plan, Snapshot: func() *rv.Snapshot { return r.snapshot(r.ctx, true) },
		Source: render.OTLPSource{Shard: strconv.Itoa(r.share.Shard), Pod: r.opts.Pod}}
	exporter := otlp.Start(receiver, run, func(err error) {
		if err != nil {
			r.opts.Logger.Warn("The OTLP receiver does not accept figures", "target", t.Name, "err", err)
			return
		}
		r.opts.Logger.Info("The OTLP receiver accepts figures again", "target", t.Name)
	})
	r.exporter.Store(exporter)
	go func() {
		defer cancel()
		defer r.finish()
		<-r.ctx.Done()
		last, release := context.WithTimeout(ctx, lastExport)
		defer release()
		exporter.Finish(last)
	}()
}

// exportFailure returns why the receiver did not accept the last figures; empty: it did.
func (r *Runner) exportFailure() string {
	if e := r.exporter.Load(); e != nil && e.Err() != nil {
		text := e.Err().Error()
		return text[:min(len(text), rv.MaxExportFailure)]
	}
	return ""
}
