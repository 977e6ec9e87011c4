// Package crontab reads the scheduled times of LoadTestSchedules.
package crontab

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the image of the operator has no time zones of its own

	"github.com/robfig/cron/v3"
)

// Location returns the time zone of spec.timeZone; empty: UTC.
func Location(name string) (*time.Location, error) {
	if strings.EqualFold(name, "local") {
		return nil, errors.New("must not be Local; allowed: the name of a time zone, such as Europe/Berlin")
	}
	location, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%w; allowed: the name of a time zone, such as Europe/Berlin", err)
	}
	return location, nil
}

// Parse returns the times of spec.schedule in a time zone. The next one after now is within five years.
func Parse(schedule string, in *time.Location, now time.Time) (cron.Schedule, error) {
	parsed, err := cron.ParseStandard(schedule)
	if err != nil {
		return nil, err
	}
	fixed, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, fmt.Errorf("%q has no fixed times; allowed: five fields, or @hourly, @daily, @weekly, @monthly "+
			"or @yearly", schedule)
	}
	times := &zoned{of: *fixed, zone: in}
	if times.Next(now).IsZero() {
		return nil, fmt.Errorf("%q has no time in the next five years", schedule)
	}
	return times, nil
}
