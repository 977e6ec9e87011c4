package mock

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Capacity is the rate at which a server can answer, so that tests have a target whose limit is known. The server has
// one queue, in the order of arrival. A request that would wait for longer than MaxQueue gets 503 at once. The zero
// value has no limit.
type Capacity struct {
	// PerSecond is the number of requests per second; 0: no limit.
	PerSecond int64
	// Changes are later capacities, in ascending order of time.
	Changes []CapacityChange
}

// CapacityChange is the capacity from a time on.
type CapacityChange struct {
	// After is the time from the start of the server.
	After     time.Duration
	PerSecond int64
}

const (
	// MaxQueue is how long a request may wait in the queue of a Capacity.
	MaxQueue = 500 * time.Millisecond
	// queueSlack is how much idle time the queue makes up for. Without it, a server that the operating system wakes late
	// would have a lower capacity than asked for.
	queueSlack = 10 * time.Millisecond
	// maxCapacity bounds the error of a service time, which is in nanoseconds, to 0.1%.
	maxCapacity = 1_000_000
)

func (c *Capacity) validate() error {
	last := time.Duration(0)
	for _, change := range append([]CapacityChange{{PerSecond: c.PerSecond}}, c.Changes...) {
		switch {
		case change.PerSecond < 0 || change.PerSecond > maxCapacity || change.PerSecond == 0 && len(c.Changes) > 0:
			return fmt.Errorf("capacity: %d is not between 1 and %d", change.PerSecond, maxCapacity)
		case change.After < last:
			return errors.New("capacity: the times must be in ascending order")
		}
		last = change.After
	}
	return nil
}

// ParseCapacity reads "5000", or "5000,30s:8000": 5000 requests per second, and 8000 from 30 seconds after the start
// on.
func ParseCapacity(s string) (c Capacity, err error) {
	for i, item := range strings.Split(s, ",") {
		after, number, timed := strings.Cut(item, ":")
		if !timed {
			after, number = "0s", item
		}
		var change CapacityChange
		if change.PerSecond, err = strconv.ParseInt(number, 10, 64); err != nil || change.PerSecond < 1 ||
			change.PerSecond > maxCapacity {
			return Capacity{}, fmt.Errorf("%q is not a number of requests per second from 1 to %d", number, maxCapacity)
		}
		if change.After, err = time.ParseDuration(after); err != nil || change.After < 0 || (i == 0) == timed {
			return Capacity{}, fmt.Errorf("%q is not a capacity such as 5000, or 5000,30s:8000", s)
		}
		if i == 0 {
			c.PerSecond = change.PerSecond
			continue
		}
		c.Changes = append(c.Changes, change)
	}
	return c, c.validate()
}

// queue computes when the requests of a server with a Capacity are answered. All times are nanoseconds since the start
// of the server.
type queue struct {
	// service is the time for each request; 0: no limit. changes are later ones.
	service int64
	changes []CapacityChange
	// free is when all requests so far are answered.
	free int64
}

func newQueue(c Capacity) queue {
	q := queue{changes: c.Changes}
	if c.PerSecond > 0 {
		q.service = int64(time.Second) / c.PerSecond
	}
	return q
}

// admit returns when a request that arrived at now is answered; false: the queue is too long. The times never decrease.
func (q *queue) admit(now int64) (at int64, ok bool) {
	if q.service == 0 {
		return now, true
	}
	for len(q.changes) > 0 && int64(q.changes[0].After) <= now {
		q.service, q.changes = int64(time.Second)/q.changes[0].PerSecond, q.changes[1:]
	}
	free := max(q.free, now-int64(queueSlack)) + q.service
	if free-now > int64(MaxQueue) {
		return 0, false
	}
	q.free = free
	return max(now, free), true
}
