package cli

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/plan"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// job is a compiled LoadTest.
type job struct {
	plan     *rv.Plan
	places   compile.Places
	hash     string
	warnings []string
	// threads is the value of -t; zero: the plan decides.
	threads int
	// cpus is the number of CPUs that workers can have.
	cpus int
	// files are the files that the plan takes from ConfigMaps and Secrets of the manifest.
	files []compile.File
	// baselines are the reports that thresholds compare with.
	baselines baselines
	// loadTest is the LoadTest that was compiled.
	loadTest *v1alpha1.LoadTest
	// manifest is the manifest of the LoadTest; nil: the LoadTest was made of flags.
	manifest *compile.Manifest
	// mistakes returns errors in fields of the spec at the line or the flag that the user wrote.
	mistakes func(field.ErrorList) error
}

// source is where a LoadTest comes from: the files of a manifest, or flags and a URL.
type source struct {
	files     []string
	urls      []string
	form      *urlForm
	overrides []string
	// reflection asks targets for their proto files.
	reflection bool
	idle       idleFlags
	// demo is the URL of the demo's target; empty: there is no demo.
	demo string
	// dryRun sends nothing: run prints the LoadTest, and try its requests.
	dryRun bool
	// stdin is read for the file "-".
	stdin io.Reader
	// generated is the name that was made of generateName; empty: none was made.
	generated string
	// text is the manifest that was read last.
	text *manifestText
}

// compile reports all mistakes that can be found before a request is sent.
func (s *source) compile() (*job, error) {
	if len(s.files) == 0 {
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
	var changed []string
	if s.demo != "" { // The demo's target speaks h2c, whatever the manifest's target speaks.
		changed = withoutTLS(m.LoadTest.Spec.Targets)
		if err := (override{url: s.demo}).apply(&m.LoadTest.Spec, true); err != nil {
			return nil, err
		}
	}
	s.idle.apply(&m.LoadTest.Spec.Runner)
	if s.reflection {
		if err := addReflected(m); err != nil {
			return nil, err
		}
	}
	p, places, warnings, errs := compile.Placed(m.Name(), &m.LoadTest.Spec)
	if m.LoadTest.Spec.Stop || m.LoadTest.Spec.Suspend {
		warnings = append(warnings, "spec: stop and suspend have no effect on the command line")
	}
	if len(errs) > 0 {
		return nil, s.mistakes(m.Positions, errs)
	}
	if errs := compile.WithoutPod(&m.LoadTest.Spec); len(errs) > 0 {
		return nil, s.mistakes(m.Positions, errs)
	}
	files, errs := compile.Files(m)
	if len(errs) > 0 {
		return nil, s.mistakes(m.Positions, errs)
	}
	if errs := missing(compile.OwnFiles(&m.LoadTest.Spec)); len(errs) > 0 {
		return nil, s.mistakes(m.Positions, errs)
	}
	if s.reflection {
		if err := askTargets(p, files); err != nil {
			return nil, err
		}
	}
	against, absent, errs := readBaselines(m)
	if len(errs) > 0 {
		return nil, s.mistakes(m.Positions, errs)
	}
	warnings = append(warnings, compile.ErrorLines(absent)...)
	if meta := &m.LoadTest.ObjectMeta; meta.Name == "" {
		s.generate(meta)
		p.Name = m.Name()
	}
	j, err := newJob(p, slices.Concat(changed, warnings, unlikely(m, p)))
	if err == nil {
		j.places, j.files, j.baselines, j.manifest, j.loadTest = places, files, against, m, m.LoadTest
		text := s.text
		j.mistakes = func(errs field.ErrorList) error {
			return command.Exit(verdict.ExitUsage, text.errorLines(m.Positions, errs)...)
		}
	}
	return j, err
}

// generate makes a name of generateName, as the API server does. A manifest that is read again keeps its name. The seed
// does not depend on the random characters.
func (s *source) generate(meta *metav1.ObjectMeta) {
	if !strings.HasPrefix(s.generated, meta.GenerateName) || s.generated == "" {
		s.generated = meta.GenerateName + rand.String(compile.GeneratedLength)
	}
	meta.Name, meta.GenerateName = s.generated, ""
}

func (s *source) compileURL() (*job, error) {
	if wrong := s.form.check(); len(wrong) > 0 {
		return nil, command.Exit(verdict.ExitUsage, wrong...)
	}
	if s.form.input != "" {
		urls, err := readURLFile(s.form.input, s.stdin)
		if err != nil {
			return nil, command.Usagef("-i: %v", err)
		}
		s.urls = urls
	}
	lt, err := s.form.loadTest(s.stdin, s.urls...)
	if err != nil {
		return nil, err
	}
	s.idle.apply(&lt.Spec.Runner)
	if s.dryRun && s.form.threads > 1 { // job.threads is enough for a run, and asks for no exclusive CPUs
		lt.Spec.Runner.CPUsPerShard = new(int32(s.form.threads))
	}
	p, places, warnings, errs := compile.Placed(lt.Namespace+"/"+lt.Name, &lt.Spec)
	if len(errs) == 0 {
		errs = missing(compile.OwnFiles(&lt.Spec))
	}
	if len(errs) > 0 {
		return nil, s.form.mistakes(errs)
	}
	warnings = slices.Concat(s.form.warnings(warnings), s.form.notes, s.form.unusual())
	if s.dryRun {
		warnings = slices.Concat(warnings, s.form.curl.secrets(), s.form.local())
	}
	j, err := newJob(p, warnings)
	if err == nil {
		j.places, j.threads, j.mistakes, j.loadTest = places, s.form.threads, s.form.mistakes, lt
	}
	return j, err
}

func newJob(p *rv.Plan, warnings []string) (*job, error) {
	hash, err := plan.Hash(p)
	if err != nil {
		return nil, command.Usagef("%v", err)
	}
	return &job{plan: p, hash: hash, warnings: warnings}, nil
}

func (s *source) manifest() (*compile.Manifest, error) {
	text, err := readManifest(s.files, s.stdin)
	if err != nil {
		return nil, err
	}
	s.text = text
	m, err := compile.Load(bytes.NewReader(text.content))
	if wrong := new(compile.ManifestError); errors.As(err, &wrong) {
		return nil, s.mistakes(wrong.Positions, wrong.Errors)
	}
	if err != nil {
		return nil, command.Usagef("%s: %v", text.name(), err)
	}
	return m, nil
}

// mistakes returns errors with their files and lines.
func (s *source) mistakes(at *compile.Positions, errs field.ErrorList) error {
	return command.Exit(verdict.ExitUsage, s.text.errorLines(at, errs)...)
}

// arguments decides by the first argument whether the arguments are URLs or the files of a manifest.
func (s *source) arguments(args []string) error {
	if len(args) == 0 {
		return nil
	}
	if command.IsURL(args[0]) {
		s.urls = args
		return nil
	}
	if !command.IsManifestName(args[0]) {
		return command.Usagef("%s: the argument is not a file, and not a URL: a URL starts with http:// or https://", args[0])
	}
	for _, arg := range args {
		if command.IsURL(arg) {
			return command.Usagef("%s: a URL is not allowed with a manifest", arg)
		}
	}
	s.files = append(s.files, args...)
	return nil
}

// fieldsOfFlags are the fields of a manifest that have the meaning of a flag of the URL form.
var fieldsOfFlags = map[string]string{
	"duration": "spec.rates[].duration", "requests": "spec.rates[].requests", "rps": "spec.rates[].requestsPerSecond",
	"concurrency":  "spec.rates[].closedLoop.concurrency",
	"warm-up-time": "spec.rates[].warmUp", "clients": "spec.targets[].connections",
	"max-concurrent-streams": "spec.targets[].maxConcurrentStreams", "timeout": "spec.chains[].steps[].request.timeout",
	"request": "spec.chains[].steps[].request.method", "header": "spec.chains[].steps[].request.headers",
	"data": "spec.chains[].steps[].request.body", "json": "spec.chains[].steps[].request.body",
	"form": "spec.chains[].steps[].request.body",
	"user": "spec.targets[].auth.basic", "oauth2-bearer": "spec.targets[].auth",
	"location": "spec.chains[].steps[].request.maxRedirects",
	"resolve":  "spec.targets[].connectTo", "connect-timeout": "spec.targets[].connectTimeout",
}

// check allows one of the two forms, and no flags of the other.
func (s *source) check(urlFlags []string) error {
	switch {
	case len(s.files) == 0 && len(s.urls) == 0 && s.form.input == "":
		return command.Usagef("-f FILE or URL: the argument is missing")
	case slices.ContainsFunc(s.files, command.IsURL):
		return command.Usagef("-f: is the file of a manifest; write the URL without -f, which sets the exit code in curl")
	case len(s.files) > 0 && len(s.urls) > 0:
		return command.Usagef("-f: not allowed with a URL")
	case s.form.input != "" && len(s.urls) > 0:
		return command.Usagef("-i: not allowed with URLs on the command line")
	case len(s.urls) > maxURLs:
		return command.Usagef("URL: %d URLs were given; allowed: at most %d", len(s.urls), maxURLs)
	case len(s.files) > 0 && len(urlFlags) > 0:
		return command.Usagef("--%s: allowed only with a URL; a manifest has %s", urlFlags[0],
			cmp.Or(fieldsOfFlags[urlFlags[0]],
				"a field for it"))
	case len(s.files) == 0 && s.reflection:
		return command.Usagef("--reflection: allowed only with a manifest (-f)")
	case len(s.files) == 0 && len(s.overrides) > 0:
		return command.Usagef("--target-url: allowed only with a manifest (-f)")
	}
	return nil
}

// checkDryRun refuses questions to targets in a run that sends nothing.
func (s *source) checkDryRun() error {
	if s.dryRun && s.reflection {
		return command.Usagef("--reflection: not allowed with --dry-run, which sends nothing")
	}
	return nil
}

// reread reports whether the manifest can be read again: standard input cannot.
func (s *source) reread() bool {
	return len(s.files) > 0 && !slices.Contains(s.files, command.StdinName)
}
