package compile_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/plan"
	"github.com/h2surge/h2surge/runner/chain"
)

// FuzzManifest: no input makes Load or Compile panic; a manifest that compiles gives a sound plan,
// and the same plan each time.
func FuzzManifest(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("..", "..", "config", "samples", "*.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	own, err := filepath.Glob(filepath.Join("testdata", "manifests", "*.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range append(append(files, own...), filepath.Join("..", "..", "test", "builder", "full.yaml")) {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(minimal))
	for _, p := range []parts{
		{variables: "{name: v, uuid: {}, scope: Step}", steps: `{template: get, when: [{value: "${v}", exists: true}]}`},
		{listeners: "{name: l}", steps: `{template: get}, {name: b, await: {listener: l, match: {path: "/${traceparent(1)}"}}}`},
		{listeners: "{name: l}", templates: `{name: get, expect: {checks: [{name: a, header: x, lessThan: "${listener.l.port}"}]}}`},
		{templates: `{name: get, capture: [{name: a, xpath: "//processing-instruction()"}]}`},
	} {
		f.Add([]byte(p.manifest()))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		m, err := compile.Load(bytes.NewReader(input))
		if err != nil {
			oneLineEach(t, err)
			return
		}
		p, _, errs := compile.Compile(m.Name(), &m.LoadTest.Spec)
		if (p == nil) != (len(errs) > 0) {
			t.Fatalf("plan %v, errors %v", p, errs)
		}
		if p == nil {
			oneLineEach(t, &compile.ManifestError{Errors: errs})
			return
		}
		sound(t, p)
		again, _, _ := compile.Compile(m.Name(), &m.LoadTest.Spec)
		if diff := cmp.Diff(p, again); diff != "" {
			t.Errorf("compiled twice (-first +second):\n%s", diff)
		}
	})
}

func oneLineEach(t *testing.T, err error) {
	t.Helper()
	var broken *compile.ManifestError
	if !errors.As(err, &broken) || len(broken.Errors) == 0 {
		t.Fatalf("not a ManifestError: %v", err)
	}
	for _, line := range compile.ErrorLines(broken.Errors) {
		if line == "" || strings.Contains(line, "\n") {
			t.Errorf("not a line: %q", line)
		}
	}
}

// loads returns why the engine refuses a plan. The content of files is missing.
func loads(p *runnerv1alpha1.Plan) error {
	_, err := chain.Load(p, chain.Resources{
		Env:      func(string) (string, bool) { return "1", true },
		ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist },
	})
	var all chain.Errors
	if !errors.As(err, &all) {
		return err
	}
	for _, e := range all {
		if !errors.Is(e, fs.ErrNotExist) {
			return e
		}
	}
	return nil
}

// sound checks what the engine relies on, and sums.
func sound(t *testing.T, p *runnerv1alpha1.Plan) {
	t.Helper()
	if err := loads(p); err != nil {
		t.Fatal(err)
	}
	steps := 0
	for _, c := range p.Chains {
		steps += len(c.Steps)
		made := make([]bool, len(c.Captures))
		for _, s := range c.Steps {
			for _, m := range s.Capture {
				made[m.Slot] = made[m.Slot] || m.Keep // a step reads the value of the steps before it, or none
			}
			for _, text := range append([]runnerv1alpha1.Text{s.Path, s.Body}, values(s.Headers)...) {
				for _, part := range text {
					if part.Capture > 0 && !made[part.Capture-1] {
						t.Errorf("chain %s, step %s reads capture %d before it is made", c.Name, s.Name, part.Capture-1)
					}
				}
			}
			for _, capture := range s.Capture {
				made[capture.Slot] = true
			}
			if s.Expect.USIM != nil {
				for _, answer := range s.Expect.USIM.Answers {
					made[answer.Slot] = true
				}
			}
		}
	}
	if steps == 0 || steps > plan.MaxSteps {
		t.Errorf("%d steps", steps)
	}
	for i := range p.Variables {
		if v := &p.Variables[i]; (v.Range != nil || v.List != nil || v.CSV != nil) && v.Size() < 1 && (v.Range != nil || v.List != nil || v.CSV != nil) {
			t.Errorf("variable %s has %d values", v.Name, v.Size())
		}
	}
	canonical, _, err := plan.Canonical(p)
	if err != nil {
		t.Fatal(err)
	}
	back, err := plan.Parse(canonical)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, back); diff != "" {
		t.Errorf("bytes and back (-want +got):\n%s", diff)
	}
}

func values(headers []runnerv1alpha1.Header) (out []runnerv1alpha1.Text) {
	for _, h := range headers {
		out = append(out, h.Value)
	}
	return out
}
