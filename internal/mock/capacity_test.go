package mock

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestQueue sends at a rate for ten seconds, in turns of a millisecond, with pauses of the server of up to 8 ms.
func TestQueue(t *testing.T) {
	const lasts = 10 * time.Second
	for _, tt := range []struct {
		name           string
		rate, capacity int64
		// wantWait is the longest wait, wantRefused the share of requests that were refused.
		wantWait    time.Duration
		wantRefused float64
	}{
		{"far below", 1000, 5000, 9 * time.Millisecond, 0},
		{"1% below", 4950, 5000, 9 * time.Millisecond, 0},
		{"3% above", 5150, 5000, 300 * time.Millisecond, 0},
		{"twice", 10000, 5000, MaxQueue, 0.475}, // half of them, but for a queue of 500 ms
		{"no limit", 100000, 0, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			q := newQueue(Capacity{PerSecond: tt.capacity})
			var longest, last int64
			refused, sent, looks := 0, int64(0), int64(0)
			for now := int64(0); now < int64(lasts); now++ {
				if now < looks {
					now = looks
				}
				looks = now + int64(time.Millisecond)
				if random.IntN(200) == 0 {
					looks += random.Int64N(int64(8 * time.Millisecond))
				}
				for ; sent < now*tt.rate/int64(time.Second); sent++ {
					at, ok := q.admit(now)
					if !ok {
						refused++
						continue
					}
					if at < last {
						t.Fatalf("request %d is answered at %d, the one before it at %d", sent, at, last)
					}
					last, longest = at, max(longest, at-now)
				}
			}
			if got := float64(refused) / float64(sent); got < tt.wantRefused-0.005 || got > tt.wantRefused+0.005 {
				t.Errorf("%.3f of the requests were refused, want %.3f", got, tt.wantRefused)
			}
			if time.Duration(longest) > tt.wantWait {
				t.Errorf("the longest wait is %v, want %v", time.Duration(longest), tt.wantWait)
			}
			if tt.rate > tt.capacity && tt.capacity > 0 && time.Duration(longest) < tt.wantWait*8/10 {
				t.Errorf("the longest wait is %v only, want about %v", time.Duration(longest), tt.wantWait)
			}
		})
	}
}

func TestQueueChanges(t *testing.T) {
	q := newQueue(Capacity{PerSecond: 1000, Changes: []CapacityChange{{After: time.Second, PerSecond: 100}}})
	for _, now := range []int64{int64(time.Second) - 1, int64(time.Second)} {
		q.free = now
		at, _ := q.admit(now)
		want := map[bool]time.Duration{true: time.Millisecond, false: 10 * time.Millisecond}[now < int64(time.Second)]
		if time.Duration(at-now) != want {
			t.Errorf("at %v a request takes %v, want %v", time.Duration(now), time.Duration(at-now), want)
		}
	}
}

func TestParseCapacity(t *testing.T) {
	for _, tt := range []struct {
		text    string
		want    Capacity
		wantErr string
	}{
		{"5000", Capacity{PerSecond: 5000}, ""},
		{"5000,30s:8000,1m:10", Capacity{PerSecond: 5000, Changes: []CapacityChange{{30 * time.Second, 8000}, {time.Minute, 10}}}, ""},
		{"", Capacity{}, "not a number"},
		{"0", Capacity{}, "not a number"},
		{"1e9", Capacity{}, "not a number"},
		{"5000,8000", Capacity{}, "is not a capacity"},
		{"1s:5000", Capacity{}, "is not a capacity"},
		{"5000,2s:1,1s:1", Capacity{}, "ascending"},
	} {
		got, err := ParseCapacity(tt.text)
		if tt.wantErr != "" {
			if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
				t.Errorf("%q: error %v, want %q", tt.text, err, tt.wantErr)
			}
			continue
		}
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", tt.text, err, diff)
		}
	}
}
