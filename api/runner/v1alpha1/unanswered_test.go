package v1alpha1

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

func TestAbove(t *testing.T) {
	for _, limit := range []int64{0, 1, 20_000, 5_000_000, 5_123_456, 3_600_000_000} {
		v := Above(limit)
		if got, is := LimitOf(v); got != limit || !is {
			t.Errorf("LimitOf(Above(%d)) = %d, %v", limit, got, is)
		}
		if v <= int64(365*24*time.Hour/time.Microsecond) || v <= Above(limit-1) && limit > 0 {
			t.Errorf("Above(%d) is %d, want more than every measured time and Above a smaller limit", limit, v)
		}
		if int64(float64(v)) != v {
			t.Errorf("a float64 does not represent Above(%d)", limit)
		}
		if _, is := LimitOf(limit); is {
			t.Errorf("LimitOf(%d) is above a limit", limit)
		}
	}
	if v := Above(math.MaxInt64); v <= Above(1) || int64(float64(v)) != v {
		t.Errorf("Above(MaxInt64) = %d", v)
	}
}

func TestTimesJSON(t *testing.T) {
	in := Times{Count: 10, Unanswered: 2, Min: 1, Mean: 3, P50: 4, P90: Above(5_000_000), P95: Above(90_000_000), P99: Above(5_123_456), P999: Above(0), Max: Above(1)}
	const want = `{"count":10,"unanswered":2,"min":1,"mean":3,"p50":4,"p90":"> 5s","p95":"> 1m30s","p99":"> 5.123456s","p999":"> 0s","max":"> 1us"}`
	text, err := in.MarshalJSON()
	if err != nil || strings.TrimSpace(string(text)) != want {
		t.Errorf("%v, %s\nwant %s", err, text, want)
	}
	var got Times
	if err := json.Unmarshal(text, &got); err != nil || got != in {
		t.Errorf("%v, %+v, want %+v", err, got, in)
	}
	window := WindowTimes{Count: 10, Unanswered: 2, P50: 4, P90: Above(5_000_000), P99: Above(1), Max: Above(2)}
	var read WindowTimes
	if text, err = json.Marshal(window); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &read); err != nil || read != window {
		t.Errorf("%v, %+v, want %+v: %s", err, read, window, text)
	}
	for _, wrong := range []string{`{"p99":"5s"}`, `{"p99":"> 5"}`, `{"p99":""}`, `{"p99":[]}`, `{"p99":1.5}`} {
		if err := json.Unmarshal([]byte(wrong), &got); err == nil {
			t.Errorf("%s: no error", wrong)
		}
	}
}
