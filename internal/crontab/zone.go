package crontab

import (
	"time"

	"github.com/robfig/cron/v3"
)

// zoned are the scheduled times in a time zone. SpecSchedule goes to a wrong day where summer time begins at midnight,
// so it only sees times of a fixed offset: those between two changes of the clock.
type zoned struct {
	of   cron.SpecSchedule
	zone *time.Location
}

// maxYears is how far Next looks ahead, as SpecSchedule does.
const maxYears = 5

// Next returns the first scheduled time after a time; zero: there is none in the next five years. A time that the clock
// skips does not occur, and one that it repeats occurs twice.
func (z *zoned) Next(after time.Time) time.Time {
	of, limit := z.of, after.AddDate(maxYears, 0, 0)
	for from, in := after, after.In(z.zone); in.Before(limit); {
		name, offset := in.Zone()
		of.Location = time.FixedZone(name, offset)
		_, change := in.ZoneBounds()
		next := of.Next(from)
		if next.IsZero() || change.IsZero() || next.Before(change) {
			return next
		}
		from, in = change.Add(-time.Second), change
	}
	return time.Time{}
}
