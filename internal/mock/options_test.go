package mock

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestParseRatio(t *testing.T) {
	for in, want := range map[string]float64{
		"3%": 0.03, "0.03": 0.03, "0": 0, "0%": 0, "100%": 1, "1": 1, "0.5%": 0.005, "1e-3": 0.001,
	} {
		if got, err := ParseRatio(in); err != nil || math.Abs(got-want) > 1e-12 {
			t.Errorf("ParseRatio(%q) = %v, %v, want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "%", "x", "3 %", "-1%", "101%", "1.01", "NaN", "Inf", "3%%"} {
		if got, err := ParseRatio(in); err == nil {
			t.Errorf("ParseRatio(%q) = %v, want an error", in, got)
		}
	}
}

func TestParseStall(t *testing.T) {
	want := Stall{For: 500 * time.Millisecond, Every: 10 * time.Second}
	if got, err := ParseStall("500ms/10s"); err != nil || got != want {
		t.Errorf("ParseStall = %v, %v, want %v", got, err, want)
	}
	for _, in := range []string{"", "500ms", "500/10", "0s/0s", "0s/10s", "10s/10s", "11s/10s", "-1s/10s", "1s/", "/1s"} {
		if got, err := ParseStall(in); err == nil {
			t.Errorf("ParseStall(%q) = %v, want an error", in, got)
		}
	}
}

func TestNewReturnsAllErrors(t *testing.T) {
	cpu := -1
	_, err := New(Options{
		Listen: "127.0.0.1:0", CPU: &cpu, Unanswered: 2, NotFound: math.NaN(), Latency: -1,
		Stall: Stall{For: 2, Every: 1}, BodySize: MaxBodySize + 1, MaxConcurrentStreams: -1, ResetBurst: -1, Capacity: Capacity{PerSecond: -1},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"unanswered", "not-found", "latency", "stall", "body-size", "max-concurrent-streams", "cpu", "reset-burst", "capacity",
	} {
		if !strings.Contains(err.Error(), want+":") {
			t.Errorf("%q is not told in: %v", want, err)
		}
	}
}
