package loadtestschedule

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/crontab"
)

// parse returns the scheduled times of a spec.
func parse(spec *v1alpha1.LoadTestScheduleSpec, now time.Time) (cron.Schedule, error) {
	location, err := crontab.Location(spec.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("spec.timeZone: %w", err)
	}
	times, err := crontab.Parse(spec.Schedule, location, now)
	if err != nil {
		return nil, fmt.Errorf("spec.schedule: %w", err)
	}
	return times, nil
}

// due are the scheduled times that a pass has to handle.
type due struct {
	// at is the time of the run to start; zero: none. It is the last scheduled time, if its deadline has not passed.
	at time.Time
	// missed is the number of runs that cannot start any more, at most maxMissed. The first and the last of them follow.
	missed                  int64
	firstMissed, lastMissed time.Time
	// next is the first scheduled time after now.
	next time.Time
	// handled is the time up to which all scheduled times are handled, if no LoadTest is created.
	handled time.Time
}

// maxMissed bounds the missed runs that one pass counts: a week of a run each minute.
const maxMissed = 10080

// maxAhead is how far handled may be ahead of the clock. If it is further ahead, the clock was wrong when it was set.
const maxAhead = 24 * time.Hour

// dueAt returns what the scheduled times after handled and up to now require. A clock that was set back causes no
// second run: handled is then later than now, and no time is due until the clock has passed it.
func dueAt(times cron.Schedule, handled, now time.Time, deadline time.Duration) due {
	if handled.Sub(now) > maxAhead {
		handled = now
	}
	if handled.After(now) {
		return due{next: times.Next(handled), handled: handled}
	}
	d := due{next: times.Next(now), handled: handled}
	before, last := lastTwo(times, handled, now)
	switch {
	case last.IsZero():
	case now.Sub(last) <= deadline:
		d.at, d.lastMissed = last, before
	default:
		d.lastMissed = last
	}
	d.count(times)
	return d
}

// count counts the missed runs up to lastMissed.
func (d *due) count(times cron.Schedule) {
	if d.lastMissed.IsZero() {
		return
	}
	d.firstMissed = times.Next(d.handled)
	for t := d.firstMissed; !t.After(d.lastMissed) && d.missed < maxMissed; t = times.Next(t) {
		d.missed++
	}
	d.handled = d.lastMissed
}

// lastTwo returns the last two scheduled times after a time and up to now; zero: there are fewer. It looks back from
// now, because after can be years ago.
func lastTwo(times cron.Schedule, after, now time.Time) (before, last time.Time) {
	for back := time.Minute; ; back *= 2 {
		from := now.Add(-back)
		if from.Before(after) {
			from = after
		}
		before, last = time.Time{}, time.Time{}
		for t := times.Next(from); !t.IsZero() && !t.After(now); t = times.Next(t) {
			before, last = last, t
		}
		if !before.IsZero() || from.Equal(after) {
			return before, last
		}
	}
}
