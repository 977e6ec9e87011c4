//go:build chart

package chart

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const (
	root     = "../.."
	chartDir = root + "/charts/h2surge"
	// release and namespace are those for which the chart's names are the names of config/.
	release   = "h2surge"
	namespace = "h2surge-system"
	// oldest is the lowest version of Kubernetes that the chart takes. Without it Helm renders for
	// the version that it was built with.
	oldest = "--kube-version=1.33.0"
)

// helm runs the pinned Helm, away from any configuration or cluster of who runs the tests.
func helm(t *testing.T, values string, args ...string) (string, error) {
	t.Helper()
	return helmAt(t, "/dev/null", append(args, "--values", valuesOf(t, values))...)
}

// valuesOf writes a file of values.
func valuesOf(t *testing.T, values string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// helmAt is the same for a command that takes no values; kubeconfig is a file.
func helmAt(t *testing.T, kubeconfig string, args ...string) (string, error) {
	t.Helper()
	binary, err := filepath.Abs(root + "/bin/tools/helm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(binary); err != nil {
		t.Skip("SKIPPED: bin/tools/helm is not there; make chart-test builds it")
	}
	cmd := exec.Command(binary, args...)
	cmd.Env = []string{"HOME=" + t.TempDir(), "KUBECONFIG=" + kubeconfig}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", &helmError{err, stderr.String() + stdout.String()}
	}
	return stdout.String(), nil
}

type helmError struct {
	err    error
	output string
}

func (e *helmError) Error() string { return e.err.Error() + ": " + e.output }

// render is "helm template", the test's objects included.
func render(t *testing.T, values string) string {
	t.Helper()
	touch(t)
	out, err := helm(t, values, "template", release, chartDir, oldest, "--namespace", namespace)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// touch opens all files of the chart, so that Go's test cache knows what a result depends on.
func touch(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(chartDir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			_, err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// objects are those of a stream of YAML documents.
func objects(t *testing.T, stream string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for doc := range strings.SplitSeq("\n"+stream, "\n---") {
		u := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(doc), &u.Object); err != nil {
			t.Fatalf("%v in:\n%s", err, doc)
		}
		if len(u.Object) > 0 {
			out = append(out, u)
		}
	}
	return out
}

// find returns the one object of a kind and name.
func find(t *testing.T, all []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	t.Helper()
	var found *unstructured.Unstructured
	for _, o := range all {
		if o.GetKind() == kind && o.GetName() == name {
			if found != nil {
				t.Fatalf("there are two of %s %s", kind, name)
			}
			found = o
		}
	}
	if found == nil {
		t.Fatalf("there is no %s %s", kind, name)
	}
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
