package simulate

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/builder"
	"github.com/h2surge/h2surge/test/simulate/apiserver"
	"github.com/h2surge/h2surge/test/simulate/trial"
)

const (
	namespace = "default"
	// ttl is longer than the world waits for the end of runners.
	ttl = 10 * time.Minute
)

// ofUsers has what users and tenants do.
var ofUsers = map[string]action{
	"rate": edit(func(lt *v1alpha1.LoadTest, e trial.Event) {
		if r := &lt.Spec.Rates[0]; r.RequestsPerSecond != nil {
			r.RequestsPerSecond = ptr.To(int64(e.Int("rate")))
			if r.RampFrom != nil {
				r.RampFrom = ptr.To(int64(e.Int("ramp")))
			}
		}
	}),
	"suspend": edit(func(lt *v1alpha1.LoadTest, _ trial.Event) { lt.Spec.Suspend = !lt.Spec.Suspend }),
	"scale": edit(func(lt *v1alpha1.LoadTest, e trial.Event) {
		if lt.Spec.Rates[0].ClosedLoop != nil {
			return
		}
		lt.Spec.Runner.Shards = max(ptr.Deref(lt.Spec.Runner.MinShards, 1), int32(e.Int("shards")))
	}),
	"template": edit(func(lt *v1alpha1.LoadTest, _ trial.Event) {
		if lt.Status.StartTime == nil {
			lt.Spec.Templates[0].Path += "?"
		}
	}),
	"label": edit(func(lt *v1alpha1.LoadTest, _ trial.Event) {
		metav1.SetMetaDataLabel(&lt.ObjectMeta, "a", lt.ResourceVersion)
	}),
	"stop": edit(func(lt *v1alpha1.LoadTest, _ trial.Event) { lt.Spec.Stop = true }),
	"delete": func(w *World, e trial.Event) {
		if lt := w.test(e); lt != nil {
			_ = w.api.Delete(lt, metav1.DeleteOptions{})
		}
	},
	"replace": func(w *World, e trial.Event) {
		if lt := w.test(e); lt != nil {
			_ = w.api.Delete(lt, metav1.DeleteOptions{})
			next := lt.DeepCopy()
			next.ObjectMeta = metav1.ObjectMeta{Namespace: lt.Namespace, Name: lt.Name}
			next.Status = v1alpha1.LoadTestStatus{}
			w.identify(next)
			time.AfterFunc(10*time.Millisecond, func() { _, _ = apiserver.Create(w.api, next) })
		}
	},
	"forget": func(w *World, e trial.Event) {
		if lt := w.test(e); lt != nil {
			w.forgotten = append(w.forgotten, runName(lt))
		}
	},
	"deletePod": runnerFault(func(w *World, p *process, _ trial.Event) {
		w.onPod(p, func(pod *corev1.Pod) { _ = w.api.Delete(pod, metav1.DeleteOptions{}) })
	}),
	"deleteObject": func(w *World, e trial.Event) {
		if o := w.object(e); o != nil {
			w.rules.spoil()
			_ = w.api.Delete(o, metav1.DeleteOptions{})
		}
	},
	"forge": func(w *World, e trial.Event) {
		if lt := w.test(e); lt != nil {
			w.forge(lt, Kinds[e.Int("kind")], e.Int("owner") == 1)
		}
	},
	"replaceObject": func(w *World, e trial.Event) {
		if o := w.object(e); o != nil {
			_ = w.api.Delete(o, metav1.DeleteOptions{})
			if cm, ok := o.(*corev1.ConfigMap); ok {
				w.counterfeit(cm)
			} else {
				w.forge(w.test(e), Kinds[e.Int("kind")], false)
			}
		}
	},
	"damage": func(w *World, e trial.Event) {
		if all := apiserver.Objects[*statev1alpha1.LoadTestCheckpoint](w.api); len(all) > 0 {
			o := all[e.Int("runner")%len(all)]
			_ = apiserver.Change(w.api, o.Namespace, o.Name, func(o *statev1alpha1.LoadTestCheckpoint) {
				o.Checkpoint.Snapshot = []byte("damaged")
			})
		}
	},
	"deleteLock": func(w *World, _ trial.Event) {
		for _, o := range apiserver.Objects[*statev1alpha1.LoadTestLock](w.api) {
			_ = w.api.Delete(o, metav1.DeleteOptions{})
		}
	},
	"schedule": func(w *World, e trial.Event) {
		s := &v1alpha1.LoadTestSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "nightly"}}
		lt := builder.Minimal("scheduled").TargetURL("http://" + h2cAddress).Rates(builder.PerSecond("hold", 10,
			20*time.Second)).Build()
		lt.Spec.Templates[0].Path = "/scheduled/"
		s.Spec.Schedule, s.Spec.ConcurrencyPolicy = "* * * * *", []v1alpha1.ConcurrencyPolicy{"Allow", "Forbid",
			"Replace"}[e.Int("policy")]
		s.Spec.Template.Spec = lt.Spec
		_, _ = apiserver.Create(w.api, s)
	},
	"rows":   func(w *World, _ trial.Event) { w.content.grow() },
	"rotate": func(w *World, _ trial.Event) { w.content.rotate() },
	"unschedule": func(w *World, _ trial.Event) {
		for _, s := range apiserver.Objects[*v1alpha1.LoadTestSchedule](w.api) {
			_ = w.api.Delete(s, metav1.DeleteOptions{})
		}
	},
}

// edit returns an action that changes a LoadTest that is there.
func edit(f func(*v1alpha1.LoadTest, trial.Event)) action {
	return func(w *World, e trial.Event) {
		if lt := w.test(e); lt != nil {
			_ = apiserver.Change(w.api, lt.Namespace, lt.Name, func(o *v1alpha1.LoadTest) { f(o, e) })
		}
	}
}

// test returns the LoadTest of an event; nil: there is none.
func (w *World) test(e trial.Event) *v1alpha1.LoadTest {
	if len(w.tests) == 0 {
		return nil
	}
	return apiserver.Find[*v1alpha1.LoadTest](w.api, namespace, w.tests[e.Int("test")%len(w.tests)])
}

// object returns an object of the LoadTest of an event, of its kind; nil: there is none, or users may not delete it.
func (w *World) object(e trial.Event) client.Object {
	lt := w.test(e)
	if lt == nil || Kinds[e.Int("kind")] == "LoadTestRun" || Kinds[e.Int("kind")] == "LoadTestCheckpoint" {
		return nil
	}
	all := apiserver.Objects[client.Object](w.api)
	i := slices.IndexFunc(all, func(o client.Object) bool {
		return o.GetObjectKind().GroupVersionKind().Kind == Kinds[e.Int("kind")] && strings.HasPrefix(o.GetName(), lt.Name)
	})
	if i < 0 {
		return nil
	}
	return all[i]
}

// identify gives the requests of a LoadTest a path of their own.
func (w *World) identify(lt *v1alpha1.LoadTest) {
	w.incarnations++
	key := fmt.Sprint("/", w.incarnations, "/")
	lt.Spec.Variables = append([]v1alpha1.Variable{{Name: "n", Counter: &v1alpha1.Counter{}}},
		slices.DeleteFunc(lt.Spec.Variables, func(v v1alpha1.Variable) bool { return v.Name == "n" })...)
	for i := range lt.Spec.Templates {
		switch t := &lt.Spec.Templates[i]; t.Name {
		case "get":
			t.Path = key + "${n}"
		case "second":
			t.Path = key + "${n}/second"
		default:
			t.Path = key + "once"
		}
	}
}

// create creates a LoadTest of a shape.
func (w *World) create(e trial.Event) {
	name := fmt.Sprint("pcf-", len(w.tests)+1)
	address := []string{h2cAddress, http1Address}[e.Int("protocol")]
	seconds, rate := time.Duration(e.Int("seconds"))*time.Second, int64(e.Int("rate"))
	lt := builder.Minimal(name).TargetURL("http://" + address).Shards(int32(e.Int("shards"))).Connections(16).
		Rates(builder.PerSecond("hold", rate, seconds))
	lt.Edit(func(s *v1alpha1.LoadTestSpec) {
		hold := &s.Rates[0]
		switch e.Int("profile") {
		case 1:
			hold.RampFrom = ptr.To(rate / 3)
		case 2:
			hold.Arrivals, hold.BurstSize = v1alpha1.ArrivalsBurst, ptr.To[int64](5)
		case 3:
			s.Rates = append(s.Rates, builder.PerSecond("pause", 0, 4*time.Second), builder.PerSecond("again", rate,
				4*time.Second))
		case 4: // the API refuses it with Rebalance
			if e.Int("lost") < 2 {
				s.Rates = []v1alpha1.Rate{builder.ClosedLoop("loop", min(rate*int64(e.Int("seconds")), 5000))}
				s.Rates[0].ClosedLoop.Concurrency = ptr.To(2 * int64(s.Runner.Shards))
			}
		}
		s.Runner.OnShardLost = []v1alpha1.ShardLostAction{v1alpha1.ShardLostFail, v1alpha1.ShardLostContinue,
			v1alpha1.ShardLostRebalance}[e.Int("lost")]
		if s.Runner.OnShardLost == v1alpha1.ShardLostRebalance {
			s.Runner.LeaseDuration = &v1alpha1.Duration{Duration: time.Duration(e.Int("lease")) * time.Second}
		}
		if n := int32(e.Int("minShards")); n > 0 && s.Rates[0].ClosedLoop == nil {
			s.Runner.MinShards = ptr.To(min(n, s.Runner.Shards))
		}
		if n := e.Int("graceful"); n > 0 {
			s.GracefulStop = &v1alpha1.Duration{Duration: time.Duration(n) * time.Second}
		}
		if address == http1Address {
			s.Targets[0].Protocol = v1alpha1.ProtocolHTTP1
		}
		s.Thresholds = of(limits, e.Int("limit"))
		of(expiries, e.Int("ttl"))(s)
		of(features, e.Int("feature"))(s)
		if e.Int("extra")&1 != 0 {
			s.Lock = "core"
		}
		if e.Int("extra")&2 != 0 {
			s.Runner.PodTemplate = &runtime.RawExtension{Raw: []byte(
				`{"spec":{"containers":[{"name":"proxy","image":"proxy"}]}}`)}
		}
		if e.Int("extra")&4 != 0 {
			s.ActiveDeadlineSeconds = ptr.To[int64](300)
		}
	})
	if e.Int("once")&1 != 0 {
		lt.Once(v1alpha1.PhaseSetup, v1alpha1.Template{Name: "prepare"})
	}
	if e.Int("once")&2 != 0 {
		lt.Once(v1alpha1.PhaseTeardown, v1alpha1.Template{Name: "cleanup"})
	}
	o := lt.Build()
	w.identify(o)
	if _, err := apiserver.Create(w.api, o); err != nil {
		w.Log("%s is refused: %v", name, err)
	} else {
		w.tests = append(w.tests, name)
	}
}

// forged is the label of a tenant's objects.
const forged = "forged"

// forge creates a tenant's object with a name that a LoadTest needs. owned: it names the LoadTest as its owner. Tenants
// may not write the kinds of the operator.
func (w *World) forge(lt *v1alpha1.LoadTest, kind string, owned bool) {
	w.rules.spoil()
	meta := func(name string) metav1.ObjectMeta {
		m := metav1.ObjectMeta{Namespace: namespace, Name: lt.Name + name, Labels: map[string]string{forged: "true"}}
		if owned {
			m.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(lt, v1alpha1.GroupVersion.WithKind("LoadTest"))}
		}
		return m
	}
	switch kind {
	case "ConfigMap":
		_, _ = apiserver.Create(w.api, &corev1.ConfigMap{ObjectMeta: meta("-report"), Immutable: ptr.To(true),
			BinaryData: map[string][]byte{v1alpha1.KeyReport: zip([]byte("{}"))}})
	case "Secret":
		_, _ = apiserver.Create(w.api, &corev1.Secret{ObjectMeta: meta("-tls-" + string(lt.UID)[:8])})
	case "Job":
		o := &batchv1.Job{ObjectMeta: meta(fmt.Sprint("-", 1+w.r.IntN(2)))}
		o.Spec.Suspend = ptr.To(true)
		_, _ = apiserver.Create(w.api, o)
	case "PodDisruptionBudget":
		_, _ = apiserver.Create(w.api, &policyv1.PodDisruptionBudget{ObjectMeta: meta("")})
	}
}

// counterfeit creates another ConfigMap in the place of one. A plan then has other paths.
func (w *World) counterfeit(cm *corev1.ConfigMap) {
	w.rules.spoil()
	next := cm.DeepCopy()
	next.ObjectMeta = metav1.ObjectMeta{Namespace: cm.Namespace, Name: cm.Name, Labels: map[string]string{forged: "true"},
		OwnerReferences: cm.OwnerReferences}
	maps.Copy(next.Labels, cm.Labels)
	for key, data := range cm.BinaryData {
		next.BinaryData[key] = zip(bytes.ReplaceAll(unzip(data), []byte(`"/`), []byte(`"/forged/`)))
	}
	_, _ = apiserver.Create(w.api, next)
}

func zip(data []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(data) // to a buffer
	_ = z.Close()
	return out.Bytes()
}

// unzip returns nothing if data is not compressed.
func unzip(data []byte) (out []byte) {
	if z, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		out, _ = io.ReadAll(z)
	}
	return out
}
