package transport

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestHostileAnswers: whatever a runner answers, the operator allocates a bounded amount of memory and returns an error.
func TestHostileAnswers(t *testing.T) {
	raw := func(w http.ResponseWriter, write func(func(string) error)) {
		conn, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		write(func(s string) error {
			if _, err := buffered.WriteString(s); err != nil {
				return err
			}
			return buffered.Flush()
		})
	}
	endless := func(begin, repeated string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			raw(w, func(write func(string) error) {
				err := write(begin)
				for err == nil {
					err = write(repeated)
				}
			})
		}
	}
	filler := strings.Repeat("x", 4<<10)
	const limit = 40 << 20
	for name, answer := range map[string]func(http.ResponseWriter){
		"endless status line":  endless("HTTP/1.1 200 ", filler),
		"endless header field": endless("HTTP/1.1 200 OK\r\nA: ", filler),
		"endless header":       endless("HTTP/1.1 200 OK\r\n", "A: "+filler+"\r\n"),
		"endless interim":      endless("", "HTTP/1.1 100 Continue\r\n\r\n"),
		"endless chunks":       endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1000\r\n"+filler+"\r\n"),
		"endless error":        endless("HTTP/1.1 500 Error\r\nTransfer-Encoding: chunked\r\n\r\n", "1000\r\n"+filler+"\r\n"),
		"endless trailer":      endless("HTTP/1.1 500 Error\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "A: "+filler+"\r\n"),
		"a long JSON document": endless(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{\"steps\":[0", maxAnswer), strings.Repeat(",0", 2<<10)),
	} {
		t.Run(name, func(t *testing.T) {
			c, _, _ := endpoint(t, func(w http.ResponseWriter, _ *http.Request) { answer(w) })
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := c.Snapshot(t.Context(), Poll{}); err == nil {
				t.Error("no error")
			}
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 4*limit {
				t.Errorf("an answer allocates %d octets", n)
			}
		})
	}
}

// TestSlowAnswer: a runner that sends an octet and then nothing holds a call until its timeout, and no longer.
func TestSlowAnswer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c, _, _ := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("{"))
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
	})
	if _, err := c.Snapshot(ctx, Poll{}); err == nil {
		t.Error("no error")
	}
}

// TestLargestSnapshotFits: a snapshot of the largest plan is below the bounds.
func TestLargestSnapshotFits(t *testing.T) {
	s := someSnapshot()
	for range 255 {
		s.Steps = append(s.Steps, s.Steps[0])
	}
	s.Targets = make([]runnerv1alpha1.TargetTimes, 64)
	s.Chains = make([]runnerv1alpha1.ChainCounters, 64)
	s.Stages = make([]runnerv1alpha1.StageCounters, 512)
	s.Selections = make([]runnerv1alpha1.SelectionCounters, 256)
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := runnerv1alpha1.UnmarshalSnapshot(text, &runnerv1alpha1.Snapshot{}); err != nil || len(text) > 1<<20 {
		t.Errorf("%v, %d octets", err, len(text))
	}
}
