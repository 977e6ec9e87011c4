package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/builder"
)

// Kept is what objects cost that stay after the tests. An operator that has restarted and reads them is compared with
// one that has restarted without them. Heap is what the last garbage collections left alive, the median of all
// restarts.
type Kept struct {
	Finished, Foreign, Restarts, ObjectBytes int

	// ReportKiB is the heap of a kept report, ForeignKiB that of a ConfigMap of a tenant that has the operator's label.
	ReportKiB, ForeignKiB float64
	// FinishedKiB is the heap of a finished test without its report: the LoadTest, its run record, Job, pod and plan, and
	// its metrics.
	FinishedKiB float64
	// RanKiB is the same in the process that ran the tests, with the reports of the simulated runners.
	RanKiB float64
	// Without are operators that read one object of each kind, With those that read all.
	Without, With Memory
}

// Memory is the memory of restarted operators in MiB: the median, and the greatest difference between two of them.
type Memory struct {
	Heap, HeapSpread, RSS, RSSSpread, Peak float64
}

// markKept is the mark for a kept object, in KiB.
const markKept = 4

func (k *Kept) rows() (out []row) {
	if k.Finished > 0 {
		out = append(out, row{"heap, KiB a kept report", k.ReportKiB, markKept})
	}
	if k.Foreign > 0 {
		out = append(out, row{"heap, KiB a ConfigMap of a tenant", k.ForeignKiB, markKept})
	}
	return out
}

func (k *Kept) unmarked() []row {
	return []row{
		{"heap, KiB a finished test without its report", k.FinishedKiB, 0},
		{"heap, KiB a finished test, in the process that ran it", k.RanKiB, 0},
		{"heap without kept objects, MiB", k.Without.Heap, 0},
		{"heap without kept objects, MiB, spread", k.Without.HeapSpread, 0},
		{"heap with kept objects, MiB", k.With.Heap, 0},
		{"heap with kept objects, MiB, spread", k.With.HeapSpread, 0},
		{"resident memory without kept objects, MiB", k.Without.RSS, 0},
		{"resident memory without kept objects, MiB, spread", k.Without.RSSSpread, 0},
		{"resident memory with kept objects, MiB", k.With.RSS, 0},
		{"resident memory with kept objects, MiB, spread", k.With.RSSSpread, 0},
		{"resident memory without kept objects, MiB, peak", k.Without.Peak, 0},
		{"resident memory with kept objects, MiB, peak", k.With.Peak, 0},
	}
}

func (k *Kept) title() string {
	return fmt.Sprintf("%d finished tests and %d ConfigMaps of a tenant, %d KiB each; %d restarts\n", k.Finished,
		k.Foreign, k.ObjectBytes>>10, k.Restarts)
}

// memoryOf returns the medians of samples of restarted operators.
func memoryOf(samples []*sample) Memory {
	of := func(f func(*sample) float64) (median, spread float64) {
		all := make([]float64, 0, len(samples))
		for _, s := range samples {
			all = append(all, f(s)/(1<<20))
		}
		slices.Sort(all)
		return all[len(all)/2], all[len(all)-1] - all[0]
	}
	m := Memory{}
	m.Heap, m.HeapSpread = of(func(s *sample) float64 { return s.live })
	m.RSS, m.RSSSpread = of(func(s *sample) float64 { return float64(s.rss) * 1024 })
	m.Peak, _ = of(func(s *sample) float64 { return float64(s.peak) * 1024 })
	return m
}

// each returns the difference of two heaps in KiB an object.
func each(after, before Memory, n int) float64 {
	return (after.Heap - before.Heap) * 1024 / float64(max(1, n))
}

// keep measures the memory of the operator without kept objects, and after each kind of them was added.
func (w *world) keep(ctx context.Context) (*Kept, error) {
	k := &Kept{Finished: w.finished, Foreign: w.foreign, Restarts: w.restarts, ObjectBytes: w.reportBytes}
	// One object of each kind is always there: what the first costs, such as compiled expressions, is not what each costs.
	if err := w.finish(ctx, 0, 1); err != nil {
		return nil, err
	}
	if err := w.client.Create(ctx, w.tenant(0)); err != nil {
		return nil, err
	}
	var err error
	if k.Without, err = w.restarted(ctx); err != nil {
		return nil, err
	}
	if err := w.finish(ctx, 1, w.finished+1); err != nil {
		return nil, err
	}
	ran, err := w.quiet(ctx)
	if err != nil {
		return nil, err
	}
	k.RanKiB = each(memoryOf([]*sample{ran}), k.Without, w.finished)
	reports, err := w.deleteReports(ctx)
	if err != nil {
		return nil, err
	}
	tests, err := w.restarted(ctx)
	if err != nil {
		return nil, err
	}
	k.FinishedKiB = each(tests, k.Without, w.finished)
	for _, report := range reports {
		if err := w.client.Create(ctx, report); err != nil {
			return nil, err
		}
	}
	withReports, err := w.restarted(ctx)
	if err != nil {
		return nil, err
	}
	k.ReportKiB = each(withReports, tests, w.finished)
	for i := range w.foreign {
		if err := w.client.Create(ctx, w.tenant(i+1)); err != nil {
			return nil, err
		}
	}
	if k.With, err = w.restarted(ctx); err != nil {
		return nil, err
	}
	k.ForeignKiB = each(k.With, withReports, w.foreign)
	return k, nil
}

// batch is how many tests run together until they finish.
const batch = 50

// finish runs tests to their ends.
func (w *world) finish(ctx context.Context, from, to int) error {
	for i := from; i < to; i++ {
		lt := builder.Minimal(fmt.Sprintf("finished-%d", i)).Namespace(keptNamespace).Rates(builder.PerSecond("steady",
			int64(w.rate), 3*time.Second)).Build()
		w.fill(lt)
		if err := w.client.Create(ctx, lt); err != nil {
			return err
		}
		if (i+1)%batch != 0 && i+1 < to {
			continue
		}
		if err := w.reach(ctx, keptNamespace, "tests to finish",
			func(s *v1alpha1.LoadTestStatus) bool { return s.Report != nil }); err != nil {
			return err
		}
	}
	return nil
}

// deleteReports deletes the reports and returns them with the length that they are to have.
func (w *world) deleteReports(ctx context.Context) (out []*corev1.ConfigMap, err error) {
	var tests v1alpha1.LoadTestList
	if err := w.client.List(ctx, &tests, client.InNamespace(keptNamespace)); err != nil {
		return nil, err
	}
	for i := range tests.Items {
		report := &corev1.ConfigMap{}
		if err := w.client.Get(ctx, client.ObjectKey{Namespace: keptNamespace,
			Name: tests.Items[i].Status.Report.ConfigMapRef.Name}, report); err != nil {
			return nil, err
		}
		if err := w.client.Delete(ctx, report); err != nil {
			return nil, err
		}
		for key := range report.BinaryData {
			report.BinaryData[key] = random(w.reportBytes)
		}
		report.ObjectMeta = metav1.ObjectMeta{Namespace: report.Namespace, Name: report.Name, Labels: report.Labels,
			OwnerReferences: report.OwnerReferences}
		out = append(out, report)
	}
	return out, nil
}

// tenantAnnotation is the length of an annotation of a tenant's ConfigMap. The API server accepts 256 KiB of
// annotations.
const tenantAnnotation = 200 << 10

// tenant is a ConfigMap that has the label that the operator's cache selects.
func (w *world) tenant(i int) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: keptNamespace, Name: fmt.Sprintf("tenant-%d", i),
			Labels:      map[string]string{"app.kubernetes.io/managed-by": "h2surge"},
			Annotations: map[string]string{"tenant.example/notes": hex.EncodeToString(random(tenantAnnotation / 2))},
		},
		BinaryData: map[string][]byte{"data": random(w.reportBytes - tenantAnnotation)},
	}
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails
	return b
}

// restarted measures operators that have restarted and have reconciled all finished tests.
func (w *world) restarted(ctx context.Context) (Memory, error) {
	var samples []*sample
	for range w.restarts {
		if err := w.stopOperator(ctx); err != nil {
			return Memory{}, err
		}
		if err := w.startOperator(ctx); err != nil {
			return Memory{}, err
		}
		s, err := w.quiet(ctx)
		if err != nil {
			return Memory{}, err
		}
		samples = append(samples, s)
	}
	return memoryOf(samples), nil
}

// stopOperator ends the operator as a kubelet does. The next one leads at once.
func (w *world) stopOperator(ctx context.Context) error {
	if err := w.operator.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-w.operator.done:
		w.operator = nil
		return err
	}
}

// collections is the number of garbage collections of which the least heap counts. Pools of objects are empty after
// two.
const collections = 5

// quiet waits until the operator has nothing to do, and measures its memory.
func (w *world) quiet(ctx context.Context) (*sample, error) {
	var list v1alpha1.LoadTestList
	if err := w.client.List(ctx, &list); err != nil {
		return nil, err
	}
	tests := len(list.Items)
	err := w.await(ctx, "the operator to reconcile all LoadTests", func() error {
		m, err := scrape(ctx, "http://"+w.metrics+"/metrics")
		if err != nil {
			return err
		}
		of := map[string]string{"controller": "loadtest"}
		passes, queued := sum(m, "controller_runtime_reconcile_total", of), sum(m, "workqueue_depth", of)
		if sum(m, "controller_runtime_max_concurrent_reconciles", of) == 0 || passes < float64(tests) || queued > 0 {
			return fmt.Errorf("%v passes for %d LoadTests, %v are queued", passes, tests, queued)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := sleep(ctx, w.settle); err != nil {
		return nil, err
	}
	s := &sample{}
	if err := w.ownCosts(s); err != nil {
		return nil, err
	}
	// Each scrape allocates, and so brings the next collection.
	last, n := 0.0, -1 // the first value is of a collection before the wait
	err = w.await(ctx, "garbage collections", func() error {
		for range 100 {
			m, err := scrape(ctx, "http://"+w.metrics+"/metrics")
			if err != nil {
				return err
			}
			if at := sum(m, "go_memstats_last_gc_time_seconds", nil); at != last {
				last = at
				n++
				if live := sum(m, "go_gc_heap_live_bytes", nil); n > 0 && (s.live == 0 || live < s.live) {
					s.live = live
				}
			}
			if n == collections {
				return nil
			}
		}
		return fmt.Errorf("%d of %d", n, collections)
	})
	if err != nil || w.profile == "" {
		return s, err
	}
	w.quiets++
	return s, w.save(ctx, "heap?gc=1", fmt.Sprintf("%s.kept-%d.heap", w.profile, w.quiets))
}
