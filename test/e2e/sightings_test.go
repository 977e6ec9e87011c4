//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// sightings are the versions of a LoadTest that a story saw, with the time at which it saw each first.
type sightings struct {
	*story
	name string
	lock sync.Mutex
	seen []sighting
}

type sighting struct {
	at time.Time
	lt *v1alpha1.LoadTest
}

// watch looks at a LoadTest until the test ends. While the API server does not answer it sees nothing.
func (s *story) watch(name string) *sightings {
	w := &sightings{story: s, name: name}
	var done sync.WaitGroup
	ctx, stop := context.WithCancel(s.ctx)
	done.Go(func() {
		for last := ""; ctx.Err() == nil; time.Sleep(poll) {
			lt := &v1alpha1.LoadTest{}
			if objects.Get(ctx, client.ObjectKey{Namespace: s.ns, Name: name}, lt) != nil || lt.ResourceVersion == last {
				continue
			}
			last = lt.ResourceVersion
			w.lock.Lock()
			w.seen = append(w.seen, sighting{time.Now(), lt})
			w.lock.Unlock()
		}
	})
	s.Cleanup(func() { stop(); done.Wait() })
	return w
}

func (w *sightings) all() []sighting {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.seen[:len(w.seen):len(w.seen)]
}

// first is when a version was seen first of which f is true.
func (w *sightings) first(f func(*v1alpha1.LoadTest) bool) (time.Time, bool) {
	for _, v := range w.all() {
		if f(v.lt) {
			return v.at, true
		}
	}
	return time.Time{}, false
}

// wantWithin logs when after begun a version was seen first of which f is true. The time is a mark for a machine with CPU time to spare. On a
// busy one everything is late, the story itself too, so that the test fails only after more than twice the time.
func (w *sightings) wantWithin(what string, begun time.Time, within time.Duration, f func(*v1alpha1.LoadTest) bool) {
	w.Helper()
	at, seen := w.first(f)
	switch {
	case !seen:
		w.Errorf("%s: never", what)
	case at.Sub(begun) > 2*within:
		w.Errorf("%s: after %v, want %v", what, at.Sub(begun).Round(10*time.Millisecond), within)
	default:
		w.Logf("%s: after %v, mark %v", what, at.Sub(begun).Round(10*time.Millisecond), within)
	}
}

// wantGrowing: the number of requests sent never decreases in status.
func (w *sightings) wantGrowing() {
	w.Helper()
	var most int64
	for _, v := range w.all() {
		if v.lt.Status.Results == nil {
			if most > 0 {
				w.Errorf("at %v status has no results after %d requests", v.at.UTC().Format(time.TimeOnly), most)
				return
			}
			continue
		}
		if sent := v.lt.Status.Results.Requests.Sent; sent < most {
			w.Errorf("at %v status has %d requests sent after %d", v.at.UTC().Format(time.TimeOnly), sent, most)
		} else {
			most = sent
		}
	}
}

// rates are the numbers of requests a second in status.summary between two times.
func (w *sightings) rates(from, to time.Time) (out []float64) {
	for _, v := range w.all() {
		if v.at.Before(from) || v.at.After(to) || v.lt.Status.Summary == nil {
			continue
		}
		if rate, err := strconv.ParseFloat(v.lt.Status.Summary.Rate, 64); err == nil {
			out = append(out, rate)
		}
	}
	return out
}

func mean(all []float64) (out float64) {
	for _, v := range all {
		out += v / float64(len(all))
	}
	return out
}

// conditionIs returns a function that is true of a LoadTest with this condition. An empty reason means any.
func conditionIs(condition string, status metav1.ConditionStatus, reason, part string) func(*v1alpha1.LoadTest) bool {
	return func(lt *v1alpha1.LoadTest) bool {
		c := meta.FindStatusCondition(lt.Status.Conditions, condition)
		return c != nil && c.Status == status && (reason == "" || c.Reason == reason) && strings.Contains(c.Message, part)
	}
}

// wantQuiet: the target got no request that began 5 s after the LoadTest was finished or later.
func (w *sightings) wantQuiet() {
	w.Helper()
	var at time.Time
	w.eventually(short, func() string {
		var finished bool
		if at, finished = w.first(conditionIs(v1alpha1.ConditionFinished, metav1.ConditionTrue, "", "")); !finished {
			return "the test was not seen finished"
		}
		return ""
	})
	st := w.stats()
	for i, n := range st.PerSecond {
		if second := time.Unix(st.PerSecondStart+int64(i), 0); n > 0 && second.After(at.Add(5*time.Second)) {
			w.Errorf("the target got %d requests in the second of %v, the test finished at %v", n, second.UTC().Format(time.TimeOnly), at.UTC().Format(time.TimeOnly))
		}
	}
}

// wantAtMost: from a time on the target got at most 102% of the rate in each second. What the three seconds before had less may come in
// addition: a busy machine sends late.
func (s *story) wantAtMost(rate float64, from time.Time) {
	s.Helper()
	st := s.stats()
	for i, n := range st.PerSecond {
		missing := 0.0
		for _, before := range st.PerSecond[max(0, i-3):i] {
			missing = max(0, missing+rate-float64(before))
		}
		second := time.Unix(st.PerSecondStart+int64(i), 0)
		if !second.Before(from) && float64(n) > rate*1.02+missing {
			s.Errorf("the target got %d requests in the second of %v, want at most 102%% of %.0f", n, second.UTC().Format(time.TimeOnly), rate)
		}
	}
	s.Logf("by the target's count a second, from %v: %v", time.Unix(st.PerSecondStart, 0).UTC().Format(time.TimeOnly), st.PerSecond)
}

// fullAgain is the first second after a time in which the target got the whole rate after one in which it
// got less.
func (s *story) fullAgain(rate float64, after time.Time) (time.Time, bool) {
	s.Helper()
	st, less := s.stats(), false
	for i, n := range st.PerSecond {
		second := time.Unix(st.PerSecondStart+int64(i), 0)
		if second.Before(after) {
			continue
		}
		if less && float64(n) >= rate*0.95 {
			return second, true
		}
		less = less || float64(n) < rate*0.9
	}
	return time.Time{}, false
}

// wantAll: the runners count what the target counts, and it is all that was planned.
func (s *story) wantAll(lt *v1alpha1.LoadTest, planned uint64) {
	s.Helper()
	sent, received := s.wantCounts(lt), s.stats().Requests
	s.Logf("sent %d, received %d, planned %d", sent, received, planned)
	if sent != received || sent != planned {
		s.Errorf("sent %d, received %d, planned %d; want them equal", sent, received, planned)
	}
}

// wantSame: the runners count what the target counts.
func (s *story) wantSame(lt *v1alpha1.LoadTest) {
	s.Helper()
	sent, received := s.wantCounts(lt), s.stats().Requests
	s.Logf("sent %d, received %d", sent, received)
	if sent != received {
		s.Errorf("the runners sent %d requests, the target received %d", sent, received)
	}
}

// awaitReason waits for an event about a LoadTest and returns how long that took.
func (s *story) awaitReason(name, reason string, within time.Duration) time.Duration {
	s.Helper()
	begun := time.Now()
	s.eventually(within, func() string {
		if got := s.reasons(name); !contains(got, []string{reason}) {
			return fmt.Sprintf("events %q, want %s", got, reason)
		}
		return ""
	})
	return time.Since(begun)
}
