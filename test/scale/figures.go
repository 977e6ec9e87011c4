package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/procfs"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// sample is what the processes show at one moment.
type sample struct {
	at        time.Time
	cpu       time.Duration // of the operator
	rss, peak int64
	heap      float64            // in use, with garbage
	live      float64            // bytes that garbage collections left alive; only quiet sets it
	series    float64            // that the operator's /metrics has
	writes    map[string]float64 // requests to the API server that write, by resource
	wal       float64            // bytes
	machine   time.Duration      // CPU time of all processes
}

func (w *world) sample(ctx context.Context) (*sample, error) {
	s := &sample{at: time.Now(), writes: map[string]float64{}}
	if err := w.ownCosts(s); err != nil {
		return nil, err
	}
	own, err := scrape(ctx, "http://"+w.metrics+"/metrics")
	if err != nil {
		return nil, err
	}
	s.heap = sum(own, "go_memstats_heap_inuse_bytes", nil)
	for _, f := range own {
		s.series += float64(len(f.Metric))
	}
	kube, err := kubernetes.NewForConfig(w.env.Config)
	if err != nil {
		return nil, err
	}
	text, err := kube.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	server, err := parse(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	for _, m := range server["apiserver_request_total"].GetMetric() {
		l := labels(m)
		if slices.Contains([]string{"POST", "PUT", "PATCH", "APPLY", "DELETE"}, l["verb"]) && strings.HasPrefix(l["code"],
			"2") {
			name := l["resource"]
			if l["subresource"] != "" {
				name += "/" + l["subresource"]
			}
			s.writes[name] += m.GetCounter().GetValue()
		}
	}
	etcd, err := scrape(ctx, w.env.ControlPlane.Etcd.URL.String()+"/metrics")
	if err != nil {
		return nil, err
	}
	s.wal = sum(etcd, "etcd_disk_wal_write_bytes_total", nil)
	return s, nil
}

// ownCosts reads /proc.
func (w *world) ownCosts(s *sample) error {
	seconds := func(v float64) time.Duration { return time.Duration(v * float64(time.Second)) }
	proc, err := procfs.NewProc(w.operator.Process.Pid)
	if err != nil {
		return err
	}
	stat, err := proc.Stat()
	if err != nil {
		return err
	}
	status, err := proc.NewStatus()
	if err != nil {
		return err
	}
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return err
	}
	all, err := fs.Stat()
	if err != nil {
		return err
	}
	s.cpu, s.rss, s.peak = seconds(stat.CPUTime()), int64(status.VmRSS>>10), int64(status.VmHWM>>10)
	of := &all.CPUTotal
	s.machine = seconds(of.User + of.Nice + of.System + of.IRQ + of.SoftIRQ + of.Steal)
	return nil
}

func scrape(ctx context.Context, url string) (map[string]*dto.MetricFamily, error) {
	body, err := get(ctx, url)
	if err != nil {
		return nil, err
	}
	return parse(bytes.NewReader(body))
}

func get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", "identity") // a compressor has a megabyte, which is not the cost of a LoadTest
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, resp.Status)
	}
	return io.ReadAll(resp.Body)
}

func parse(r io.Reader) (map[string]*dto.MetricFamily, error) {
	p := expfmt.NewTextParser(model.LegacyValidation)
	return p.TextToMetricFamilies(r)
}

func labels(m *dto.Metric) map[string]string {
	out := map[string]string{}
	for _, l := range m.Label {
		out[l.GetName()] = l.GetValue()
	}
	return out
}

// sum returns the sum of a metric over all series with some labels.
func sum(families map[string]*dto.MetricFamily, name string, want map[string]string) (total float64) {
	for _, m := range families[name].GetMetric() {
		got := labels(m)
		matches := true
		for k, v := range want {
			matches = matches && got[k] == v
		}
		if matches {
			total += m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetUntyped().GetValue()
		}
	}
	return total
}

// Figures are the result. Figures per shard do not include what the operator costs without LoadTests.
type Figures struct {
	Runs, Shards, Steps, Thresholds, RatePerShard int
	Seconds                                       float64
	Kept                                          *Kept `json:",omitempty"` // nil: not measured

	MillicoresPerShard float64
	KiBPerShard        float64 // of resident memory
	HeapKiBPerShard    float64
	StatusWrites       float64 // a second
	EtcdBytes          float64 // a second, as etcd's log has them; the API server's own writes are included
	StatusAge          float64 // seconds: by how much the figures in status lag behind the runners, at most
	StatusAgeMedian    float64
	StatusBytes        int // of the largest status

	OperatorMillicores, OperatorMiB, OperatorPeakMiB, IdleMiB float64
	// EndPeakMiB is the peak of resident memory while all LoadTests end at the same time, and EndSeconds is how long that
	// takes.
	EndPeakMiB, EndSeconds float64
	MetricSeries           int
	Writes                 map[string]float64 // a second, by resource
	// Machine is what the measurement was made on. BusyPercent is the CPU time of all processes, of all CPUs.
	CPUs        int
	BusyPercent float64
}

func (w *world) figures(ctx context.Context, idle *sample, f *Figures) error {
	before, err := w.sample(ctx)
	if err != nil {
		return err
	}
	profile := w.profileFor(ctx)
	ages, largest, err := w.ages(ctx)
	if err != nil {
		return err
	}
	after, err := w.sample(ctx)
	if err != nil {
		return err
	}
	if err := profile(); err != nil {
		return err
	}
	seconds := after.at.Sub(before.at).Seconds()
	shards := float64(w.shards)
	cpu := (after.cpu - before.cpu).Seconds() / seconds * 1000
	*f = Figures{
		Runs: w.runs, Shards: w.shards, Steps: w.steps, Thresholds: w.thresholds, RatePerShard: w.rate, Seconds: seconds,
		Kept:               f.Kept,
		MillicoresPerShard: cpu / shards, KiBPerShard: float64(after.rss-idle.rss) / shards,
		HeapKiBPerShard:    (after.heap - idle.heap) / 1024 / shards,
		EtcdBytes:          (after.wal - before.wal) / seconds,
		StatusAge:          slices.Max(ages),
		StatusBytes:        largest,
		OperatorMillicores: cpu, OperatorMiB: float64(after.rss) / 1024, OperatorPeakMiB: float64(after.peak) / 1024,
		IdleMiB:      float64(idle.rss) / 1024,
		MetricSeries: int(after.series), Writes: map[string]float64{}, CPUs: runtime.NumCPU(),
		BusyPercent: (after.machine - before.machine).Seconds() / seconds / float64(runtime.NumCPU()) * 100,
	}
	slices.Sort(ages)
	f.StatusAgeMedian = ages[len(ages)/2]
	for name, n := range after.writes {
		if d := (n - before.writes[name]) / seconds; d > 0 {
			f.Writes[name] = d
		}
	}
	f.StatusWrites = f.Writes["loadtests/status"]
	return nil
}

// end stops all LoadTests, waits until they have ended, and adds what that cost.
func (w *world) end(ctx context.Context, f *Figures) error {
	// 5 resets the peak (proc(5)).
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", w.operator.Process.Pid), []byte("5"), 0o600); err != nil {
		return err
	}
	began := time.Now()
	for i := range w.runs {
		lt := w.loadTest(i)
		if err := w.client.Patch(ctx, lt, client.RawPatch(types.MergePatchType,
			[]byte(`{"spec":{"stop":true}}`))); err != nil {
			return err
		}
	}
	if err := w.reach(ctx, namespace, "all LoadTests to end",
		func(s *v1alpha1.LoadTestStatus) bool { return s.CompletionTime != nil }); err != nil {
		return err
	}
	f.EndSeconds = time.Since(began).Seconds()
	after := &sample{}
	if err := w.ownCosts(after); err != nil {
		return err
	}
	f.EndPeakMiB = float64(after.peak) / 1024
	return nil
}

// ages samples, during the measurement, by how many seconds the count of sent requests in each status lags behind the
// runners. It also returns the size of the largest status.
func (w *world) ages(ctx context.Context) (ages []float64, largest int, err error) {
	watcher, err := w.client.Watch(ctx, &v1alpha1.LoadTestList{}, client.InNamespace(namespace))
	if err != nil {
		return nil, 0, err
	}
	defer watcher.Stop()
	sent := map[string]int64{}
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	end := time.After(w.measure)
	for {
		select {
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		case err := <-w.operator.done:
			w.operator.done <- err
			return nil, 0, fmt.Errorf("the operator ended, see %s/manager.log: %w", w.dir, err)
		case e, open := <-watcher.ResultChan():
			lt, ok := e.Object.(*v1alpha1.LoadTest)
			if !open || e.Type == watch.Error || !ok {
				return nil, 0, errors.New("the watch of LoadTests ended")
			}
			if lt.Status.Results != nil {
				sent[lt.Name] = lt.Status.Results.Requests.Sent
			}
			b, err := json.Marshal(lt.Status)
			if err != nil {
				return nil, 0, err
			}
			largest = max(largest, len(b))
		case <-tick.C:
			lags, err := w.lags(ctx, sent)
			if err != nil {
				return nil, 0, err
			}
			ages = append(ages, lags...)
		case <-end:
			if len(ages) == 0 {
				return nil, 0, errors.New("no status has results")
			}
			return ages, largest, nil
		}
	}
}

func (w *world) lags(ctx context.Context, sent map[string]int64) (out []float64, err error) {
	if len(sent) < w.runs {
		return nil, nil // the watch has not shown all of them yet
	}
	body, err := get(ctx, "http://"+w.totals+"/totals")
	if err != nil {
		return nil, err
	}
	totals := map[string]struct {
		Runners int
		Elapsed time.Duration
	}{}
	if err := json.Unmarshal(body, &totals); err != nil {
		return nil, err
	}
	for name, n := range sent {
		t := totals[name]
		out = append(out, t.Elapsed.Seconds()-float64(n)/float64(t.Runners*w.rate))
	}
	return out, nil
}

// profileFor starts a CPU profile; the function that it returns waits for it.
func (w *world) profileFor(ctx context.Context) func() error {
	if w.profile == "" {
		return func() error { return nil }
	}
	done := make(chan error, 1)
	go func() {
		done <- errors.Join(w.save(ctx, fmt.Sprintf("profile?seconds=%d", int(w.measure.Seconds())), w.profile),
			w.save(ctx, "heap", w.profile+".heap"))
	}()
	return func() error { return <-done }
}

// save writes a profile of the operator to a file.
func (w *world) save(ctx context.Context, path, file string) error {
	body, err := get(ctx, "http://"+w.pprof+"/debug/pprof/"+path)
	if err != nil {
		return err
	}
	return os.WriteFile(file, body, 0o600)
}

// Marks for 2 000 shards in 10 runs.
const (
	markMillicores = 0.2
	markKiB        = 64
	markWrites     = 10
	markBytes      = 200_000
	markAge        = 6
)

func (f *Figures) rows() (out []row) {
	if f.Kept != nil {
		out = f.Kept.rows()
	}
	if f.Runs == 0 {
		return out
	}
	return append(out, []row{
		{"CPU, millicores a shard", f.MillicoresPerShard, markMillicores},
		{"resident memory, KiB a shard", f.KiBPerShard, markKiB},
		{"status writes a second", f.StatusWrites, markWrites},
		{"bytes to etcd a second", f.EtcdBytes, markBytes},
		{"age of status, seconds, at most", f.StatusAge, markAge},
	}...)
}

type row struct {
	name        string
	value, mark float64
}

func (f *Figures) check() error {
	var errs []error
	for _, r := range f.rows() {
		if r.value > r.mark {
			errs = append(errs, fmt.Errorf("%s: %.2f; allowed: %g", r.name, r.value, r.mark))
		}
	}
	return errors.Join(errs...)
}

func (f *Figures) table() string {
	var out strings.Builder
	if f.Runs > 0 {
		fmt.Fprintf(&out, "%d shards in %d runs, %d steps, %d thresholds, %d requests per second and shard; %.0f s on %d CPUs, %.0f%% busy\n",
			f.Shards, f.Runs, f.Steps, f.Thresholds, f.RatePerShard, f.Seconds, f.CPUs, f.BusyPercent)
	}
	if f.Kept != nil {
		out.WriteString(f.Kept.title())
	}
	out.WriteString("\n")
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "figure\tmeasured\tmark")
	for _, r := range f.rows() {
		_, _ = fmt.Fprintf(t, "%s\t%.2f\t%g\n", r.name, r.value, r.mark)
	}
	for _, r := range f.unmarked() {
		_, _ = fmt.Fprintf(t, "%s\t%.2f\t\n", r.name, r.value)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Writes)) {
		_, _ = fmt.Fprintf(t, "writes of %s a second\t%.2f\t\n", name, f.Writes[name])
	}
	_ = t.Flush()
	return out.String()
}

// unmarked are the rows without a mark.
func (f *Figures) unmarked() (out []row) {
	if f.Kept != nil {
		out = f.Kept.unmarked()
	}
	if f.Runs == 0 {
		return out
	}
	return append(out, []row{
		{"age of status, seconds, median", f.StatusAgeMedian, 0},
		{"heap, KiB a shard", f.HeapKiBPerShard, 0},
		{"CPU of the operator, millicores", f.OperatorMillicores, 0},
		{"memory of the operator, MiB", f.OperatorMiB, 0},
		{"memory of the operator at its peak, MiB", f.OperatorPeakMiB, 0},
		{"memory of the operator without LoadTests, MiB", f.IdleMiB, 0},
		{"memory of the operator while all tests end, peak, MiB", f.EndPeakMiB, 0},
		{"seconds until all tests have ended", f.EndSeconds, 0},
		{"largest status, bytes", float64(f.StatusBytes), 0},
		{"series in the operator's metrics", float64(f.MetricSeries), 0},
	}...)
}
