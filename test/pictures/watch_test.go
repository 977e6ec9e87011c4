//go:build pictures

package main

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/world"
)

// TestWatch draws "kubectl h2surge watch" of a run with a real operator and two runners. It has the last screen before
// the person interrupts it, 22 seconds after the start of the load.
func TestWatch(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	t.Chdir("../..")
	s, err := newStudio(t.Context(), "docs/images")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(s.dir) })
	text, err := os.ReadFile(s.path("orders.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	lt := &v1alpha1.LoadTest{}
	if err := yaml.UnmarshalStrict(text, lt); err != nil {
		t.Fatal(err)
	}
	lt.Spec.Runner.Shards = 2
	w := world.New(t, lt.Namespace, world.Programs{Operator: "bin/manager", CRDs: "config/crd/bases",
		Runner: "bin/runner"})
	w.Must(s.withTarget(func() error {
		w.Must(w.Client.Create(t.Context(), lt))
		w.Await("the load", func() error {
			w.Kubelet()
			w.Must(w.Client.Get(t.Context(), client.ObjectKeyFromObject(lt), lt))
			if lt.Status.Phase != v1alpha1.PhaseRunning {
				return fmt.Errorf("phase %s: %+v", lt.Status.Phase, lt.Status.Conditions)
			}
			return nil
		})
		cmd := exec.Command(s.path("bin/kubectl-h2surge"), "watch", lt.Name, "-n", lt.Namespace)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+w.Kubeconfig)
		time.AfterFunc(22*time.Second, func() { _ = cmd.Process.Signal(os.Interrupt) })
		return draw(s.out+"/watch.svg", "kubectl h2surge watch "+lt.Name+" -n "+lt.Namespace, cmd)
	}, "-f", "target.yaml"))
}
