package main

import (
	"fmt"
)

// row is one line of the tables: the work, who does it, and what is wanted of the figures.
type row struct {
	name   string // for -run
	group  group
	id     string // of the published workload that it repeats, such as S14; empty: none
	work   string // as the table says it
	server server
	// serverCPUs is nil for the usual place, the first CPU.
	serverCPUs func(b *lab) []int
	ours       side
	peer       *side // nil: the row has absolute goals
	floor      *side // the same work by as little code as possible; nil: there is none
	goals      []goal
	rounds     int // at most; 0: as many as asked for, or fewRounds without goals
}

// side is one of those that take turns.
type side struct {
	client client
	load   load
	label  string             // empty: the client's name
	cpus   func(b *lab) []int // nil: the usual place, the last CPU
}

func (s side) name() string {
	if s.label != "" {
		return s.label
	}
	return s.client.name()
}

// group is a table of the page.
type group string

const (
	groupMarks   group = "marks"
	groupChoice  group = "choice"
	groupScaling group = "scaling"
	groupStreams group = "streams"
	groupGateway group = "gateway"
	groupGo      group = "go"
)

// goal is a figure that a row is held against.
type goal struct {
	what    string
	unit    string  // after mark and aim
	mark    float64 // to be reached
	aim     float64 // to be wished for; 0: none
	higher  bool    // more is better
	cpus    int     // with fewer the figure is shown and not judged; 0: always judged
	ofFloor bool
	of      func(r result) spread
}

func (g goal) reached(value, bound float64) bool {
	if g.higher {
		return value >= bound
	}
	return value <= bound
}

// judge says in words how a value stands.
func (g goal) judge(value float64) string {
	switch {
	case g.aim > 0 && g.reached(value, g.aim):
		return "aim met"
	case g.reached(value, g.mark):
		return "mark met"
	}
	return "mark missed"
}

// cpuRatio is our CPU per request over the peer's.
func cpuRatio(mark, aim float64) []goal {
	return []goal{{what: "CPU ratio", mark: mark, aim: aim,
		of: func(r result) spread { return r.ours.over(r.peers, cpu) }}}
}

// toFloor is our CPU per request over the floor's.
func toFloor(mark, aim float64) goal {
	return goal{what: "h2surge / floor", unit: " x floor", ofFloor: true, mark: mark, aim: aim,
		of: func(r result) spread { return r.ours.over(r.floors, cpu) }}
}

func cpuMicros(mark, aim float64) goal {
	return goal{what: "CPU us per request", unit: " us", mark: mark, aim: aim,
		of: func(r result) spread { return r.ours.of(cpu) }}
}

func (r row) describe() string {
	text := fmt.Sprintf("%s; %s", r.work, r.server.name)
	if r.peer != nil {
		text += "; against " + r.peer.name()
	}
	if r.floor != nil {
		text += "; with the floor"
	}
	if r.id != "" {
		text = r.id + ": " + text
	}
	return text
}

// needs are the programs that the row cannot do without.
func (r row) needs() []tool {
	all := []tool{r.server.needs, r.ours.client.needs()}
	if r.peer != nil {
		all = append(all, r.peer.client.needs())
	}
	return all
}
