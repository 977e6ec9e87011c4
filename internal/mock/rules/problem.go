package rules

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"sync"
)

// problem is a compiled Problem.
type problem struct {
	status int
	body   text
}

// problemDetails are the members of RFC 9457 section 3.1 and the cause that 3GPP TS 29.571 section
// 5.2.4.1 adds.
type problemDetails struct {
	Title  string `json:"title,omitempty"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	Cause  string `json:"cause,omitempty"`
}

// compileProblem takes status where the file gives none; 0 means that it has to.
func (s *source) compileProblem(path string, spec *Problem, status int, sc scope) *problem {
	status = cmp.Or(spec.Status, status)
	s.bounded(path+".status", &status, 0, 400, 599)
	sc.json = true
	details := *spec
	details.Status = status
	p, err := newProblem(details, sc)
	s.addAll(path, err)
	return p
}

func newProblem(spec Problem, sc scope) (*problem, error) {
	spec.Title = cmp.Or(spec.Title, http.StatusText(spec.Status))
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // a placeholder with < in it stays one
	if err := enc.Encode(problemDetails{spec.Title, spec.Status, spec.Detail, spec.Cause}); err != nil {
		return nil, err
	}
	body, err := parseText(string(bytes.TrimSpace(out.Bytes())), sc)
	return &problem{spec.Status, body}, err
}

// ownProblem returns a function that compiles a problem in its first call. No file can get it wrong.
func ownProblem(status int, cause, detail string) func() *problem {
	return sync.OnceValue(func() *problem {
		p, err := newProblem(Problem{Status: status, Cause: cause, Detail: detail}, scope{json: true, state: true})
		if err != nil {
			panic(err)
		}
		return p
	})
}

// The causes are those of 3GPP TS 29.500 table 5.2.7.2-1, where that has one. absentCause is what
// many services answer for a resource that does not exist; each has its own name for it.
const absentCause = "DATA_NOT_FOUND"

var (
	noMatch = ownProblem(http.StatusNotFound, "RESOURCE_URI_STRUCTURE_NOT_FOUND",
		"no rule of this target matches ${request.method} ${request.path}")
	drawnNotFound = ownProblem(http.StatusNotFound, "RESOURCE_URI_STRUCTURE_NOT_FOUND",
		"answered because of the target's --not-found")
	tooLarge  = ownProblem(http.StatusRequestEntityTooLarge, "", "the body is larger than the target allows")
	notJSON   = ownProblem(http.StatusBadRequest, "INVALID_MSG_FORMAT", "the body is not JSON")
	badPatch  = ownProblem(http.StatusBadRequest, "INVALID_MSG_FORMAT", "the patch is malformed")
	noID      = ownProblem(http.StatusBadRequest, "MANDATORY_IE_MISSING", "the request has no id for the resource")
	conflict  = ownProblem(http.StatusConflict, "", "the patch does not fit the resource")
	exists409 = ownProblem(http.StatusConflict, "", "the resource exists already")
	full      = ownProblem(http.StatusInternalServerError, "INSUFFICIENT_RESOURCES",
		"the target cannot store another document")
	failed = ownProblem(http.StatusInternalServerError, "SYSTEM_FAILURE", "the target's rule failed")
)
