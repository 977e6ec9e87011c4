package chain

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/script"
)

// Program is a plan in the form that workers execute.
type Program struct {
	Chains []Chain
	// Steps are the steps of all chains in the order of the plan. The number of a step in results is its index in Steps.
	Steps []Step
	// Targets are those of the plan. Their URLs have values instead of placeholders.
	Targets []rv.Target
	// Globals are the names of the captures of setup.
	Globals []string
	// Scripts are compiled once; see Step.Script.
	Scripts []*script.Script
	// Timeouts are the distinct timeouts of all steps, ascending, in nanoseconds. Requests of
	// equal timeout expire in the order in which they were sent.
	Timeouts []int64

	// Listeners are those of the plan.
	Listeners []Listener

	// Seed is the plan's.
	Seed uint64

	encodings encodings

	variables []*variable
	// sentTo has the targets that a step sends to; see Plan.SentTo.
	sentTo map[int]bool
	// globalURIs has, for each global, whether a path begins with it.
	globalURIs []bool
}

// Chain is a sequence of steps.
type Chain struct {
	Name  string
	Phase rv.Phase
	// Target is the target of the first step.
	Target int
	// Weight of a load chain among the others.
	Weight int
	// First and Len are the chain's steps in Program.Steps.
	First, Len int
	// Always is the position of the first step with Flow.Always; Len: there is none.
	Always int
	// Captures is the number of values its steps may capture.
	Captures int
	// Publish has for each capture 1 + an index into Program.Globals, or 0; nil: nothing is published.
	Publish []int
	// Stages is the number of the chain if it has stages of its own, else 0. StartAfter is when they begin, in nanoseconds
	// after the start.
	Stages     int
	StartAfter int64
	// Delay is the time after the start before which no instance starts, in nanoseconds.
	Delay int64
	// MaxInFlight bounds the instances of the whole test; zero: no bound.
	MaxInFlight int
	// Cookies: each instance has a cookie store.
	Cookies bool
	// Scripted: a script makes requests from the previous exchange, so each exchange of an instance must be kept until the
	// next one.
	Scripted bool
	// Ends: it draws a variable that stops at its end; see Sources.Ended.
	Ends bool

	// draws are the variables of scope instance, settles those of scope worker, and stops those that end the chain, also
	// of scope step.
	draws   []draw
	settles []int
	stops   []int
	cells   int
	// plain: an instance has nothing that differs from that of others: no values, cookies or redirects.
	plain bool
}

// Step is one request and what is expected of its response, or a wait for a notification.
type Step struct {
	Name  string
	Index int
	Chain int
	// Target is -1 if the step sends no request.
	Target int
	// Await is what the step waits for; nil: it sends a request.
	Await *Await
	// Order is the step's place among all steps to the same target; see Encoder.
	Order int
	Last  bool
	// Head: the method is HEAD unless a script changes it, and responses have no content.
	Head bool
	// EarlyData: requests may be sent before the handshake of HTTP/3 is complete.
	EarlyData bool
	// Cookies: the chain keeps cookies.
	Cookies bool
	// TimeoutClass is an index into Program.Timeouts.
	TimeoutClass int
	// Credentials are those of the target that requests have.
	Credentials []Credential
	// MaxRedirects is how many redirects a request of the step follows; zero: none.
	MaxRedirects int
	// RedirectField is the request field that a redirect to another server changes; nil: the request goes to that server.
	RedirectField []byte
	// LoadControl: responses with overload and load control information are counted.
	LoadControl bool
	// BeginsWithURI: the path begins with a captured value; see Instance.Authority.
	BeginsWithURI bool
	// CodeOnly: the step calls a method of gRPC, and needs nothing of the response but grpc-status.
	CodeOnly bool
	// Streams: the step calls a method of gRPC with a stream of the server. Waits delay messages of its request.
	Streams bool
	Waits   []rv.Wait
	// Deadline: the timeout of the step is the deadline of its call of gRPC.
	Deadline bool
	// HasAuthority: the request names the host and port that it goes to; see Instance.AppendAuthority.
	HasAuthority bool

	Flow
	Inspection

	method string
	path   text
	// authority is host and port of the request; nil: those of the endpoint.
	authority text
	fields    []fieldSource
	// encoded are the fields for HTTP/2; see encode.
	encoded []field
	body    text
	// call: the step calls a method of gRPC; nil: it does not.
	call  *call
	draws []draw
	// needs are the slots whose values an always step sends; see Lacks.
	needs []int
	// trace is the first traceparent of the step; nil: none.
	trace *piece
	names map[string]text // variables and captures that the script can read
}

// Selects returns whether a part of the requests has those of a step, whatever their stage and their response. A step
// that awaits a notification sends none.
func (p *Program) Selects(of *rv.Selector, step int) bool {
	s := &p.Steps[step]
	return s.Target >= 0 && of.Has(p.Targets[s.Target].Name, p.Chains[s.Chain].Name, s.Name)
}
