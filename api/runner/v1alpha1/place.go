package v1alpha1

import (
	"errors"
	"fmt"
	"strings"
)

// Place is where a plan is wrong. The zero Place is the whole plan.
type Place struct {
	// List is a list of the plan, such as PlaceChains, and Index an index into it.
	List  string
	Index int
	// Step is the number of a step of the chain, from 1; zero: the chain itself.
	Step int
	// Field is a field of the variable, the target or the step, such as path or subscribers.aka.k; empty: all of it. Item
	// is the number of an item of the field, from 1; zero: the field itself.
	Field string
	Item  int
}

// Lists of a plan.
const (
	PlaceVariables = "variables"
	PlaceTargets   = "targets"
	PlaceListeners = "listeners"
	PlaceChains    = "chains"
	PlaceRates     = "rates"
)

// In returns the place of a field of p. item is an index into the field, or -1.
func (p Place) In(field string, item int) Place {
	p.Field, p.Item = field, item+1
	return p
}

// String returns the path in the plan, such as chains[0].steps[1].headers[2].
func (p Place) String() (out string) {
	if p.List != "" {
		out = fmt.Sprintf("%s[%d]", p.List, p.Index)
	}
	if p.Step > 0 {
		out += fmt.Sprintf(".steps[%d]", p.Step-1)
	}
	if p.Field != "" && out != "" {
		out += "."
	}
	out += p.Field
	if p.Item > 0 {
		out += fmt.Sprintf("[%d]", p.Item-1)
	}
	return out
}

// PlanError is a mistake in a plan, or in a file or a variable of the environment that the plan refers to. It does not
// quote the content of files, which can be secret.
type PlanError struct {
	Place
	Err error
}

// InField returns a mistake in a field. If err has a field itself, it is a field below the given one.
func InField(field string, err error) error {
	if below := (*PlanError)(nil); errors.As(err, &below) {
		field, err = strings.TrimSuffix(field+"."+below.Field, "."), below.Err
	}
	return &PlanError{Place{Field: field}, err}
}

func (e *PlanError) Error() string {
	if at := e.Place.String(); at != "" {
		return at + ": " + e.Err.Error()
	}
	return e.Err.Error()
}

func (e *PlanError) Unwrap() error { return e.Err }
