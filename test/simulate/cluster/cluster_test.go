package cluster_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers"
	"github.com/h2surge/h2surge/test/builder"
	"github.com/h2surge/h2surge/test/simulate/apiserver"
	"github.com/h2surge/h2surge/test/simulate/cluster"
	"github.com/h2surge/h2surge/test/simulate/operator"
)

// fake is a process that ends when the test says so, or on SIGTERM, unless it is stuck.
type fake struct {
	ctx   context.Context
	files map[string][]byte
	stuck atomic.Bool
	exit  chan int32
}

func (f *fake) Wait() int32 {
	select {
	case code := <-f.exit:
		return code
	case <-f.ctx.Done():
	}
	if f.stuck.Load() {
		return <-f.exit
	}
	return 0
}

func (f *fake) Ready() bool { return true }
func (f *fake) Kill()       { f.exit <- 137 }

// world is an API server with a cluster.
type world struct {
	*testing.T
	server    *apiserver.Server
	cluster   *cluster.Cluster
	mu        sync.Mutex
	processes map[string]*fake // by index; guarded by mu
}

func (w *world) process(index string) *fake {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.processes[index]
}

// inWorld runs a test in a world with an object that causes 3 pods, when they run.
func inWorld[T client.Object](t *testing.T, cause T, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, server: apiserver.New(operator.Scheme()), processes: map[string]*fake{}}
		w.cluster = cluster.New(cluster.Options{
			Server: w.server, Rand: rand.New(rand.NewPCG(1, 1)), Nodes: []string{"a", "b", "c"}, Startup: 3 * time.Second,
			Start: func(ctx context.Context, pod *corev1.Pod, files map[string][]byte) cluster.Process {
				p := &fake{ctx: ctx, files: files, exit: make(chan int32, 1)}
				w.mu.Lock()
				defer w.mu.Unlock()
				w.processes[pod.Annotations[batchv1.JobCompletionIndexAnnotation]] = p
				return p
			},
		})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		defer running.Wait()
		defer stop()
		running.Go(func() { w.cluster.Run(ctx) })
		replica, err := operator.Start(w.server, "operator", operator.Config(), controllers.Options{
			Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("connection refused") },
		}, logr.Discard())
		if err != nil {
			t.Fatal(err)
		}
		defer replica.Stop()
		if _, err := apiserver.Create(w.server, cause); err != nil {
			t.Fatal(err)
		}
		w.wait("running pods", func() bool {
			running := 0
			for _, p := range w.pods() {
				if p.Status.Phase == corev1.PodRunning {
					running++
				}
			}
			return running == 3
		})
		test(w)
	})
}

func job() *batchv1.Job {
	j := &batchv1.Job{Spec: batchv1.JobSpec{Completions: ptr.To[int32](3), Parallelism: ptr.To[int32](3)}}
	j.Namespace, j.Name = "tests", "job"
	j.Spec.Template.Spec.Containers = []corev1.Container{{Name: "runner"}}
	return j
}

func (w *world) wait(what string, holds func() bool) {
	w.Helper()
	for begin := time.Now(); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Since(begin) > 10*time.Minute {
			w.Fatalf("after %v: no %s: %v", time.Since(begin), what, w.pods())
		}
	}
}

func (w *world) pods() []*corev1.Pod { return apiserver.Objects[*corev1.Pod](w.server) }

func (w *world) job() batchv1.JobStatus {
	return apiserver.Find[*batchv1.Job](w.server, "tests", "job").Status
}

// TestLoadTest: the real operator makes a Job of a LoadTest, and the deletion of the LoadTest removes all that belongs to
// it. A process that ignores SIGTERM keeps its pod for its grace, and in the foreground the LoadTest, too.
func TestLoadTest(t *testing.T) {
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground} {
		t.Run(string(policy), func(t *testing.T) {
			inWorld(t, builder.Minimal("test").Namespace("tests").Shards(3).Build(), func(w *world) {
				for _, file := range []string{"/etc/h2surge/plan/plan.json.gz", "/etc/h2surge/tls/tls.key"} {
					if len(w.process("1").files[file]) == 0 {
						t.Errorf("no file %s in %d files", file, len(w.process("1").files))
					}
				}
				w.process("1").stuck.Store(true)
				lt, begin := apiserver.Find[*v1alpha1.LoadTest](w.server, "tests", "test"), time.Now()
				if err := w.server.Delete(lt, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
					t.Fatal(err)
				}
				w.wait("end of the LoadTest", func() bool {
					return apiserver.Find[*v1alpha1.LoadTest](w.server, "tests", "test") == nil
				})
				if waited := len(w.pods()) == 0; waited != (policy == metav1.DeletePropagationForeground) {
					t.Errorf("the LoadTest waited for its pods: %t", waited)
				}
				w.wait("end", func() bool {
					return !slices.ContainsFunc(apiserver.Objects[client.Object](w.server), func(o client.Object) bool {
						return o.GetNamespace() == "tests" && o.GetObjectKind().GroupVersionKind().Kind != "Event"
					})
				})
				if took := time.Since(begin); took < 30*time.Second || took > 35*time.Second {
					t.Errorf("the deletion took %v, and the grace is 30s", took)
				}
			})
		})
	}
}

// TestOwnerIsGone: an object that is created after its owner was deleted is deleted.
func TestOwnerIsGone(t *testing.T) {
	inWorld(t, job(), func(w *world) {
		late := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "tests", Name: "late", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "h2surge.io/v1alpha1", Kind: "LoadTest", Name: "test", UID: "deleted"}}}}
		if err := w.server.Delete(apiserver.Find[*batchv1.Job](w.server, "tests", "job"), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // until nothing else happens
		if _, err := apiserver.Create(w.server, late); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if apiserver.Find[*corev1.ConfigMap](w.server, "tests", "late") != nil {
			t.Error("the ConfigMap exists after a second")
		}
	})
}

// TestJob: a Job with fewer indices deletes pods, and creates them again with more. A Job that is suspended deletes all
// pods. Those that succeed after SIGTERM count.
func TestJob(t *testing.T) {
	inWorld(t, job(), func(w *world) {
		w.wait("ready pods", func() bool { s := w.job(); return s.Active == 3 && ptr.Deref(s.Ready, 0) == 3 })
		for _, n := range []int32{1, 3} {
			w.change(func(s *batchv1.JobSpec) { s.Completions, s.Parallelism = &n, &n })
			w.wait("change", func() bool { return len(w.pods()) == int(n) && ptr.Deref(w.job().Ready, 0) == n })
		}
		w.change(func(s *batchv1.JobSpec) { s.Suspend = ptr.To(true) })
		w.wait("end", func() bool { return len(w.pods()) == 0 && w.job().CompletedIndexes == "0-2" })
	})
}

// TestIndexAgain: an index that was completed and removed runs again when it is added, although its pod is still there.
func TestIndexAgain(t *testing.T) {
	inWorld(t, job(), func(w *world) {
		w.process("1").exit <- 0
		w.wait("completed index", func() bool { return w.job().CompletedIndexes == "1" })
		for _, n := range []int32{1, 3} {
			w.change(func(s *batchv1.JobSpec) { s.Completions, s.Parallelism = &n, &n })
			w.wait("change", func() bool { s := w.job(); return s.CompletedIndexes == "" && s.Active == n && *s.Ready == n })
		}
	})
}

func (w *world) change(f func(*batchv1.JobSpec)) {
	if err := apiserver.Change(w.server, "tests", "job", func(j *batchv1.Job) { f(&j.Spec) }); err != nil {
		w.Fatal(err)
	}
}

// TestEnds: the ways in which a pod ends, and what its status says.
func TestEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(*world, *corev1.Pod)
		want string // part of the pod's status
	}{
		"completed": {func(w *world, _ *corev1.Pod) { w.process("0").exit <- 0 }, "Phase:Succeeded"},
		"error":     {func(w *world, _ *corev1.Pod) { w.process("0").exit <- 3 }, "ExitCode:3"},
		"OOM":       {func(w *world, p *corev1.Pod) { w.cluster.OOM(p) }, "Reason:OOMKilled"},
		"evicted":   {func(w *world, p *corev1.Pod) { w.cluster.Evict(p) }, "Reason:Evicted"},
		"node is off": {func(w *world, p *corev1.Pod) {
			w.cluster.CutNode(p.Spec.NodeName, true)
			time.Sleep(time.Minute)
			w.cluster.HealNode(p.Spec.NodeName)
		}, "Reason:ContainerStatusUnknown"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, job(), func(w *world) {
				pod := w.pods()[0]
				tt.end(w, pod)
				w.wait("end", func() bool {
					now := apiserver.Find[*corev1.Pod](w.server, pod.Namespace, pod.Name)
					return now != nil && now.Status.Phase != corev1.PodRunning && strings.Contains(now.Status.String(), tt.want)
				})
				w.wait("status of the Job", func() bool {
					s := w.job()
					return s.Active == 2 && (s.CompletedIndexes == "0" || *s.FailedIndexes == "0")
				})
			})
		})
	}
}

// TestLostNode: the pod of a node that is cut is deleted after 5 minutes. Its process continues, until the node is back.
func TestLostNode(t *testing.T) {
	for name, remove := range map[string]bool{"cut": false, "removed": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, job(), func(w *world) {
				pod := w.pods()[0]
				w.cluster.CutNode(pod.Spec.NodeName, false)
				if remove {
					w.cluster.RemoveNode(pod.Spec.NodeName)
				}
				w.wait("deletion", func() bool {
					now := apiserver.Find[*corev1.Pod](w.server, pod.Namespace, pod.Name)
					return now == nil || !remove && now.DeletionTimestamp != nil
				})
				if w.process("0").ctx.Err() != nil {
					t.Error("the process ended")
				}
				w.cluster.HealNode(pod.Spec.NodeName)
				w.wait("end of the process", func() bool {
					return w.process("0").ctx.Err() != nil && apiserver.Find[*corev1.Pod](w.server, pod.Namespace, pod.Name) == nil
				})
			})
		})
	}
}
