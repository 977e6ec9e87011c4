package rules

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/h2surge/h2surge/internal/jsontext"
	"github.com/h2surge/h2surge/internal/mock/documents"
	"github.com/h2surge/h2surge/internal/octet"
)

// action is what a rule does to a collection.
type action uint8

const (
	actionCreate action = iota
	actionPut
	actionRead
	actionUpdate
	actionPatch
	actionDelete
	actionList
)

var actionNames = []string{"create", "put", "read", "update", "patch", "delete", "list"}

// actionStatus has the default status of each action. put answers 201 if it creates the document.
var actionStatus = []int{201, 200, 200, 200, 200, 204, 200}

// resource is a compiled Resource.
type resource struct {
	collection string
	action     action
	id         text
	generated  bool
	absent     *problem
	where      []where
	limit      int
}

type where struct {
	at       *jsontext.Pointer
	text     text
	contains bool // else it must be equal
	orAbsent bool
}

// defaultLimit is the default number of documents in a list. maxScanned is how many documents a list reads at most,
// from the oldest, so that the time of a request is bounded.
const (
	defaultLimit = 100
	maxScanned   = 100_000
)

func (s *source) compileResource(path string, spec *Resource, sc scope) *resource {
	r := &resource{collection: spec.Collection, limit: s.bounded(path+".limit", spec.Limit, defaultLimit, 1, maxListed)}
	if spec.Collection == "" {
		s.add(path+".collection", "is empty")
	}
	i := slices.Index(actionNames, spec.Action)
	if i < 0 {
		s.add(path+".action", "%q; allowed: %s", spec.Action, strings.Join(actionNames, ", "))
		return r
	}
	r.action = action(i)
	s.compileID(path, spec, r, sc)
	absent := Problem{}
	if spec.Absent != nil {
		absent = *spec.Absent
	}
	absent.Cause = cmp.Or(absent.Cause, absentCause)
	r.absent = s.compileProblem(path+".absent", &absent, http.StatusNotFound, sc)
	if r.action != actionList && (spec.Where != nil || spec.Limit != nil) {
		s.add(path, "where and limit are allowed with list only")
	}
	sc.state = false
	r.where = s.compileWhere(path, spec.Where, sc)
	return r
}

func (s *source) compileWhere(path string, specs []Where, sc scope) (list []where) {
	for i := range specs {
		at, spec := fmt.Sprintf("%s.where[%d]", path, i), &specs[i]
		w := where{contains: spec.Contains != nil, orAbsent: spec.OrAbsent}
		var err error
		switch {
		case (spec.Equals == nil) == (spec.Contains == nil):
			s.add(at, "must have one of equals and contains")
		case w.contains:
			w.text, err = parseText(*spec.Contains, sc)
			s.addAll(at+".contains", err)
		default:
			w.text, err = parseText(*spec.Equals, sc)
			s.addAll(at+".equals", err)
		}
		w.at = s.compilePointer(at+".jsonPointer", spec.JSONPointer)
		list = append(list, w)
	}
	return list
}

func (s *source) compileID(path string, spec *Resource, r *resource, sc scope) {
	switch {
	case spec.ID == "" && r.action == actionCreate:
		r.generated = true
	case spec.ID == "" && r.action != actionList:
		s.add(path+".id", "is required, except for create")
	case spec.ID != "" && r.action == actionList:
		s.add(path+".id", "is not allowed with list")
	}
	sc.state = false
	var err error
	r.id, err = parseText(spec.ID, sc)
	s.addAll(path+".id", err)
}

// perform does what the rule asks. A problem is the answer then, and nothing has changed.
func (e *Engine) perform(r *resource, c *Call) *problem {
	in := e.store.Collection(r.collection)
	if r.action == actionList {
		c.document = e.list(r, in, c)
		return nil
	}
	if r.generated {
		c.id = append(c.id[:0], e.uuid(c)...)
	} else if c.id = e.appendText(c.id[:0], &r.id, c); len(c.id) == 0 {
		return noID()
	}
	stored, ok := in.Get(c.id)
	switch r.action {
	case actionCreate:
		return e.create(in, c)
	case actionPut:
		if !ok {
			c.created = true
			return e.create(in, c)
		}
	case actionDelete:
		in.Delete(c.id)
	}
	c.document = stored
	if !ok {
		return r.absent
	}
	if r.action == actionPut || r.action == actionUpdate {
		return e.replace(in, c)
	}
	if r.action == actionPatch {
		return e.patch(in, c, stored)
	}
	return nil
}

// emptyDocument is stored when a request has no body.
var emptyDocument = []byte("{}")

func (c *Call) newDocument() ([]byte, *problem) {
	switch doc, ok := c.jsonBody(); {
	case len(c.body) == 0:
		return emptyDocument, nil
	case ok:
		return doc, nil
	}
	return nil, notJSON()
}

func (e *Engine) create(in *documents.Collection, c *Call) *problem {
	doc, p := c.newDocument()
	if p != nil {
		return p
	}
	switch err := in.Create(c.id, doc); {
	case errors.Is(err, documents.ErrExists):
		return exists409()
	case err != nil:
		return full()
	}
	c.document, _ = in.Get(c.id)
	return nil
}

func (e *Engine) replace(in *documents.Collection, c *Call) *problem {
	doc, p := c.newDocument()
	if p != nil {
		return p
	}
	if _, err := in.Replace(c.id, doc); err != nil {
		return full()
	}
	c.document, _ = in.Get(c.id)
	return nil
}

// patch takes a JSON patch when the content type says so, and a merge patch otherwise.
func (e *Engine) patch(in *documents.Collection, c *Call, stored []byte) *problem {
	apply := documents.Merge
	contentType, _ := c.header("content-type", 0)
	kind, _, _ := bytes.Cut(contentType, []byte(";"))
	if octet.EqualFold(octet.TrimBlanks(kind), "application/json-patch+json") {
		apply = documents.Patch
	}
	change, ok := c.jsonBody()
	if !ok {
		return badPatch()
	}
	doc, err := apply(stored, change)
	switch {
	case errors.Is(err, documents.ErrConflict):
		return conflict()
	case err != nil:
		return badPatch()
	}
	if _, err := in.Replace(c.id, doc); err != nil {
		return full()
	}
	c.document = doc
	return nil
}

// list returns a JSON array of the documents that are wanted.
func (e *Engine) list(r *resource, in *documents.Collection, c *Call) []byte {
	want := e.wanted(r.where, c)
	out := []byte{'['}
	scanned, listed := 0, 0
	in.Each(func(_ string, doc []byte) bool {
		scanned++
		if selects(r.where, want, doc) {
			if listed++; listed > 1 {
				out = append(out, ',')
			}
			out = append(out, doc...)
		}
		return listed < r.limit && scanned < maxScanned && len(out) < maxAnswer
	})
	return append(out, ']')
}

// wanted returns the texts of conditions, with the values of their placeholders.
func (e *Engine) wanted(conditions []where, c *Call) [][]byte {
	want := make([][]byte, len(conditions))
	for i := range conditions {
		want[i] = e.appendText(nil, &conditions[i].text, c)
	}
	return want
}

func selects(conditions []where, want [][]byte, doc []byte) bool {
	for i := range conditions {
		if len(want[i]) > 0 && !conditions[i].selects(want[i], doc) {
			return false
		}
	}
	return true
}

func (w *where) selects(want, doc []byte) bool {
	value, ok := w.at.Find(nil, doc)
	switch {
	case !ok:
		return w.orAbsent
	case w.contains:
		return bytes.Contains(value, want)
	}
	return bytes.Equal(value, want)
}
