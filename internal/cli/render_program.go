package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/shard"
	"github.com/h2surge/h2surge/internal/verdict"
	"github.com/h2surge/h2surge/runner/auth"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/script"
)

// newRenderer compiles a manifest and makes the program, as "run" does. It masks secrets and leaves out what only connections need.
func (o *renderOptions) newRenderer() (*renderer, error) {
	m, err := o.source.manifest()
	if err != nil {
		return nil, err
	}
	compiled, _, errs := compile.Compile(m.Name(), &m.LoadTest.Spec)
	if len(errs) > 0 {
		return nil, o.source.mistakes(m.Positions, errs)
	}
	if errs := compile.WithoutPod(&m.LoadTest.Spec); len(errs) > 0 {
		return nil, o.source.mistakes(m.Positions, errs)
	}
	files, absent := compile.Files(m)
	absent = append(absent, missing(compile.OwnFiles(&m.LoadTest.Spec))...)
	r := &renderer{wall: o.wall, step: o.step, counts: map[int]int{}}
	plan, err := copyOf(compiled)
	if err != nil {
		return nil, Failf("%v", err)
	}
	if !o.showSecrets {
		if err := r.mask(plan, files); err != nil {
			return nil, Usagef("%v", err)
		}
	}
	if r.share, err = o.share(plan); err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(f compile.File) bool { return f.Content == nil })
	placed, remove, err := materialise(plan, files)
	if err != nil {
		return nil, Failf("%v", err)
	}
	defer remove()
	r.plan, r.targets = placed, plan.Targets
	if err := r.load(); err != nil {
		if errors.Is(err, fs.ErrNotExist) && len(absent) > 0 {
			return nil, o.source.mistakes(m.Positions, absent)
		}
		return nil, o.source.text.refused(m, compiled, files, err)
	}
	if err := r.prepare(o.showSecrets); err != nil {
		return nil, err
	}
	return r, o.checkStep(placed)
}

func (r *renderer) mask(plan *rv.Plan, files []compile.File) error {
	m := &masks{standIns: &r.standIns, files: map[string][]byte{}}
	for _, f := range files {
		if f.Content != nil {
			m.files[path.Join(compile.FilesDir, f.Path)] = f.Content
		}
	}
	return m.plan(plan)
}

// share is the whole test's, or one shard's.
func (o *renderOptions) share(plan *rv.Plan) (rv.Share, error) {
	if o.shard == allShards {
		return shard.Whole(plan), nil
	}
	if o.shard >= plan.Shards {
		return rv.Share{}, Usagef("--shard: the test has %d shards, numbered from 0", plan.Shards)
	}
	shares, err := shard.Split(plan, plan.Shards)
	if err != nil {
		return rv.Share{}, Usagef("--shard: %v", err)
	}
	return shares[o.shard], nil
}

func (o *renderOptions) checkStep(plan *rv.Plan) error {
	var names []string
	for i := range plan.Chains {
		for j := range plan.Chains[i].Steps {
			if n := plan.Chains[i].Steps[j].Name; !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	if o.step == "" || slices.Contains(names, o.step) {
		return nil
	}
	return Usagef("--step: %q is not a step of the manifest; allowed: %s", o.step, strings.Join(names, ", "))
}

func (r *renderer) load() (err error) {
	r.program, err = chain.Load(r.plan, chain.Resources{Share: &r.share, Env: os.LookupEnv, ReadFile: os.ReadFile})
	return err
}

// prepare makes what one worker has.
func (r *renderer) prepare(showSecrets bool) error {
	r.sources = chain.NewSources(r.program, &r.share, 0)
	var globals []string
	for i, name := range r.plan.Globals {
		globals = append(globals, r.of(fmt.Sprintf("capture %s of setup chain %s", name, r.publisher(i))))
	}
	r.sources.SetGlobals(globals)
	for i := range r.plan.Listeners {
		of := " of listener " + r.plan.Listeners[i].Name
		r.sources.SetListenerParts(i, r.of("URL"+of), r.of("host"+of), r.of("port"+of))
	}
	for i := range r.plan.Targets {
		t := &r.plan.Targets[i]
		if t.ClientAssertion != nil {
			r.sources.SetCredential(r.program.Assertion(i), []byte(r.of("client assertion of target "+t.Name)))
		}
		if t.Auth == nil {
			continue
		}
		value, err := r.authorization(t, showSecrets)
		if err != nil {
			return Usagef("target %s: auth.%v", t.Name, err)
		}
		r.sources.SetCredential(r.program.Authorization(i), value)
	}
	if len(r.program.Scripts) == 0 {
		return nil
	}
	var err error
	if r.scripts, err = script.NewHost(r.program.Scripts, script.Limits{Seed: r.program.Seed}); err != nil {
		return Usagef("%v", err)
	}
	return nil
}

// publisher is the setup chain that captures a global.
func (r *renderer) publisher(global int) string {
	for i := range r.plan.Chains {
		if slices.Contains(r.plan.Chains[i].Publish, global+1) {
			return r.plan.Chains[i].Name
		}
	}
	return ""
}

// authorization is what the target's field says. Token endpoints are not asked.
func (r *renderer) authorization(t *rv.Target, show bool) ([]byte, error) {
	if !show || t.Auth.OAuth2 != nil {
		return []byte(r.of("authorization of target " + t.Name)), nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	value, done, err := auth.Open(ctx, t.Auth, nil, nil, nil, func([]byte, error) {})
	cancel()
	if err != nil {
		return nil, err
	}
	<-done
	return value, nil
}

// exit code of a request that could not be rendered.
var errNotRendered = &exitError{code: verdict.ExitUsage}
