package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/mock"
	"github.com/h2surge/h2surge/internal/mock/rules"
)

// TestTryCountsNotifications: the test of the page receives its notification, and one that the target does not send is missing.
func TestTryCountsNotifications(t *testing.T) {
	waits(t)
	for unsent, want := range map[string]rv.ListenerCounts{"0%": {Received: 1, InTime: 1, Awaited: 1}, "100%": {Awaited: 1, Missing: 1}} {
		page := pageOf(t, "docs/how-to/callbacks.md")
		set, err := rules.Load([]byte(strings.NewReplacer("unsent: 0.5%", "unsent: "+unsent, "sentTwice: 1%", "sentTwice: 0%").Replace(blockOf(t, page, "Target").Text)), "")
		if err != nil {
			t.Fatal(err)
		}
		test, at := blockOf(t, page, "LoadTest").Text, "http://"+serve(t, mock.Options{Rules: set, Seed: 1}).Addr().String()
		if want.Missing > 0 {
			test = strings.Replace(test, "timeout: 1s", "timeout: 10ms", 1)
		} else {
			test = strings.Replace(test, "timeout: 1s", "timeout: 1m", 1)
		}
		got := tries(t, test, "-f", "-", "-o", "json", "--target-url", at)
		var r struct{ Listeners []rv.ListenerResult }
		if err := json.Unmarshal([]byte(got.out), &r); err != nil {
			t.Fatalf("%v: %+v", err, got)
		}
		for i := range r.Listeners {
			r.Listeners[i].Measured = rv.AwaitCounts{}
		}
		if diff := cmp.Diff([]rv.ListenerResult{{Name: "events", ListenerCounts: want}}, r.Listeners); diff != "" {
			t.Errorf("unsent %s (-want +got):\n%s", unsent, diff)
		}
	}
}

// TestTryTextOfListeners: a notification for another path is not only missing.
func TestTryTextOfListeners(t *testing.T) {
	r := triedResult{Listeners: []rv.ListenerResult{
		{Name: "good", ListenerCounts: rv.ListenerCounts{Received: 1, InTime: 1, Awaited: 1}},
		{Name: "hook", ListenerCounts: rv.ListenerCounts{Received: 1, Unexpected: 1, Awaited: 1, Missing: 1}},
	}}
	const want = "listener hook: 1 missing, 1 unexpected (no step awaited them)\n0 of 0 chains passed\n"
	if got := r.text(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
