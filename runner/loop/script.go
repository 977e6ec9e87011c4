package loop

import (
	"fmt"

	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/message"
	"github.com/h2surge/h2surge/runner/script"
)

// scripts are the worker's own Lua state.
type scripts struct {
	host *script.Host // nil without scripts
	// failures counts errors. values gives the running script access to its chain instance.
	failures int
	values   chain.Values
}

// initScripts makes the worker's own Lua state.
func (w *Worker) initScripts() error {
	if len(w.program.Scripts) == 0 {
		return nil
	}
	var err error
	w.scripts.host, err = script.NewHost(w.program.Scripts, script.Limits{Seed: w.program.Seed + uint64(w.cfg.Number)})
	if err != nil {
		return fmt.Errorf("scripts: %w", err)
	}
	return nil
}

// hasRequestScript returns true if a script changes the request of a step.
func (w *Worker) hasRequestScript(s *chain.Step) bool {
	return s.Script >= 0 && w.program.Scripts[s.Script].Makes()
}

// make lets the step's script change the request that x has.
func (w *Worker) make(in *instance, s *chain.Step, x *exchange) bool {
	var request, response *message.Message
	if p := in.previous; p != nil {
		request, response = p.Request, p.Response
	}
	err := w.scripts.host.Request(s.Script, request, response, &x.request, w.scriptValues(in, s))
	if err != nil {
		w.scriptFailed(err)
	}
	return err == nil
}

// validate lets the step's script judge a response.
func (w *Worker) validate(in *instance, s *chain.Step, x *message.Exchange) bool {
	ok, err := w.scripts.host.Response(s.Script, x.Request, x.Response, w.scriptValues(in, s))
	if err != nil {
		w.scriptFailed(err)
	}
	return ok && err == nil
}

// scriptFailed logs the first failures; they are all counted.
func (w *Worker) scriptFailed(err error) {
	if w.trial != nil {
		w.trial.script = err.Error()
	}
	const logged = 10
	if w.scripts.failures++; w.scripts.failures <= logged {
		w.cfg.Log.Warn("a script failed", "err", err)
	}
}

// scriptValues returns the access of a script to its chain instance.
func (w *Worker) scriptValues(in *instance, s *chain.Step) script.Values {
	w.scripts.values.Instance, w.scripts.values.Step = &in.Instance, s
	return &w.scripts.values
}
