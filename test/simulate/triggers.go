package simulate

import (
	"slices"
	"sync"
	"time"

	"github.com/h2surge/h2surge/test/simulate/trial"
)

// Triggers are what events can wait for: requests of operators, before the API server handles them, what the run record
// says, and what runners do.
var Triggers = []trial.Trigger{
	{Name: "create:LoadTestRun", Weight: 1, Doc: "the run record of a test is created"},
	{Name: "update:LoadTestRun", Weight: 6, Doc: "a decision is stored"},
	{Name: "patch:LoadTest", Weight: 2, Doc: "status is written"},
	{Name: "create:Secret", Weight: 1, Doc: "the certificate of the runners is created"},
	{Name: "create:ConfigMap", Weight: 3, Doc: "a plan or a report is created"},
	{Name: "patch:Job", Weight: 3, Doc: "the Job is created, or gets another number of indices"},
	{Name: "delete:Job", Weight: 3, Doc: "the Job is deleted"},
	{Name: "delete:Pod", Weight: 1, Doc: "the pod of a lost runner is deleted"},
	{Name: "create:LoadTestCheckpoint", Weight: 4, Doc: "the first counts of a runner are stored"},
	{Name: "update:LoadTestCheckpoint", Weight: 2, Doc: "counts of a runner are stored"},
	{Name: "deletecollection:LoadTestCheckpoint", Weight: 2, Doc: "the counts are deleted after the end"},
	{Name: "running", Weight: 2, Doc: "the process of a runner starts"},
	{Name: "exit", Weight: 3, Doc: "a runner exits"},
	{Name: "start", Weight: 4, Doc: "the record has the start"},
	{Name: "change", Weight: 5, Doc: "the record has another change of the load"},
	{Name: "loss", Weight: 4, Doc: "the record has another lost runner"},
	{Name: "stop", Weight: 3, Doc: "the record has the stop"},
	{Name: "last", Weight: 6, Doc: "the load ends a second later, if nothing changes"},
	{Name: "end", Weight: 3, Doc: "the record has the end"},
	{Name: "leads", Weight: 6, Doc: "a process of the operator begins to lead"},
}

// waiting are the events that wait for a trigger.
type waiting struct {
	mu     sync.Mutex // guards the fields below
	events []trial.Event
	over   bool // no event happens any more
}

// Do implements trial.World.
func (w *World) Do(e trial.Event) {
	if e.On == "" {
		w.act(e)
		return
	}
	w.waiting.mu.Lock()
	defer w.waiting.mu.Unlock()
	w.waiting.events = append(w.waiting.events, e)
}

// act lets an event happen now.
func (w *World) act(e trial.Event) {
	w.acting.Lock()
	defer w.acting.Unlock()
	if w.isOver() {
		return
	}
	for _, actions := range []map[string]action{ofSystem, ofRunners, ofAPI, ofTargets, ofUsers} {
		if act := actions[e.Do]; act != nil {
			act(w, e)
			return
		}
	}
	panic("no action " + e.Do)
}

func (w *World) isOver() bool {
	w.waiting.mu.Lock()
	defer w.waiting.mu.Unlock()
	return w.waiting.over
}

// trigger lets the events happen that wait for it.
func (w *World) trigger(name string) {
	var due []trial.Event
	w.waiting.mu.Lock()
	w.waiting.events = slices.DeleteFunc(w.waiting.events, func(e trial.Event) bool {
		if e.On == name {
			due = append(due, e)
		}
		return e.On == name
	})
	w.waiting.mu.Unlock()
	for _, e := range due {
		do := func() {
			w.Log("NOW %s", e)
			w.act(e)
		}
		if e.Wait == 0 {
			do()
		} else {
			time.AfterFunc(e.Wait, do)
		}
	}
}

// soon lets the events happen that wait for a trigger, when the caller's locks are free.
func (w *World) soon(name string) { go w.trigger(name) }

// decided lets the events happen that wait for what a record says. The caller holds the lock of the API server.
func (w *World) decided(h *history, was, is *run) {
	if was == nil {
		was = &run{}
	}
	if was.Start == nil && is.Start != nil {
		w.soon("start")
		time.AfterFunc(time.Until(h.loadEnd(is))-time.Second, func() { w.trigger("last") })
	}
	if len(is.Changes) > len(was.Changes) && was.Start != nil {
		w.soon("change")
	}
	if len(is.lost()) > len(was.lost()) {
		w.soon("loss")
	}
	if was.Stop == nil && is.Stop != nil {
		w.soon("stop")
	}
	if was.End == nil && is.End != nil {
		w.soon("end")
	}
}
