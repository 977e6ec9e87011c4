package chain

import (
	"errors"
	"fmt"
	"slices"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/fiveg"
)

// drawing is how the next value of a variable is drawn.
type drawing uint8

const (
	drawConstant   drawing = iota // the only value
	drawSequential                // the next of the worker's share
	drawShuffled                  // the same, through a permutation of all values
	drawAny                       // any of all values
	drawRandom                    // a number of a generator
	drawSlot                      // the number of the worker's next slot, or the one of Sources.Slot
	drawTime                      // the time
	drawTrace                     // the same as drawSlot, and a salt for the worker
)

// variable is a source of values. All workers share it; source is the share of one worker.
type variable struct {
	name    string
	scope   rv.Scope
	drawing drawing
	stop    bool
	values  values
	// size is the number of values of a sequence. inParts: the spans of shares count rv.Parts instead of values.
	size    int64
	inParts bool
	shuffle permutation
	random  random
	// seed is derived from the seeds of the plan and of the variable.
	seed uint64
	// sqn of subscribers.
	sqn rv.SQN
	// fixed: the value is known and does not change on this runner.
	fixed bool
	value int64
}

// newVariable resolves what is constant on the runner. Its errors are a *rv.PlanError with the field, if one is wrong.
func newVariable(v *rv.Variable, seed uint64, r *Resources) (*variable, error) {
	out := &variable{name: v.Name, scope: v.Scope, stop: v.Stop, seed: seed}
	if err := out.kind(v, r); err != nil {
		return nil, err
	}
	if out.size > 0 {
		if err := out.order(v.Order); err != nil {
			return nil, err
		}
	}
	switch v.Scope {
	case rv.ScopeInstance, rv.ScopeStep, rv.ScopeWorker:
		out.fixed = out.drawing == drawConstant
	case rv.ScopeGlobal:
		return out, out.settle()
	default:
		return nil, rv.InField("scope", fmt.Errorf("there is no %q", v.Scope))
	}
	return out, nil
}

// kind takes the first source of values in the order of rv.Variable.Size.
func (out *variable) kind(v *rv.Variable, r *Resources) (err error) {
	switch {
	case v.Range != nil:
		var r *numbers
		if r, err = newRange(v.Range); err == nil {
			out.values, out.size = r, v.Size()
		}
	case v.CSV != nil:
		return out.csv(v.CSV, r)
	case v.Subscribers != nil:
		s, err := fiveg.NewSubscribers(v.Subscribers, r.content)
		if err != nil {
			return rv.InField("subscribers", err)
		}
		out.values, out.size = s, v.Size()
		if v.Subscribers.AKA != nil {
			out.sqn = v.Subscribers.AKA.SQN
		}
	case len(v.List) > 0:
		out.values, out.size = newList(v.List), v.Size()
	case v.Random != nil:
		if out.random, err = newRandom(v.Random); err != nil {
			return rv.InField("random", err)
		}
		out.drawing, out.values = drawRandom, out.random
	case v.UUID:
		out.drawing, out.values = drawSlot, &uuids{seed: out.seed}
	case v.Counter != nil:
		c := v.Counter
		if c.Step < 1 || c.Width > maxWidth {
			return rv.InField("counter", fmt.Errorf("%+v is out of range", *c))
		}
		out.drawing, out.values = drawSlot, &numbers{start: c.Start, step: c.Step, width: c.Width}
	case v.Timestamp != nil:
		t, err := newTimestamps(v.Timestamp)
		if err != nil {
			return rv.InField("timestamp", err)
		}
		out.drawing, out.values = drawTime, &t
	case v.Traceparent != nil:
		t, err := newTraceparents(v, out.seed)
		if err != nil {
			return err
		}
		out.drawing, out.values = drawTrace, t
	default:
		return out.constant(v, r)
	}
	return err
}

func (out *variable) csv(c *rv.CSV, r *Resources) error {
	content, err := r.content(&c.Content)
	if err != nil {
		return rv.InField("csv", err)
	}
	t, err := newTable(c, content)
	if err != nil {
		return rv.InField("csv", fmt.Errorf("%s%w", fileOf(c.Content), err))
	}
	out.values, out.size, out.inParts = t, t.rows(), true
	return nil
}

// constant makes the variable a list of one value.
func (out *variable) constant(v *rv.Variable, r *Resources) error {
	var value string
	switch {
	case v.Env != nil:
		found, ok := r.env(v.Env.Name)
		switch {
		case ok:
			value = found
		case v.Env.Default == nil:
			return rv.InField("env", fmt.Errorf("%s %w", v.Env.Name, ErrUnset))
		default:
			value = *v.Env.Default
		}
	case len(v.PerShard) > 0:
		value = v.PerShard[r.shard()%len(v.PerShard)]
	case v.Constant != nil:
		b, err := r.content(v.Constant)
		if err != nil {
			return rv.InField("constant", err)
		}
		value = string(b)
	default:
		return errors.New("a source of values is required")
	}
	out.values = newList([]string{value})
	return nil
}

func (out *variable) order(o rv.Order) error {
	switch o {
	case rv.OrderSequential:
		out.drawing = drawSequential
	case rv.OrderShuffled:
		out.drawing, out.shuffle = drawShuffled, newPermutation(out.size, out.seed)
	case rv.OrderRandom:
		out.drawing = drawAny
	default:
		return rv.InField("order", fmt.Errorf("there is no %q", o))
	}
	return nil
}

// settle draws the only value of a global variable. Every runner draws the same value.
func (out *variable) settle() error {
	if out.drawing == drawTime {
		return rv.InField("scope", errors.New("a timestamp cannot be global, because runners have different clocks"))
	}
	whole := rv.Share{Slots: rv.Slots{Of: 1, Residues: []int64{0}}}
	s := newSource(out, &whole, 0, 0)
	out.value, out.fixed = s.next(phaseLoad, 0), true
	return nil
}

// column returns the index of a column. Only tables and subscribers have columns.
func (out *variable) column(name string) (int, error) {
	t, hasColumns := out.values.(columnar)
	switch {
	case !hasColumns && name == "":
		return 0, nil
	case !hasColumns:
		return 0, fmt.Errorf("the variable %s has no columns", out.name)
	case name == "":
		return 0, fmt.Errorf("the variable %s is a table and needs a column; %s", out.name, columnsOf(t))
	}
	if i := slices.Index(t.Columns(), name); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("the variable %s has no column %q; %s", out.name, name, columnsOf(t))
}

// columnsOf returns the columns for a message: their names if they come from the plan, and only their number if they
// come from the first row of the file. If a file has no row of names, its first row is data, which can be secret.
func columnsOf(c columnar) string {
	if t, ok := c.(*table); ok && t.ownNames {
		return fmt.Sprintf("the first row names %d", len(t.columns))
	}
	return fmt.Sprintf("there are %q", c.Columns())
}

// fileOf is the beginning of an error about the content of a file.
func fileOf(c rv.Content) string {
	if c.File == "" {
		return ""
	}
	return c.File + ": "
}
