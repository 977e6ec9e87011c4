package trial

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Arg is an argument of an action: a whole number from Low to High. Low is the simplest value. Large ranges have more
// small values: half of them are in the first quarter, or in the first tenth of a range above 50,000. One of 16 of such
// a range is the highest one.
type Arg struct {
	Name      string
	Low, High int64
}

// Action is something that can happen in a simulation.
type Action struct {
	// Group is who or what acts, such as "network".
	Group, Name string
	// Weight is how often it happens, in relation to others. 0: once, at the start of each trial.
	Weight int
	Args   []Arg
	Doc    string
}

// Trigger is something that the system does, and that an event can wait for. Weight is how often events do.
type Trigger struct {
	Name   string
	Weight int
	Doc    string
}

// Event is an action that happens in a trial, at a time after its start. With On, it happens Wait after the first
// trigger of that name from this time on, or does not happen if there is none.
type Event struct {
	At   time.Duration
	On   string
	Wait time.Duration
	Do   string
	Args map[string]int64
}

// Int returns an argument.
func (e Event) Int(name string) int {
	n, ok := e.Args[name]
	if !ok {
		panic(fmt.Sprintf("%s has no argument %s", e, name))
	}
	return int(n)
}

// Milliseconds returns the argument ms: how long a fault lasts.
func (e Event) Milliseconds() time.Duration { return time.Duration(e.Int("ms")) * time.Millisecond }

// String returns the form that Parse reads, such as "12.35s cut ms=1500 runner=3", or "2s@stop+5ms kill runner=3".
func (e Event) String() string {
	out := e.At.String()
	if e.On != "" {
		out += "@" + e.On + "+" + e.Wait.String()
	}
	out += " " + e.Do
	for _, name := range slices.Sorted(maps.Keys(e.Args)) {
		out += fmt.Sprintf(" %s=%d", name, e.Args[name])
	}
	return out
}

// Join returns events as one text for Parse.
func Join(events []Event, separator string) string {
	texts := make([]string, len(events))
	for i, e := range events {
		texts[i] = e.String()
	}
	return strings.Join(texts, separator)
}

// Parse reads events, separated by ";".
func Parse(text string) (events []Event, err error) {
	for part := range strings.SplitSeq(text, ";") {
		words := strings.Fields(part)
		if len(words) < 2 {
			return nil, fmt.Errorf("event %q: must be a time, an action, and arguments such as ms=100", part)
		}
		e := Event{Do: words[1], Args: map[string]int64{}}
		at, on, waits := strings.Cut(words[0], "@")
		if e.At, err = time.ParseDuration(at); waits {
			name, wait, _ := strings.Cut(on, "+")
			var bad error
			e.On = name
			e.Wait, bad = time.ParseDuration(wait)
			err = cmp.Or(err, bad)
		}
		for _, w := range words[2:] {
			name, value, _ := strings.Cut(w, "=")
			n, bad := strconv.ParseInt(value, 10, 64)
			e.Args[name], err = n, cmp.Or(err, bad)
		}
		if err != nil {
			return nil, fmt.Errorf("event %q: %w", part, err)
		}
		events = append(events, e)
	}
	return events, nil
}

// Rand returns the random numbers of one part of a trial. Each part has its own, so that a part that draws more does
// not change the others.
func Rand(seed uint64, part string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(part))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// Generate returns the events of a seed, the first ones at 0 and the others before the horizon. Each seed has its own
// mix: some groups and actions do not happen, some are frequent, and there are few events or hundreds. Rare
// combinations then have a seed in which nothing hides them.
func (s Simulation) Generate(seed uint64) []Event {
	r := Rand(seed, "events")
	var events []Event
	var chosen []Action // an action for each unit of weight
	absent, sparse := map[string]bool{}, r.Float64()*r.Float64()
	for _, a := range s.Actions {
		if a.Weight == 0 {
			events = append(events, a.draw(r, 0))
			continue
		}
		if _, known := absent[a.Group]; !known {
			absent[a.Group] = r.Float64() < sparse && a.Group != ""
		}
		factor := []int{0, 0, 1, 4}[r.IntN(4)]
		for range a.Weight * factor {
			if !absent[a.Group] {
				chosen = append(chosen, a)
			}
		}
	}
	pace := math.Pow(50, r.Float64())
	for at := gap(r, pace); at < s.Horizon && len(chosen) > 0; at += gap(r, pace) {
		events = append(events, s.burst(r, at, chosen)...)
	}
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return events
}

// burst returns the events of a time: one, or some that follow each other closely and often are about the same. They
// can wait for the same trigger.
func (s Simulation) burst(r *rand.Rand, at time.Duration, chosen []Action) (events []Event) {
	on := ""
	if len(s.Triggers) > 0 && r.IntN(2) == 0 {
		on = s.trigger(r)
		if r.IntN(3) == 0 {
			at = time.Millisecond // what happens once, at the start, is hit, too
		}
	}
	for range []int{1, 2, 2, 3, 3, 4}[r.IntN(6)] {
		a := chosen[r.IntN(len(chosen))]
		e := a.draw(r, at)
		if len(events) > 0 && r.IntN(2) == 0 {
			a.copy(e, events[0])
		}
		later := time.Duration([]int64{0, r.Int64N(50), r.Int64N(2000), r.Int64N(20_000)}[r.IntN(4)]) * time.Millisecond
		switch {
		case on != "":
			e.On, e.Wait = on, later
		case len(events) > 0:
			e.At += later
		}
		events = append(events, e)
	}
	return events
}

// copy gives an event the arguments of another one, such as its runner.
func (a Action) copy(to, from Event) {
	for _, arg := range a.Args {
		if n, ok := from.Args[arg.Name]; ok && arg.Low <= n && n <= arg.High {
			to.Args[arg.Name] = n
		}
	}
}

// trigger draws the name of a trigger.
func (s Simulation) trigger(r *rand.Rand) string {
	all := 0
	for _, m := range s.Triggers {
		all += m.Weight
	}
	n := r.IntN(all)
	for _, m := range s.Triggers {
		if n -= m.Weight; n < 0 {
			return m.Name
		}
	}
	panic("weights") // their sum is all
}

// gap is the time to the next event: mostly parts of a second, sometimes longer than the timeouts of the system.
func gap(r *rand.Rand, pace float64) time.Duration {
	most := 1000.0
	switch r.IntN(40) {
	case 0:
		most = 30_000
	case 1, 2:
		most = 6000
	}
	return time.Duration(1+pace*most*r.Float64()) * time.Millisecond
}

func (a Action) draw(r *rand.Rand, at time.Duration) Event {
	e := Event{At: at, Do: a.Name, Args: map[string]int64{}}
	for _, arg := range a.Args {
		n := r.Int64N(arg.High - arg.Low + 1)
		for most := int64(100); arg.High-arg.Low > most; most *= 500 {
			n = int64(float64(n) * r.Float64())
		}
		if arg.High-arg.Low > 50_000 && r.IntN(16) == 0 {
			n = arg.High - arg.Low
		}
		e.Args[arg.Name] = arg.Low + n
	}
	return e
}
