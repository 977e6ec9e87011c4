package main

import (
	"errors"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/plan"
	"github.com/h2surge/h2surge/internal/verdict"
)

// job is what is to be run.
type job struct {
	plan     *rv.Plan
	hash     string
	warnings []string
	// threads is what -t says; zero: the plan decides.
	threads int
	// files are what the plan takes from ConfigMaps and Secrets of the manifest.
	files []compile.File
	// manifest is what the plan was made of; nil: it was made of flags.
	manifest *compile.Manifest
	// mistakes is what errors in fields of the spec are to the user.
	mistakes func(field.ErrorList) error
}

// source says where a LoadTest comes from: a manifest, or else flags and a URL.
type source struct {
	file      string
	urls      []string
	form      *urlForm
	overrides []string
	// demo is the URL of the demo's target; empty: none.
	demo string
	// stdin is read for the file "-".
	stdin io.Reader
}

// compile finds all mistakes there are before anything is sent.
func (s *source) compile() (*job, error) {
	if s.file == "" {
		return s.compileURL()
	}
	m, err := s.manifest()
	if err != nil {
		return nil, err
	}
	for _, o := range s.overrides {
		if err := parseOverride(o).apply(&m.LoadTest.Spec, false); err != nil {
			return nil, err
		}
	}
	if s.demo != "" { // speaks h2c, whatever the manifest's own target does
		if err := (override{url: s.demo}).apply(&m.LoadTest.Spec, true); err != nil {
			return nil, err
		}
	}
	p, warnings, errs := compile.Compile(m.Name(), &m.LoadTest.Spec)
	if m.LoadTest.Spec.Stop || m.LoadTest.Spec.Suspend {
		warnings = append(warnings, "spec: stop and suspend steer a test in a cluster; here it runs")
	}
	if len(errs) > 0 {
		return nil, s.mistakes(m.Positions, errs)
	}
	files, errs := compile.Files(m)
	if len(errs) > 0 {
		return nil, s.mistakes(m.Positions, errs)
	}
	if errs := missing(compile.OwnFiles(&m.LoadTest.Spec)); len(errs) > 0 {
		return nil, s.mistakes(m.Positions, errs)
	}
	j, err := newJob(p, warnings)
	if err == nil {
		j.files, j.manifest = files, m
		j.mistakes = func(errs field.ErrorList) error { return s.mistakes(m.Positions, errs) }
	}
	return j, err
}

func (s *source) compileURL() (*job, error) {
	if wrong := s.form.check(); len(wrong) > 0 {
		return nil, &exitError{code: verdict.ExitUsage, lines: wrong}
	}
	if s.form.input != "" {
		urls, err := readURLFile(s.form.input, s.stdin)
		if err != nil {
			return nil, usagef("-i: %v", err)
		}
		s.urls = urls
	}
	lt, err := s.form.loadTest(s.urls...)
	if err != nil {
		return nil, err
	}
	p, warnings, errs := compile.Compile(lt.Namespace+"/"+lt.Name, &lt.Spec)
	if len(errs) == 0 {
		errs = missing(compile.OwnFiles(&lt.Spec))
	}
	if len(errs) > 0 {
		return nil, s.form.mistakes(errs)
	}
	j, err := newJob(p, s.form.warnings(warnings))
	if err == nil {
		j.threads, j.mistakes = s.form.threads, s.form.mistakes
	}
	return j, err
}

func newJob(p *rv.Plan, warnings []string) (*job, error) {
	_, hash, err := plan.Canonical(p)
	if err != nil {
		return nil, usagef("%v", err)
	}
	return &job{plan: p, hash: hash, warnings: warnings}, nil
}

func (s *source) manifest() (*compile.Manifest, error) {
	m, err := s.load()
	if wrong := new(compile.ManifestError); errors.As(err, &wrong) {
		return nil, s.mistakes(wrong.Positions, wrong.Errors)
	}
	if err != nil {
		return nil, usagef("-f: %v", err)
	}
	return m, nil
}

// mistakes tells errors with their lines in the manifest.
func (s *source) mistakes(at *compile.Positions, errs field.ErrorList) error {
	return &exitError{code: verdict.ExitUsage, lines: at.ErrorLines(shownName(s.file), errs)}
}

// shownName is how messages call the file of a manifest.
func shownName(file string) string {
	if file == "-" {
		return "stdin"
	}
	return file
}

func (s *source) load() (*compile.Manifest, error) {
	if s.file == "-" {
		return compile.Load(s.stdin)
	}
	f, err := os.Open(s.file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	return compile.Load(f)
}

// check: exactly one of the two forms, and no flags of the other.
func (s *source) check(args []string, urlFlags []string) error {
	switch {
	case s.file == "" && len(args) == 0 && s.form.input == "":
		return usagef("a manifest (-f FILE) or a URL is needed")
	case s.file != "" && len(args) > 0:
		return usagef("-f and a URL exclude each other")
	case s.form.input != "" && len(args) > 0:
		return usagef("-i and URLs on the command line exclude each other")
	case len(args) > maxURLs:
		return usagef("URL: %d are possible, not %d", maxURLs, len(args))
	case s.file != "" && len(urlFlags) > 0:
		return usagef("--%s goes with a URL; a manifest says that itself", urlFlags[0])
	case s.file == "" && len(s.overrides) > 0:
		return usagef("--target-url goes with a manifest (-f)")
	}
	return nil
}
