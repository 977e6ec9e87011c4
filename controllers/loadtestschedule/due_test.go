package loadtestschedule

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

func clock(t *testing.T, text string) time.Time {
	t.Helper()
	if text == "" {
		return time.Time{}
	}
	out, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDueAt(t *testing.T) {
	const minutely, nightly = "* * * * *", "30 2 * * *"
	for _, tt := range []struct {
		name            string
		schedule, zone  string
		handled, now    string
		deadline        time.Duration
		at, next        string
		missed          int64
		first, last     string
		wantHandledTime string // default: handled, or last
	}{
		{
			name: "not yet", schedule: nightly, handled: "2026-01-01T00:00:00Z", now: "2026-01-01T02:29:59Z", deadline: time.Minute,
			next: "2026-01-01T02:30:00Z",
		},
		{
			name: "at the time", schedule: nightly, handled: "2026-01-01T00:00:00Z", now: "2026-01-01T02:30:00Z", deadline: time.Minute,
			at: "2026-01-01T02:30:00Z", next: "2026-01-02T02:30:00Z",
		},
		{
			name: "handled", schedule: nightly, handled: "2026-01-01T02:30:00Z", now: "2026-01-01T02:30:01Z", deadline: time.Minute,
			next: "2026-01-02T02:30:00Z",
		},
		{
			name: "last moment", schedule: nightly, handled: "2026-01-01T00:00:00Z", now: "2026-01-01T02:31:00Z", deadline: time.Minute,
			at: "2026-01-01T02:30:00Z", next: "2026-01-02T02:30:00Z",
		},
		{
			name: "too late", schedule: nightly, handled: "2026-01-01T00:00:00Z", now: "2026-01-01T02:31:01Z", deadline: time.Minute,
			next: "2026-01-02T02:30:00Z", missed: 1, first: "2026-01-01T02:30:00Z", last: "2026-01-01T02:30:00Z",
		},
		{
			name: "several missed, the last one starts", schedule: minutely, handled: "2026-01-01T00:00:00Z", now: "2026-01-01T00:05:10Z", deadline: time.Minute,
			at: "2026-01-01T00:05:00Z", next: "2026-01-01T00:06:00Z", missed: 4, first: "2026-01-01T00:01:00Z", last: "2026-01-01T00:04:00Z",
		},
		{
			name: "several missed, none starts", schedule: "*/5 * * * *", handled: "2026-01-01T00:00:00Z", now: "2026-01-01T00:11:00Z", deadline: 10 * time.Second,
			next: "2026-01-01T00:15:00Z", missed: 2, first: "2026-01-01T00:05:00Z", last: "2026-01-01T00:10:00Z",
		},
		{
			name: "years missed", schedule: minutely, handled: "2020-01-01T00:00:00Z", now: "2026-01-01T00:00:10Z", deadline: time.Minute,
			at: "2026-01-01T00:00:00Z", next: "2026-01-01T00:01:00Z", missed: maxMissed, first: "2020-01-01T00:01:00Z", last: "2025-12-31T23:59:00Z",
		},
		{
			name: "a year missed of a rare schedule", schedule: "0 0 1 1 *", handled: "2020-01-01T00:00:00Z", now: "2026-06-01T00:00:00Z", deadline: time.Minute,
			next: "2027-01-01T00:00:00Z", missed: 6, first: "2021-01-01T00:00:00Z", last: "2026-01-01T00:00:00Z",
		},
		{
			name: "the clock was set back", schedule: minutely, handled: "2026-01-01T01:00:00Z", now: "2026-01-01T00:30:00Z", deadline: time.Minute,
			next: "2026-01-01T01:01:00Z",
		},
		{
			name: "the clock was a year ahead before", schedule: minutely, handled: "2027-01-01T01:00:00Z", now: "2026-01-01T00:30:10Z", deadline: time.Minute,
			next: "2026-01-01T00:31:00Z", wantHandledTime: "2026-01-01T00:30:10Z",
		},
		{
			name: "time zone", schedule: nightly, zone: "Europe/Berlin", handled: "2026-01-01T00:00:00Z", now: "2026-01-01T01:30:00Z", deadline: time.Minute,
			at: "2026-01-01T01:30:00Z", next: "2026-01-02T01:30:00Z",
		},
		{
			name: "the change to summer time skips 02:30", schedule: nightly, zone: "Europe/Berlin", handled: "2026-03-28T01:30:00Z", now: "2026-03-29T12:00:00Z", deadline: time.Minute,
			next: "2026-03-30T00:30:00Z",
		},
		{
			name: "02:30 occurs twice at the end of summer time: the first", schedule: nightly, zone: "Europe/Berlin", handled: "2026-10-24T00:30:00Z", now: "2026-10-25T00:30:00Z", deadline: time.Minute,
			at: "2026-10-25T00:30:00Z", next: "2026-10-25T01:30:00Z",
		},
		{
			name: "a time after the change", schedule: "0 4 * * *", zone: "Europe/Berlin", handled: "2026-03-28T03:00:00Z", now: "2026-03-29T02:00:00Z", deadline: time.Minute,
			at: "2026-03-29T02:00:00Z", next: "2026-03-30T02:00:00Z",
		},
		{
			name: "hourly over the change", schedule: "@hourly", zone: "America/New_York", handled: "2026-11-01T04:00:00Z", now: "2026-11-01T07:30:00Z", deadline: time.Hour,
			at: "2026-11-01T07:00:00Z", next: "2026-11-01T08:00:00Z", missed: 2, first: "2026-11-01T05:00:00Z", last: "2026-11-01T06:00:00Z",
		},
		{
			name: "the day after a Thursday at whose end summer time begins at midnight", schedule: "0 9 * * 4", zone: "Africa/Cairo",
			handled: "2026-04-23T07:00:00Z", now: "2026-04-24T06:00:00Z", deadline: time.Minute, next: "2026-04-30T06:00:00Z",
		},
		{
			name: "a Friday on which summer time begins at midnight", schedule: "0 9 * * 5", zone: "Africa/Cairo",
			handled: "2026-04-17T07:00:00Z", now: "2026-04-24T06:00:00Z", deadline: time.Minute, at: "2026-04-24T06:00:00Z", next: "2026-05-01T06:00:00Z",
		},
		{
			name: "summer time skips midnight", schedule: "@daily", zone: "Africa/Cairo", handled: "2026-04-22T22:00:00Z", now: "2026-04-24T06:00:00Z",
			deadline: time.Minute, next: "2026-04-24T21:00:00Z",
		},
		{
			name: "the first minute of summer time", schedule: "0 1 24 4 *", zone: "Africa/Cairo", handled: "2026-04-22T22:00:00Z", now: "2026-04-23T22:00:00Z",
			deadline: time.Minute, at: "2026-04-23T22:00:00Z", next: "2027-04-23T23:00:00Z",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now := clock(t, tt.now)
			zone := tt.zone
			if zone == "" {
				zone = "Etc/UTC"
			}
			times, err := parse(&v1alpha1.LoadTestScheduleSpec{Schedule: tt.schedule, TimeZone: zone}, now)
			if err != nil {
				t.Fatal(err)
			}
			handled := tt.handled
			if tt.last != "" {
				handled = tt.last
			}
			if tt.wantHandledTime != "" {
				handled = tt.wantHandledTime
			}
			want := due{
				at: clock(t, tt.at), next: clock(t, tt.next), missed: tt.missed,
				firstMissed: clock(t, tt.first), lastMissed: clock(t, tt.last), handled: clock(t, handled),
			}
			got := dueAt(times, clock(t, tt.handled), now, tt.deadline)
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(due{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Whatever the times of the passes are, each scheduled time is either due once or missed once.
func TestEachTimeIsHandledOnce(t *testing.T) {
	start := clock(t, "2026-10-24T20:00:00Z")
	times, err := parse(&v1alpha1.LoadTestScheduleSpec{Schedule: "*/7 * * * *", TimeZone: "Europe/Berlin"}, start)
	if err != nil {
		t.Fatal(err)
	}
	for step := time.Minute; step < time.Hour; step += 97 * time.Second {
		handled, counted, now := start, int64(0), start
		for ; now.Sub(start) < 12*time.Hour; now = now.Add(step) {
			d := dueAt(times, handled, now, 3*time.Minute)
			handled, counted = d.handled, counted+d.missed
			if !d.at.IsZero() {
				handled, counted = d.at, counted+1
			}
		}
		want := int64(0)
		for at := times.Next(start); !at.After(now.Add(-step)); at = times.Next(at) {
			want++
		}
		if d := dueAt(times, handled, now.Add(-step), 3*time.Minute); counted != want || d.missed != 0 || !d.at.IsZero() {
			t.Errorf("a pass each %v handled %d of %d times", step, counted, want)
		}
	}
}

func TestParse(t *testing.T) {
	for _, tt := range []struct{ schedule, zone, want string }{
		{"0 2 * * 1-5", "Europe/Berlin", ""},
		{"0 2 * JAN MON,WED", "", ""},
		{"@weekly", "Etc/UTC", ""},
		{"61 * * * *", "Etc/UTC", "spec.schedule: end of range (61) above maximum (59)"},
		{"0 0 31 2 *", "Etc/UTC", "has no time in the next five years"},
		{"@every 1h", "Etc/UTC", "has no fixed times"},
		{"* * * * *", "Europe/Bärlin", "spec.timeZone: unknown time zone Europe/Bärlin; allowed: the name of a time zone"},
	} {
		_, err := parse(&v1alpha1.LoadTestScheduleSpec{Schedule: tt.schedule, TimeZone: tt.zone}, clock(t, "2026-01-01T00:00:00Z"))
		if got := ""; err != nil && tt.want != "" && strings.Contains(err.Error(), tt.want) || err == nil && tt.want == got {
			continue
		}
		t.Errorf("%q in %q: got %v, want %q", tt.schedule, tt.zone, err, tt.want)
	}
}
