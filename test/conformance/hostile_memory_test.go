package conformance

import (
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// heapPeak samples the heap until stop is called, and returns by how much it was larger than at first.
func heapPeak() (stop func() int64) {
	sample := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse)
	}
	runtime.GC()
	first, end, done := sample(), make(chan struct{}), make(chan int64)
	go func() {
		peak := first
		for {
			select {
			case <-end:
				done <- peak - first
				return
			case <-time.After(20 * time.Millisecond):
				peak = max(peak, sample())
			}
		}
	}()
	return func() int64 { close(end); return <-done }
}

// TestServerThatStopsReading: all windows are open, and nothing is read. Bodies of 200 kB at 500 a second, of
// requests that time out, must not pile up. A constant body takes no memory, another one what the open streams
// have.
func TestServerThatStopsReading(t *testing.T) {
	const size, streams = 200_000, 50
	for _, tt := range []struct {
		name     string
		constant bool
		most     int64
	}{
		{"constant body", true, 20 << 20},
		{"other bodies", false, 40<<20 + 2*streams*size},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newH2Peer(t, func(c *h2conn) {
				c.readPreface()
				c.readSettings()
				_ = c.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1})
				_ = c.fr.WriteSettingsAck()
				_ = c.fr.WriteWindowUpdate(0, 1<<31-1-65535)
				time.Sleep(1500 * time.Millisecond)
			})
			p.hostile = 1 << 20
			p.start()
			plan := newPlan(p.address, rv.ProtocolH2C, 0)
			plan.Targets[0].MaxConcurrentStreams = streams
			plan.Rates = []rv.Rate{{Name: "r", Count: 500, Period: time.Second, Duration: time.Second}}
			s := &plan.Chains[0].Steps[0]
			s.Method, s.Body = http.MethodPost, text(strings.Repeat("u", size))
			if !tt.constant {
				plan.Variables = []rv.Variable{{Name: "n", Range: &rv.Range{Start: 0, End: 1 << 30, Step: 1}}}
				s.Body = append(s.Body, rv.Part{Variable: 1})
			}
			setTimeout(plan, 100*time.Millisecond)
			stop := heapPeak()
			got := mustExecute(t, plan)
			peak := stop()
			t.Logf("%d kB of heap", peak>>10)
			if peak > tt.most {
				t.Errorf("%d MB of heap, want at most %d", peak>>20, tt.most>>20)
			}
			if got.Counters.TimedOut < streams {
				t.Errorf("%+v", got.Counters)
			}
		})
	}
}
