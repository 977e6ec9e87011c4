package trial

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Arg is an argument of an action: a whole number from Low to High. Low is the simplest value. Large ranges have more
// small values: half of them are in the first quarter.
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

// Event is an action that happens in a trial, at a time after its start.
type Event struct {
	At   time.Duration
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

// String returns the form that Parse reads, such as "12.35s cut ms=1500 runner=3".
func (e Event) String() string {
	out := e.At.String() + " " + e.Do
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
		e.At, err = time.ParseDuration(words[0])
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

// Generate returns the events of a seed, the first ones at 0 and the others before the horizon. In each seed, some
// actions are frequent and some do not happen: rare combinations then have a seed in which nothing hides them.
func Generate(actions []Action, seed uint64, horizon time.Duration) []Event {
	r := Rand(seed, "events")
	var events []Event
	var chosen []Action // an action for each unit of weight
	for _, a := range actions {
		if a.Weight == 0 {
			events = append(events, a.draw(r, 0))
		}
		for range a.Weight * []int{0, 1, 1, 4}[r.IntN(4)] {
			chosen = append(chosen, a)
		}
	}
	pace := 0.25 + 2*r.Float64()
	for at := gap(r, pace); at < horizon && len(chosen) > 0; at += gap(r, pace) {
		events = append(events, chosen[r.IntN(len(chosen))].draw(r, at))
	}
	return events
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
		if arg.High-arg.Low > 100 {
			n = int64(float64(n) * r.Float64())
		}
		e.Args[arg.Name] = arg.Low + n
	}
	return e
}
