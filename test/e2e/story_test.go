//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// Bounds of what a story waits for.
const (
	// short is for what the cluster does by itself: a pod starts, an object goes away.
	short = 60 * time.Second
	// takeover is for the next operator to act after one was killed: the Lease ends after 15 s, the election tries again
	// after up to 4.4 s, and a pod has to start.
	takeover = 20*time.Second + short
	// poll is how often a story looks.
	poll = 100 * time.Millisecond
)

// story is a test in a namespace of its own, with a target in it.
type story struct {
	*testing.T
	ctx context.Context
	ns  string
}

// newStory makes the namespace; it goes away at the end of the test, after a dump when the test
// failed.
func newStory(t *testing.T, name string) *story {
	t.Helper()
	s := &story{T: t, ctx: t.Context(), ns: "h2surge-e2e-" + name}
	s.awaitGone(s.ns)
	_, err := core.CoreV1().Namespaces().Create(s.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: s.ns,
		Labels: map[string]string{
			ours:                                 "true",
			"pod-security.kubernetes.io/enforce": "restricted",
		},
	}}, metav1.CreateOptions{})
	s.must(err)
	t.Cleanup(func() {
		// The test's own context has ended by now.
		if t.Failed() {
			s.dump()
		}
		_ = core.CoreV1().Namespaces().Delete(context.Background(), s.ns, metav1.DeleteOptions{})
	})
	return s
}

// awaitGone waits for the end of a namespace that an earlier run left.
func (s *story) awaitGone(name string) {
	s.Helper()
	s.eventually(short, func() string {
		_, err := core.CoreV1().Namespaces().Get(s.ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return ""
		}
		return fmt.Sprintf("namespace %s is still there (%v)", name, err)
	})
}

func (s *story) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// eventually calls f until it returns the empty string; what it returned last is the failure.
func (s *story) eventually(within time.Duration, f func() string) {
	s.Helper()
	begun := time.Now()
	for {
		wrong := f()
		if wrong == "" {
			return
		}
		if time.Since(begun) > within {
			s.Fatalf("after %v: %s", within, wrong)
		}
		time.Sleep(poll)
	}
}

// kubectl runs it in the story's namespace, with in as its standard input, and returns what it
// printed.
func (s *story) kubectl(in string, args ...string) (string, error) {
	cmd := exec.CommandContext(context.WithoutCancel(s.ctx), "kubectl", append([]string{"-n", s.ns}, args...)...)
	cmd.Stdin = strings.NewReader(in)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s *story) mustKubectl(in string, args ...string) string {
	s.Helper()
	out, err := s.kubectl(in, args...)
	if err != nil {
		s.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// apply applies an object by kubectl, as a user does.
func (s *story) apply(o client.Object) {
	s.Helper()
	s.mustKubectl(s.manifest(o), "apply", "-f", "-")
}

func (s *story) manifest(o client.Object) string {
	s.Helper()
	b, err := json.Marshal(o)
	s.must(err)
	return string(b)
}

// loadTest reads it from the API server.
func (s *story) loadTest(name string) *v1alpha1.LoadTest {
	s.Helper()
	lt := &v1alpha1.LoadTest{}
	s.must(objects.Get(s.ctx, client.ObjectKey{Namespace: s.ns, Name: name}, lt))
	return lt
}

// awaitCondition waits for a condition's status and returns the LoadTest that had it.
func (s *story) awaitCondition(name, condition string, status metav1.ConditionStatus, within time.Duration) *v1alpha1.LoadTest {
	s.Helper()
	var lt *v1alpha1.LoadTest
	s.eventually(within, func() string {
		lt = s.loadTest(name)
		if meta.IsStatusConditionPresentAndEqual(lt.Status.Conditions, condition, status) {
			return ""
		}
		return fmt.Sprintf("%s is not %s:\n%s", condition, status, conditions(lt))
	})
	return lt
}

// awaitSending waits until the runners of a test send load.
func (s *story) awaitSending(name string) {
	s.Helper()
	s.eventually(short, func() string {
		lt := s.loadTest(name)
		if c := meta.FindStatusCondition(lt.Status.Conditions, v1alpha1.ConditionFinished); c != nil && c.Reason == v1alpha1.ReasonRunning {
			return ""
		}
		return fmt.Sprintf("%s does not run:\n%s", name, conditions(lt))
	})
}

// wantCondition fails the test, but does not end it, when the condition is not as wanted. An
// empty reason means any.
func (s *story) wantCondition(lt *v1alpha1.LoadTest, condition string, status metav1.ConditionStatus, reason string) {
	s.Helper()
	c := meta.FindStatusCondition(lt.Status.Conditions, condition)
	if c == nil || c.Status != status || (reason != "" && c.Reason != reason) {
		s.Errorf("want %s=%s %s; conditions are\n%s", condition, status, reason, conditions(lt))
	}
}

func conditions(lt *v1alpha1.LoadTest) string {
	var out strings.Builder
	for _, c := range lt.Status.Conditions {
		fmt.Fprintf(&out, "  %s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	return out.String()
}

// runners are the pods of all LoadTests in the namespace, by shard.
func (s *story) runners() []corev1.Pod {
	s.Helper()
	list, err := core.CoreV1().Pods(s.ns).List(s.ctx, metav1.ListOptions{LabelSelector: "batch.kubernetes.io/job-completion-index"})
	s.must(err)
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return list.Items
}

// reasons are those of the events about an object, in the order of their first appearance.
func (s *story) reasons(name string) []string {
	s.Helper()
	list, err := core.EventsV1().Events(s.ns).List(s.ctx, metav1.ListOptions{FieldSelector: "regarding.kind=LoadTest,regarding.name=" + name})
	s.must(err)
	slices.SortStableFunc(list.Items, func(a, b eventsv1.Event) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	var out []string
	for _, e := range list.Items {
		if !slices.Contains(out, e.Reason) {
			out = append(out, e.Reason)
		}
	}
	return out
}

// inventory is what is in the namespace, of the kinds a run may make, but for what every
// namespace has.
func (s *story) inventory() []string {
	s.Helper()
	out := s.mustKubectl("", "get", "-o", "name",
		"loadtests,jobs,pods,configmaps,secrets,services,endpointslices,leases,networkpolicies,serviceaccounts,roles,rolebindings,poddisruptionbudgets")
	names := strings.Fields(out)
	slices.Sort(names)
	return names
}

// wantInventory waits until the namespace holds what it held before.
func (s *story) wantInventory(before []string) {
	s.Helper()
	s.eventually(short, func() string {
		var left []string
		for _, n := range s.inventory() {
			if !slices.Contains(before, n) {
				left = append(left, n)
			}
		}
		if len(left) == 0 {
			return ""
		}
		return "left behind: " + strings.Join(left, " ")
	})
}

// dump tells all that helps to understand a failure.
func (s *story) dump() {
	show := func(what string, in ...string) {
		out, err := s.kubectl("", in...)
		s.Logf("---- %s (%v)\n%s", what, err, tail(out, 200))
	}
	show("load tests", "get", "loadtests", "-o", "yaml")
	show("pods", "get", "pods", "-o", "wide")
	show("describe", "describe", "loadtests,jobs,pods")
	show("events", "get", "events", "--sort-by=.metadata.creationTimestamp")
	for _, p := range s.podNames() {
		show("log of "+p, "logs", p, "--all-containers", "--tail=100")
	}
	out, err := exec.Command("kubectl", "-n", operatorNamespace, "logs", "--all-containers", "--prefix", "--tail=200", "-l", operatorSelector).CombinedOutput()
	s.Logf("---- operator (%v)\n%s", err, out)
	out, _ = exec.Command("kubectl", "-n", operatorNamespace, "get", "pods", "-o", "wide").CombinedOutput()
	s.Logf("%s", out)
	if dir := os.Getenv("E2E_DUMP"); dir != "" {
		yaml, _ := s.kubectl("", "get", "loadtests,jobs,pods,configmaps,events", "-o", "yaml")
		_ = os.WriteFile(dir+"/"+s.ns+".yaml", []byte(yaml), 0o644)
	}
}

func (s *story) podNames() []string {
	out, err := s.kubectl("", "get", "pods", "-o", "name")
	if err != nil {
		return nil
	}
	return strings.Fields(out)
}

// tail is the last n lines.
func tail(text string, n int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// lacks is empty when a condition has a reason and a part of a message.
func lacks(lt *v1alpha1.LoadTest, condition, reason, part string) string {
	c := meta.FindStatusCondition(lt.Status.Conditions, condition)
	if c != nil && c.Reason == reason && strings.Contains(c.Message, part) {
		return ""
	}
	return fmt.Sprintf("want %s %s with %q in its message; conditions are\n%s", condition, reason, part, conditions(lt))
}
