package h2surge_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/h2surge/h2surge/"

// listed is a package as "go list" tells it. Deps are all packages below it, Imports the direct
// ones; those of test files are in neither, so a test may look across a border.
type listed struct {
	Dir, ImportPath, Name, Doc string
	GoFiles, Imports, Deps     []string
}

// path is the package's place in the repository: "runner/pace".
func (p listed) path() string { return strings.TrimPrefix(p.ImportPath, module) }

// packages lists the packages of the repository that hold more than tests.
func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=Dir,ImportPath,Name,Doc,GoFiles,Imports,Deps", "./...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if len(p.GoFiles) > 0 {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		t.Fatal("go list found no package")
	}
	return all
}

// within is true when pkg is one of trees or lies below one. An entry that ends in a slash means
// only what lies below it.
func within(pkg string, trees ...string) bool {
	return slices.ContainsFunc(trees, func(tree string) bool {
		if strings.HasSuffix(tree, "/") {
			return strings.HasPrefix(pkg, tree)
		}
		return pkg == tree || strings.HasPrefix(pkg, tree+"/")
	})
}

// isStandard is true for packages of the standard library: their first path element has no dot.
func isStandard(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return !strings.Contains(first, ".")
}

// law says what the packages below some folders may depend on, directly or not. Either only what
// allow lists (and the standard library) or everything but what deny lists.
type law struct {
	name string
	of   []string
	// direct limits the law to the imports that stand in the files.
	direct      bool
	allow, deny []string
}

// laws are the borders that the design draws. The linter's depguard repeats the direct ones, so
// that an editor shows them.
var laws = []law{
	{
		name: "the engine knows nothing of Kubernetes, the operator or manifests",
		of:   []string{"runner", "cmd/runner"},
		deny: []string{"k8s.io", "sigs.k8s.io", module + "controllers", module + "api/v1alpha1", module + "api/state",
			module + "internal/compile"},
	},
	{
		name: "the operator does not know the engine",
		of:   []string{"controllers", "cmd/manager"},
		deny: []string{module + "runner"},
	},
	{
		name: "a controller of its own knows LoadTests by the API server only",
		of:   []string{"controllers/ttl", "controllers/upload", "controllers/lock"},
		deny: []string{module + "controllers/loadtest", module + "controllers/internal/collect",
			module + "controllers/internal/transport", module + "controllers/internal/decide"},
	},
	{
		name:   "the contract between operator and runner needs the standard library only",
		of:     []string{"api/runner"},
		direct: true,
		allow:  []string{module + "api/runner"},
	},
	{
		name:   "API types need apimachinery and core/v1 only",
		of:     []string{"api/v1alpha1", "api/config", "api/state"},
		direct: true,
		allow:  []string{"k8s.io/apimachinery", "k8s.io/api/core/v1", "sigs.k8s.io/yaml"},
	},
	{
		name: "what both halves share does not need one of them, nor Kubernetes",
		of: []string{"internal/histogram", "internal/load", "internal/version", "internal/report/build",
			"internal/report/verdict", "internal/report/compare", "internal/report/baseline", "internal/placeholder"},
		deny: []string{"k8s.io", "sigs.k8s.io", module + "runner", module + "controllers", module + "internal/compile",
			module + "api/v1alpha1"},
	},
	{
		name: "only the operator knows the stored state of runs",
		of:   []string{"api/v1alpha1", "internal", "cmd/h2surge", "cmd/kubectl-h2surge"},
		deny: []string{module + "api/state"},
	},
	{
		name: "compiling a manifest needs neither the operator nor the engine",
		of:   []string{"internal/compile"},
		deny: []string{module + "runner", module + "controllers", "k8s.io/client-go", "sigs.k8s.io/controller-runtime"},
	},
	{
		// runner/observe asks Prometheus servers. Its packages add 0.3 ms to a start; a registry of metrics adds more.
		name: "h2surge starts fast: it needs no client and no library of the API server, and serves no metrics",
		of:   []string{"cmd/h2surge", "internal/cli"},
		deny: []string{"k8s.io/kube-openapi/pkg/validation", "k8s.io/apiextensions-apiserver", "k8s.io/client-go",
			"sigs.k8s.io/controller-runtime", "github.com/prometheus/client_golang/prometheus", "github.com/prometheus/procfs",
			module + "internal/cluster"},
	},
	{
		name:   "a session has no input or output of its own, and knows nothing of measuring or chains",
		of:     []string{"runner/h1", "runner/h2", "runner/h3", "runner/protocol"},
		direct: true,
		deny: []string{"net", "os", "syscall", "log", "golang.org/x/sys", module + "runner/measure", module + "runner/chain",
			module + "runner/loop", module + "internal/histogram"},
	},
	{
		name: "records of requests know nothing of connections, slots and counts",
		of:   []string{"runner/book"},
		deny: []string{module + "runner/loop", module + "runner/netio", module + "runner/protocol", module + "runner/dial",
			module + "runner/measure"},
	},
	{
		name:   "chain instances know nothing of requests, slots and counts",
		of:     []string{"runner/flow"},
		direct: true,
		deny: []string{"net", "os", module + "runner/loop", module + "runner/netio", module + "runner/protocol",
			module + "runner/dial", module + "runner/measure",
			module + "runner/slots", module + "runner/book"},
	},
	{
		name:   "slots know nothing of what they are used for",
		of:     []string{"runner/slots"},
		direct: true,
		deny: []string{"net", "os", module + "runner/loop", module + "runner/netio", module + "runner/protocol",
			module + "runner/dial", module + "runner/measure"},
	},
	{
		name: "a trial knows no worker and no slots",
		of:   []string{"runner/trial"},
		deny: []string{module + "runner/loop", module + "runner/slots", module + "runner/listen", module + "runner/tally"},
	},
	{
		name: "counting knows nothing of connections and the worker",
		of:   []string{"runner/tally"},
		deny: []string{module + "runner/loop", module + "runner/netio", module + "runner/protocol", module + "runner/dial"},
	},
	{
		name: "observations are read without a worker",
		of:   []string{"runner/observe"},
		deny: []string{module + "runner/loop", module + "runner/conns", module + "runner/measure",
			"github.com/prometheus/client_golang/prometheus"},
	},
	{
		name: "listeners know no worker and no other part of it, but the pool of exchanges",
		of:   []string{"runner/listen"},
		deny: []string{module + "runner/loop", module + "runner/conns", module + "runner/flow", module + "runner/slots",
			module + "runner/tally"},
	},
	{
		name: "connections know no worker and no other part of it",
		of:   []string{"runner/conns"},
		deny: []string{module + "runner/loop", module + "runner/book", module + "runner/flow", module + "runner/listen",
			module + "runner/slots", module + "runner/tally"},
	},
	{
		name: "sockets know nothing of requests",
		of:   []string{"runner/netio"},
		deny: []string{module + "runner/loop", module + "runner/chain", module + "runner/measure",
			module + "runner/protocol"},
	},
}

func (l law) broken(p listed) []string {
	imports := p.Deps
	if l.direct {
		imports = p.Imports
	}
	var out []string
	for _, i := range imports {
		switch {
		case within(i, l.deny...):
			out = append(out, i)
		case l.allow != nil && !isStandard(i) && !within(i, l.allow...):
			out = append(out, i)
		}
	}
	return out
}

func TestLawOfImports(t *testing.T) {
	all := packages(t)
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) {
			for _, p := range all {
				if !within(p.path(), l.of...) {
					continue
				}
				if got := l.broken(p); len(got) > 0 {
					t.Errorf("%s depends on %s", p.path(), strings.Join(got, ", "))
				}
			}
		})
	}
}

// TestLawCanBeBroken keeps the test above honest: a typing error in a path would let all pass.
func TestLawCanBeBroken(t *testing.T) {
	for _, tc := range []struct {
		of, imports string
		want        bool
	}{
		{"runner/loop", "k8s.io/api/core/v1", true},
		{"runner/loop", "sigs.k8s.io/yaml", true},
		{"runner/loop", module + "internal/compile", true},
		{"runner/loop", module + "internal/histogram", false},
		{"controllers/loadtest", module + "runner", true},
		{"controllers/ttl", module + "controllers/internal/collect", true},
		{"controllers/ttl", module + "controllers/internal/leadership", false},
		{"controllers/lock", module + "controllers/loadtest", true},
		{"controllers/loadtest", module + "runner/pace", true},
		{"controllers/internal/storage", module + "internal/report/render", false},
		{"controllers/loadtest", module + "api/runner/v1alpha1", false},
		{"api/runner/v1alpha1", "sigs.k8s.io/yaml", true},
		{"api/runner/v1alpha1", "encoding/json", false},
		{"api/v1alpha1", "k8s.io/client-go/kubernetes", true},
		{"api/v1alpha1", "k8s.io/apimachinery/pkg/runtime", false},
		{"api/state/v1alpha1", module + "api/v1alpha1", true},
		{"internal/cluster", module + "api/state/v1alpha1", true},
		{"controllers/lock", module + "api/state/v1alpha1", false},
		{"runner/h2", "net", true},
		{"runner/h2", "net/http", true},
		{"runner/h2", module + "runner/h2/hpack", false},
		{"runner/netio", module + "runner/loop", true},
		{"runner/listen", module + "runner/loop", true},
		{"runner/conns", module + "runner/book", true},
		{"runner/book", module + "runner/measure", true},
		{"runner/slots", module + "runner/loop", true},
		{"runner/flow", module + "runner/slots", true},
		{"runner/slots", module + "runner/chain", false},
		{"runner/tally", module + "runner/netio", true},
		{"runner/trial", module + "runner/loop", true},
		{"internal/report/verdict", module + "runner/measure", true},
		{"internal/compile", module + "runner", true},
		{"cmd/h2surge", "k8s.io/client-go/rest", true},
		{"cmd/h2surge", "github.com/prometheus/client_golang/prometheus/promhttp", true},
		{"cmd/h2surge", "github.com/prometheus/client_golang/api/prometheus/v1", false},
		{"runner/observe", module + "runner/loop", true},
		{"internal/cli", module + "internal/cluster", true},
		{"cmd/kubectl-h2surge", "k8s.io/client-go/rest", false},
	} {
		p := listed{ImportPath: module + tc.of, Imports: []string{tc.imports}, Deps: []string{tc.imports}}
		got := slices.ContainsFunc(laws, func(l law) bool { return within(tc.of, l.of...) && len(l.broken(p)) > 0 })
		if got != tc.want {
			t.Errorf("%s importing %s: broken = %v, want %v", tc.of, tc.imports, got, tc.want)
		}
	}
}

// TestFieldsOf5G: of the engine, only runner/fiveg knows names of header fields of a 5G core.
func TestFieldsOf5G(t *testing.T) {
	known := false
	for _, p := range packages(t) {
		if !within(p.path(), "runner") {
			continue
		}
		for _, f := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, f))
			if err != nil {
				t.Fatal(err)
			}
			has := bytes.Contains(text, []byte(`"3gpp-`))
			if known = known || has; has && p.path() != "runner/fiveg" {
				t.Errorf("%s/%s has the name of such a field", p.path(), f)
			}
		}
	}
	if !known {
		t.Error("no file has such a name")
	}
}

func TestPackages(t *testing.T) {
	for _, p := range packages(t) {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", p.path())
		}
		if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "misc"}, p.Name) {
			t.Errorf("%s: a package is named by what it is about, not %q", p.path(), p.Name)
		}
	}
}

// pure packages are functions: the same arguments give the same result, so their tests are tables
// and the operator and the command line get the same verdict.
var pure = []string{
	"internal/histogram", "internal/load/split", "internal/report/build", "internal/report/verdict",
	"internal/report/compare", "internal/report/baseline", "internal/load/search", "internal/load/usl",
	"internal/placeholder", "runner/pace", "runner/book", "runner/tally",
	"controllers/internal/desired", "controllers/internal/shards", "controllers/internal/run",
	"controllers/internal/decide",
	"controllers/internal/status",
}

// impure are the ways to the clock; a package may still do arithmetic on durations.
var impure = []string{
	"time.Now", "time.Since", "time.Until", "time.Sleep", "time.After", "time.AfterFunc", "time.Tick", "time.NewTimer",
	"time.NewTicker",
}

func TestPurePackages(t *testing.T) {
	for _, p := range packages(t) {
		if !slices.Contains(pure, p.path()) {
			continue
		}
		for _, i := range p.Imports {
			if within(i, "k8s.io/client-go/applyconfigurations") { // types only
				continue
			}
			if within(i, "log", "net", "os", "sync", "context", "k8s.io/client-go", "k8s.io/klog",
				"sigs.k8s.io/controller-runtime/") {
				t.Errorf("%s imports %s", p.path(), i)
			}
		}
		for _, f := range p.GoFiles {
			for _, what := range impurities(t, filepath.Join(p.Dir, f), nil) {
				t.Errorf("%s/%s", p.path(), what)
			}
		}
	}
}

// impurities are the places in a file that start a goroutine or read the clock; src is nil or
// the text to parse instead of the file's.
func impurities(t *testing.T, file string, src any) []string {
	t.Helper()
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	found := func(n ast.Node, what string) {
		pos := fset.Position(n.Pos())
		out = append(out, fmt.Sprintf("%s:%d: %s", filepath.Base(pos.Filename), pos.Line, what))
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found(n, "go statement")
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && slices.Contains(impure, x.Name+"."+n.Sel.Name) {
				found(n, x.Name+"."+n.Sel.Name)
			}
		}
		return true
	})
	return out
}

func TestImpurities(t *testing.T) {
	src := "package p\nimport \"time\"\nfunc f() time.Duration { go f(); return time.Since(time.Time{}) }\n"
	want := []string{"p.go:3: go statement", "p.go:3: time.Since"}
	if got := impurities(t, "p.go", src); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRequirements: the versions that the cluster runs and that go.mod asks for belong together.
func TestRequirements(t *testing.T) {
	env, err := os.ReadFile("hack/cluster/versions.env")
	if err != nil {
		t.Fatal(err)
	}
	_, version, _ := strings.Cut(string(env), "K8S_VERSION=1.")
	version, _, _ = strings.Cut(version, " ")
	if _, err := strconv.ParseFloat(version, 64); err != nil {
		t.Fatalf("versions.env: %v", err)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []string{"api", "apimachinery", "client-go"} {
		if want := "k8s.io/" + m + " v0." + version + "\n"; !strings.Contains(string(mod), want) {
			t.Errorf("go.mod does not have %q, which goes with the cluster of hack/cluster", strings.TrimSpace(want))
		}
	}
}
