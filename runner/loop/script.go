package loop

import (
	"fmt"
	"log/slog"
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/internal/mask"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/flow"
	"github.com/h2surge/h2surge/runner/message"
	"github.com/h2surge/h2surge/runner/script"
	"github.com/h2surge/h2surge/runner/trial"
)

// scripts are the worker's own Lua state.
type scripts struct {
	program *chain.Program
	host    *script.Host // nil without scripts
	log     *slog.Logger
	trial   *trial.Trial
	// failures counts errors. values gives the running script access to its chain instance.
	failures int
	values   chain.Values
	// details has the first error of each script that failed to make a request. Further ones are counted with it, so that
	// errors with varying values do not become failures of their own.
	details []string
	// previous has the last exchange of each chain instance whose scripts look at it.
	previous []*book.Exchange
}

// newScripts makes the Lua state of a worker.
func newScripts(cfg *Config, t *trial.Trial) (scripts, error) {
	s := scripts{program: cfg.Program, log: cfg.Log, trial: t}
	if len(s.program.Scripts) == 0 {
		return s, nil
	}
	s.details = make([]string, len(s.program.Scripts))
	var err error
	s.host, err = script.NewHost(s.program.Scripts, script.Limits{Seed: s.program.Seed + uint64(cfg.Number)})
	if err != nil {
		return s, fmt.Errorf("scripts: %w", err)
	}
	return s, nil
}

// close frees the Lua state.
func (s *scripts) close() {
	if s.host != nil {
		s.host.Close()
	}
}

// changes returns true if a script changes the request of a step.
func (s *scripts) changes(st *chain.Step) bool {
	return st.Script >= 0 && s.program.Scripts[st.Script].ChangesRequests()
}

// make lets the step's script change the request that x has.
func (s *scripts) make(i int32, in *flow.Instance, st *chain.Step, x *book.Exchange) bool {
	var request, response *message.Message
	if p := *s.last(i); p != nil {
		request, response = p.Request, p.Response
	}
	err := s.host.Request(st.Script, request, response, x.Rendered(), s.valuesOf(in, st))
	if err != nil {
		s.failed(err)
		if first := &s.details[st.Script]; *first == "" {
			*first = detail(err)
		}
	}
	return err == nil
}

// last returns the last exchange of an instance, which may be nil.
func (s *scripts) last(i int32) **book.Exchange {
	for int(i) >= len(s.previous) {
		s.previous = append(s.previous, nil)
	}
	return &s.previous[i]
}

// forget removes and returns the last exchange of an instance, which may be nil.
func (s *scripts) forget(i int32) (x *book.Exchange) {
	if int(i) < len(s.previous) {
		x, s.previous[i] = s.previous[i], nil
	}
	return x
}

// cause is why a request whose script failed was not sent.
func (s *scripts) cause(st *chain.Step) failure.Cause {
	return failure.Cause{Kind: rv.CauseScript, Detail: s.details[st.Script]}
}

// detail returns an error of a script in one line, without secrets, as long as a failure's detail may be. It masks
// before it cuts, so that half of a secret is not left.
func detail(err error) string {
	line := mask.Visible(mask.Text(strings.Join(strings.Fields(err.Error()), " ")))
	return strings.ToValidUTF8(line[:min(len(line), rv.MaxFailureDetail)], "")
}

// accepts lets the step's script, if it has one that judges responses, judge a response.
func (s *scripts) accepts(in *flow.Instance, st *chain.Step, x *message.Exchange) bool {
	if st.Script < 0 || !s.program.Scripts[st.Script].Validates() {
		return true
	}
	ok, err := s.host.Response(st.Script, x.Request, x.Response, s.valuesOf(in, st))
	if err != nil {
		s.failed(err)
	}
	return ok && err == nil
}

// failed logs the first failures; they are all counted.
func (s *scripts) failed(err error) {
	s.trial.ScriptFailed(err)
	const logged = 10
	if s.failures++; s.failures <= logged {
		s.log.Warn("a script failed", "err", err)
	}
}

// valuesOf returns the access of a script to its chain instance.
func (s *scripts) valuesOf(in *flow.Instance, st *chain.Step) script.Values {
	s.values.Instance, s.values.Step = &in.Instance, st
	return &s.values
}
