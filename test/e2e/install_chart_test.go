//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

const (
	chartDir = "../../charts/h2surge"
	release  = "h2surge"
	// previousVersion is of a chart that is older than any.
	previousVersion = "0.0.0-previous"
)

// image is what the cluster's nodes have of the operator.
var image = os.Getenv("E2E_IMG")

// charts are packaged: the one of this tree, and one that comes before it. None has been released, so
// the previous one is of this tree too, with a lower version, one replica in place of two, and a test
// whose target never answers as expected.
type charts struct {
	*story
	binary, home      string
	current, previous string
}

// installedByHelm is the life of an installation, with a LoadTest that goes on through an upgrade and a
// rollback.
func installedByHelm(t *testing.T) {
	s := newStory(t, "chart").withTarget()
	s.withoutOperator() // no two operators may watch the same namespace
	c := s.withCharts()

	begun := time.Now()
	c.helm("install", release, c.previous, "--create-namespace", "--wait", "--set", c.imageValues())
	t.Logf("FIGURE helm install --wait: %v", since(begun))
	c.wantInstalled(previousVersion, 1)
	c.wantTestFails()

	s.apply(s.quickstart("through", 2, hold(500, 5*time.Minute), withoutThresholds))
	s.awaitLoad(1, short)
	begun = time.Now()
	c.helm("upgrade", release, c.current, "--wait", "--reset-then-reuse-values", "--set", "replicas=2,config.logging.level=debug")
	t.Logf("FIGURE helm upgrade --wait: %v", since(begun))
	c.wantInstalled("", 2)
	c.wantTestPasses()
	begun = time.Now()
	c.helm("rollback", release, "1", "--wait")
	t.Logf("FIGURE helm rollback --wait: %v", since(begun))
	c.wantInstalled(previousVersion, 1)
	s.wantCondition(s.loadTest("through"), v1alpha1.ConditionFinished, metav1.ConditionFalse, v1alpha1.ReasonRunning)

	s.stop("through")
	lt := s.awaitFinished("through")
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionFalse, v1alpha1.ReasonStopped)
	s.wantSameAsTarget(lt)
	if lt.Status.Results.Partial {
		t.Error("the results lack those of a runner")
	}
	c.wantPolicies()
	c.wantUninstalled()
}

func since(begun time.Time) time.Duration { return time.Since(begun).Round(100 * time.Millisecond) }

// withCharts packages both, and takes away at the end what Helm has installed, and left.
func (s *story) withCharts() *charts {
	s.Helper()
	c := &charts{story: s, home: s.TempDir()}
	var err error
	c.binary, err = filepath.Abs("../../bin/tools/helm")
	s.must(err)
	if _, err := os.Stat(c.binary); err != nil || image == "" {
		s.Fatal("bin/tools/helm is not there or E2E_IMG is not set: run make e2e")
	}
	s.Cleanup(func() {
		_, _ = c.tryHelm("uninstall", release, "--ignore-not-found")
		_, _ = s.kubectl("", "delete", "crd/loadtests.h2surge.io", "crd/loadtestschedules.h2surge.io", "crd/loadtestruns.internal.h2surge.io", "crd/loadtestcheckpoints.internal.h2surge.io", "crd/loadtestlocks.internal.h2surge.io",
			"namespace/"+operatorNamespace, "--ignore-not-found", "--timeout", short.String())
	})
	c.current = c.packaged(chartDir)
	before := filepath.Join(s.TempDir(), "h2surge")
	s.must(os.CopyFS(before, os.DirFS(chartDir)))
	s.replaceIn(before+"/templates/tests/loadtest.yaml", `expect: {status: [204]}`, `expect: {status: [299]}`)
	c.previous = c.packaged(before, "--version", previousVersion)
	return c
}

func (s *story) replaceIn(file, old, text string) {
	s.Helper()
	raw, err := os.ReadFile(file)
	s.must(err)
	if strings.Count(string(raw), old) != 1 {
		s.Fatalf("%s has %q not once", file, old)
	}
	s.must(os.WriteFile(file, []byte(strings.Replace(string(raw), old, text, 1)), 0o600))
}

func (c *charts) packaged(dir string, args ...string) string {
	c.Helper()
	to := c.TempDir()
	c.helm("package", append([]string{dir, "--destination", to}, args...)...)
	files, err := filepath.Glob(to + "/*.tgz")
	if err != nil || len(files) != 1 {
		c.Fatalf("helm package made %q (%v)", files, err)
	}
	return files[0]
}

// tryHelm runs the pinned Helm without any configuration of who runs the tests.
func (c *charts) tryHelm(command string, args ...string) (string, error) {
	cmd := exec.Command(c.binary, append([]string{command, "--namespace", operatorNamespace}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+c.home)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (c *charts) helm(command string, args ...string) string {
	c.Helper()
	out, err := c.tryHelm(command, args...)
	if err != nil {
		c.Fatalf("helm %s %s: %v\n%s", command, strings.Join(args, " "), err, out)
	}
	return out
}

// imageValues are those of E2E_IMG: the tag is what follows a colon in the last part of the path.
func (c *charts) imageValues() string {
	c.Helper()
	i := strings.LastIndex(image, ":")
	if i < strings.LastIndex(image, "/") || i < 0 {
		c.Fatalf("E2E_IMG: %q has no tag", image)
	}
	return fmt.Sprintf("image.repository=%s,image.tag=%s", image[:i], image[i+1:])
}

// wantInstalled: Deployment and CRD are those of a version of the chart ("": this tree's), and so many
// replicas are ready.
func (c *charts) wantInstalled(version string, replicas int32) {
	c.Helper()
	if version == "" {
		version = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(c.current), "h2surge-"), ".tgz")
	}
	d, err := core.AppsV1().Deployments(operatorNamespace).Get(c.ctx, "h2surge-controller-manager", metav1.GetOptions{})
	c.must(err)
	if got := d.Labels["helm.sh/chart"]; got != "h2surge-"+version || d.Status.ReadyReplicas != replicas {
		c.Errorf("the Deployment is of %s with %d ready replicas, want h2surge-%s and %d", got, d.Status.ReadyReplicas, version, replicas)
	}
	crd := c.mustKubectl("", "get", "crd", "loadtests.h2surge.io", "-o", `jsonpath={.metadata.labels.helm\.sh/chart}`)
	if crd != "h2surge-"+version {
		c.Errorf("the CRD is of %s, want h2surge-%s", crd, version)
	}
	budget := "PodDisruptionBudget " + operatorNamespace + "/h2surge-controller-manager"
	if all := c.within(operatorNamespace); slices.Contains(all, budget) != (replicas > 1) {
		c.Errorf("%d replicas, and these objects: %q", replicas, all)
	}
}

// wantTestFails: the LoadTest of the previous chart fails a threshold, and so "helm test" fails and
// its pod says why.
func (c *charts) wantTestFails() {
	c.Helper()
	begun := time.Now()
	out, err := c.tryHelm("test", release, "--logs")
	c.Logf("FIGURE helm test that fails: %v", since(begun))
	log := c.mustKubectl("", "logs", "-n", operatorNamespace, "h2surge-test")
	if err == nil || !strings.Contains(log, "Verdict: Failed") || !strings.Contains(log, "FAILED  clean") {
		c.Errorf("helm test (%v)\n%s; its pod\n%swant both to fail", err, out, log)
	}
	// The garbage collector deletes the report of the deleted LoadTest. It may learn of the CRD up to 30 s after the installation.
	c.mustKubectl("", "wait", "--for=delete", "-n", operatorNamespace, "configmap/h2surge-test-report", "--timeout=90s")
}

// wantTestPasses, and the report is what "helm test --logs" shows.
func (c *charts) wantTestPasses() {
	c.Helper()
	begun := time.Now()
	out := c.helm("test", release, "--logs")
	c.Logf("FIGURE helm test: %v", since(begun))
	if !strings.Contains(out, "Verdict: Passed") || !strings.Contains(out, "Succeeded") {
		c.Errorf("helm test --logs shows no report:\n%s", out)
	}
}

// wantUninstalled: the CRD and the LoadTests stay, and what docs/operate/install.md names; all else is gone.
func (c *charts) wantUninstalled() {
	c.Helper()
	label := "app.kubernetes.io/instance=" + release
	before := c.labelled(label)
	begun := time.Now()
	c.helm("uninstall", release, "--wait")
	c.Logf("FIGURE helm uninstall --wait of %d objects: %v", len(before), since(begun))
	pod := "Pod " + operatorNamespace + "/h2surge-test"
	stays := []string{
		"CustomResourceDefinition /loadtestcheckpoints.internal.h2surge.io", "CustomResourceDefinition /loadtestlocks.internal.h2surge.io", "CustomResourceDefinition /loadtestruns.internal.h2surge.io",
		"CustomResourceDefinition /loadtests.h2surge.io", "CustomResourceDefinition /loadtestschedules.h2surge.io", pod,
	}
	c.eventually(short, func() string {
		if left := c.labelled(label); !slices.Equal(left, stays) {
			return fmt.Sprintf("helm uninstall leaves %q, want %q", left, stays)
		}
		return ""
	})
	stays = []string{"Lease " + operatorNamespace + "/manager.h2surge.io", pod, "Secret " + operatorNamespace + "/h2surge-ca"}
	if left := c.within(operatorNamespace); !slices.Equal(left, stays) {
		c.Errorf("helm uninstall leaves %q in its namespace, want %q", left, stays)
	}
	if lt := c.loadTest("through"); lt.Status.Phase != v1alpha1.PhaseStopped {
		c.Errorf("the LoadTest after uninstall: phase %s", lt.Status.Phase)
	} else {
		c.report(lt)
	}
}
