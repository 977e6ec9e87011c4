package cli

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/runner/auth"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/message"
	"github.com/h2surge/h2surge/runner/script"
	"github.com/h2surge/h2surge/runner/trial"
)

// dryRun makes the requests of a trial and sends none. It goes through the chains as a worker does that is alone. There
// are no responses, so a value that comes from one is shown by its name.
type dryRun struct {
	*tried
	placed   *rv.Plan // with the names of files on this machine
	program  *chain.Program
	sources  *chain.Sources
	scripts  *script.Host // nil without scripts
	share    rv.Share
	wall     int64 // nanoseconds since 1970
	instance chain.Instance
	previous *message.Message // of the instance; nil: there is not one
}

// dryRun shows the requests of one instance of each chain.
func (t *tried) dryRun(chains []int, at time.Time) error {
	t.dry = true
	d := &dryRun{tried: t, wall: at.UnixNano()}
	if err := d.load(); err != nil {
		return err
	}
	for _, phase := range []rv.Phase{rv.PhaseSetup, rv.PhaseLoad, rv.PhaseTeardown} {
		for c := range d.placed.Chains {
			if d.placed.Chains[c].Phase == phase && (phase != rv.PhaseLoad || slices.Contains(chains, c)) {
				d.runChain(c)
			}
		}
	}
	return nil
}

// load reads all files, which are gone before anything is shown: writing may wait, and an interrupt then ends the
// process.
func (d *dryRun) load() error {
	placed, dir, err := materialise(d.plan, d.job.files)
	if err != nil {
		return command.Failf("%v", err)
	}
	defer remove(dir)
	d.placed, d.share = placed, split.Whole(placed)
	if d.program, err = chain.Load(placed, chain.Resources{Share: &d.share, Env: os.LookupEnv,
		ReadFile: os.ReadFile}); err != nil {
		return d.job.refused(err, dir)
	}
	return d.prepare()
}

// prepare makes what one worker has. The engine learns credentials, listeners and published values only from a network.
func (d *dryRun) prepare() (err error) {
	d.sources = chain.NewSources(d.program, &d.share, 0)
	var globals []string
	for i, name := range d.plan.Globals {
		globals = append(globals, d.mask.standIn(fmt.Sprintf("capture %s of setup chain %s", name, d.publisher(i))))
	}
	d.sources.SetGlobals(globals)
	for i := range d.plan.Listeners {
		of := " of listener " + d.plan.Listeners[i].Name
		d.sources.SetListenerParts(i, d.mask.standIn("URL"+of), d.mask.standIn("host"+of), d.mask.standIn("port"+of))
	}
	for i := range d.placed.Targets {
		t := &d.placed.Targets[i]
		if t.ClientAssertion != nil {
			d.sources.SetCredential(d.program.Assertion(i), []byte(d.mask.standIn("client assertion of target "+t.Name)))
		}
		if t.Auth == nil {
			continue
		}
		value, err := d.authorization(t)
		if err != nil {
			return command.Usagef("target %s: auth.%v", t.Name, err)
		}
		d.sources.SetCredential(d.program.Authorization(i), value)
	}
	if len(d.program.Scripts) > 0 {
		if d.scripts, err = script.NewHost(d.program.Scripts, script.Limits{Seed: d.program.Seed}); err != nil {
			return command.Usagef("%v", err)
		}
	}
	return nil
}

// publisher is the setup chain that captures a global.
func (d *dryRun) publisher(global int) string {
	for i := range d.plan.Chains {
		if slices.Contains(d.plan.Chains[i].Publish, global+1) {
			return d.plan.Chains[i].Name
		}
	}
	return ""
}

// authorization is what the target's field says. Token endpoints are not asked.
func (d *dryRun) authorization(t *rv.Target) ([]byte, error) {
	if t.Auth.OAuth2 != nil {
		return []byte(d.mask.standIn("authorization of target " + t.Name)), nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	value, done, err := auth.Open(ctx, t.Auth, nil, nil, func([]byte, error) {})
	if err != nil {
		return nil, err
	}
	cancel()
	<-done
	return value, nil
}

func (d *dryRun) runChain(c int) {
	d.previous = nil
	d.instance.Start(d.program, c, d.sources, d.wall)
	for j := range d.placed.Chains[c].Steps {
		step := d.program.Chains[c].First + j
		s, in := &d.program.Steps[step], &d.placed.Chains[c].Steps[j]
		if s.Await == nil {
			e := &trial.Exchange{Chain: c, Step: step}
			notes := d.runStep(s, in, e)
			d.show(e, notes)
			if e.Skipped {
				continue
			}
		}
		for _, capture := range in.Capture {
			name := d.placed.Chains[c].Captures[capture.Slot]
			d.instance.Capture(capture.Slot, []byte(d.mask.standIn(fmt.Sprintf("capture %s of step %s", name, s.Name))))
		}
	}
}

// runStep makes the request of a step, and returns what a reader must know of it.
func (d *dryRun) runStep(s *chain.Step, in *rv.Step, e *trial.Exchange) (notes []string) {
	unsure := false
	for i := range in.When {
		switch {
		case readsCaptures(&in.When[i]):
			unsure = true
		case !d.instance.Holds(s.When[i : i+1]):
			e.Skipped = true
			return nil
		}
	}
	notes = d.notes(s, in, unsure)
	d.instance.BeginStep(s, d.wall)
	if err := d.message(s, &d.program.Targets[s.Target], e); err != nil {
		e.Why, e.Script = rv.AbortScript, err.Error()
	}
	if d.sources.Unfit() {
		notes = append(notes, "a value from a response is not a text in the message: what is shown in its place is not sent")
	}
	return notes
}

// readsCaptures reports whether a condition reads captured values, which are unknown here.
func readsCaptures(c *rv.Condition) bool {
	found := false
	eachPart(reflect.ValueOf(c), func(p *rv.Part) { found = found || p.Capture > 0 || p.Global > 0 })
	return found
}

// eachPart visits all parts of texts in a plan, those in functions too.
func eachPart(v reflect.Value, visit func(*rv.Part)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			eachPart(v.Elem(), visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachPart(v.Index(i), visit)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[rv.Part]() {
			visit(v.Addr().Interface().(*rv.Part))
		}
		for i := range v.NumField() {
			eachPart(v.Field(i), visit)
		}
	}
}

func (d *dryRun) notes(s *chain.Step, in *rv.Step, unsure bool) (out []string) {
	if unsure {
		out = append(out, "sent only when its conditions on captured values hold")
	}
	if in.Repeat > 1 && len(in.Until) > 0 {
		out = append(out, fmt.Sprintf("sent up to %d times", in.Repeat))
	} else if in.Repeat > 1 {
		out = append(out, fmt.Sprintf("sent %d times", in.Repeat))
	}
	if in.Group > 0 {
		out = append(out, "sent at the same time as its neighbours")
	}
	if s.Cookies && d.previous != nil && !s.ClearCookies {
		out = append(out, "with the cookies that responses have set")
	}
	if d.changesRequest(s) && d.previous != nil {
		out = append(out, "its script was given an empty previous response of status 200")
	}
	if p := d.program.Targets[s.Target].Protocol; p == rv.ProtocolALPN || p == rv.ProtocolDiscovered {
		out = append(out, "as HTTP/1.1 if the server chooses that")
	}
	return out
}

func (d *dryRun) changesRequest(s *chain.Step) bool {
	return s.Script >= 0 && d.program.Scripts[s.Script].ChangesRequests()
}

// message makes a request as a session does: as a message first where something looks at that.
func (d *dryRun) message(s *chain.Step, t *rv.Target, e *trial.Exchange) error {
	at := &t.Endpoints[0]
	m := &message.Message{}
	body := s.AppendBody(nil, &d.instance)
	s.RenderMessage(m, nil, &d.instance, at, body, nil)
	whole := s.Inspect && (s.WantRequest || d.changesRequest(s))
	if d.changesRequest(s) {
		var response *message.Message
		if d.previous != nil {
			response = &message.Message{Status: 200}
		}
		if err := d.scripts.Request(s.Script, d.previous, response, m, &chain.Values{Instance: &d.instance,
			Step: s}); err != nil {
			return err
		}
		body = m.Body
	}
	m = m.Clone() // the slices that a script sets are valid until its next call
	d.previous, e.Request, e.Address = m, m, at.Address
	if e.Protocol = t.Protocol; e.Protocol == rv.ProtocolHTTP1 {
		h := chain.NewHead(d.program, s.Target, at, !t.HTTP1.NoKeepAlive)
		if e.Head = h.AppendHead(nil, s, &d.instance, len(body), nil); whole {
			e.Head = h.AppendMessage(nil, m, len(body))
		}
		return nil
	}
	enc := chain.NewEncoder(d.program, s.Target, at)
	if whole {
		e.Head = enc.AppendMessage(nil, m, len(body))
	} else {
		e.Head, _ = enc.AppendHeaders(nil, s, &d.instance, len(body), chain.Static, nil)
	}
	return nil
}

// show adds a request to the output. The length of a body with a value that is not known is not known, either.
func (d *dryRun) show(e *trial.Exchange, notes []string) {
	out := d.describe(e)
	out.Notes = notes
	if out.Request != nil && (out.unknown || strings.Contains(string(e.Request.Body), standInPrefix)) {
		for i := range out.Request.Fields {
			if f := &out.Request.Fields[i]; f.Name == "content-length" {
				f.Value = "<length of the body>"
			}
		}
	}
	d.add(e.Chain, out)
}
