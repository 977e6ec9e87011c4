package chain

import (
	"strconv"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/extract"
	"github.com/h2surge/h2surge/runner/message"
)

// InspectAll makes every step keep its complete exchange for a trial. maxBody bounds the response bodies of steps that
// do not read the body. The bounds of other steps do not change, because checks depend on them.
func (g *Program) InspectAll(maxBody int) {
	for i := range g.Steps {
		s := &g.Steps[i]
		if !s.Inspect {
			s.MaxBody = maxBody
		}
		s.inspectForScript(true)
	}
}

// Finding is the result of one check of a response.
type Finding struct {
	// Name is the check's name; see rv.CheckStatus for those that have no name of their own.
	Name   string
	Passed bool
	// Found is the value that was checked. HasFound is false if the response has no such value. For a JSON Schema, it is
	// what the schema rejects.
	Found    []byte
	HasFound bool
	// Problem is why the response does not have the part that the check reads, or empty.
	Problem string
	// Want is the expected value without placeholders. It is empty for checks of the status and of JSON Schemas.
	Want []byte
}

// Findings returns copies of the results of all checks, also of those after the first failure. The first finding is the
// one of the status. Findings allocates memory; Judge does not.
func (s *Step) Findings(inst *Instance, x *message.Exchange) []Finding {
	status := strconv.Itoa(x.Response.Status)
	out := []Finding{{Name: rv.CheckStatus, Passed: s.accept.has(x.Response.Status), Found: []byte(status),
		HasFound: true}}
	if s.needsBody && x.Cut {
		out = append(out, Finding{
			Name: rv.CheckBody, HasFound: true,
			Found: strconv.AppendInt(nil, x.BodySize, 10), Want: strconv.AppendInt(nil, int64(s.MaxBody), 10),
		})
	}
	if s.call != nil {
		out = append(out, s.call.finding(x))
	}
	for i := range s.checks {
		out = append(out, s.checks[i].finding(inst, x))
	}
	return out
}

func (c *check) finding(inst *Instance, x *message.Exchange) Finding {
	f := Finding{Name: c.name, Passed: c.passes(inst, x)}
	if c.schema != nil {
		body, err := extract.Content(x.Response, c.schemaPart)
		if err != nil {
			f.Found, f.HasFound = []byte(err.Error()), true
		} else if !f.Passed {
			f.Found, f.HasFound = []byte(c.schema.Rejection(body)), true
		}
		return f
	}
	if err := c.source.Problem(x); err != nil {
		f.Problem = err.Error()
	}
	value, ok := inst.src.extract(c.source, x)
	f.Found, f.HasFound = append([]byte(nil), value...), ok
	f.Want = c.want.appendTo(nil, inst)
	return f
}

// CapturedValue is the content of one of an instance's slots.
type CapturedValue struct {
	Slot  int
	Value []byte
	// Has is false if the slot is empty: the response had no such value, and there is no default.
	Has bool
}

// CapturedValues returns copies of the values of the captures of the step, in the order of the step.
func (s *Step) CapturedValues(inst *Instance) []CapturedValue {
	var out []CapturedValue
	for i := range s.captures {
		slot := s.captures[i].slot
		out = append(out, CapturedValue{
			Slot: slot, Value: append([]byte(nil), inst.Captured(slot)...), Has: inst.captures[slot].set,
		})
	}
	return out
}
