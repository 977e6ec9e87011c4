package trial

import (
	"context"
	"maps"
	"slices"
)

// shrink returns fewer and simpler events that have the same result twice in a row. It ends with the context.
func (p process) shrink(ctx context.Context, seed uint64, events []Event, failure Result) []Event {
	fails := func(candidate []Event) bool {
		for range 2 {
			if ctx.Err() != nil || !p.run(ctx, seed, candidate).same(failure) {
				return false
			}
		}
		return ctx.Err() == nil
	}
	return p.simpler(fewer(events, fails), fails)
}

// fewer leaves out events: first halves of them, then smaller parts. An event that happens once, at the start, stays.
func fewer(events []Event, fails func([]Event) bool) []Event {
	first := slices.IndexFunc(append(events, Event{At: 1}), func(e Event) bool { return e.At > 0 })
	for size := (len(events) - first + 1) / 2; size > 0; {
		before := len(events)
		for at := first; at < len(events); {
			candidate := slices.Concat(events[:at], events[min(at+size, len(events)):])
			if fails(candidate) {
				events = candidate
			} else {
				at += size
			}
		}
		if size = min(size, len(events)-first); size > 1 {
			size /= 2
		} else if len(events) == before {
			break
		}
	}
	return events
}

// simpler lowers each argument as far as it fails, by halves of its distance from the low end.
func (p process) simpler(events []Event, fails func([]Event) bool) []Event {
	for _, a := range p.Actions {
		for _, arg := range a.Args {
			for i := range events {
				if events[i].Do == a.Name {
					events = lower(events, i, arg, fails)
				}
			}
		}
	}
	return events
}

func lower(events []Event, i int, arg Arg, fails func([]Event) bool) []Event {
	for step := events[i].Args[arg.Name] - arg.Low; step > 0; step /= 2 {
		candidate := slices.Clone(events)
		candidate[i].Args = maps.Clone(events[i].Args)
		candidate[i].Args[arg.Name] -= step
		if candidate[i].Args[arg.Name] >= arg.Low && fails(candidate) {
			events = candidate
		}
	}
	return events
}
