package simulate

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/net/http2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/h2surge/h2surge/test/peer"
	"github.com/h2surge/h2surge/test/simulate/apiserver"
	"github.com/h2surge/h2surge/test/simulate/trial"
)

// action is what one of Actions does.
type action func(*World, trial.Event)

// ofSystem has what happens at the start.
var ofSystem = map[string]action{
	"operators": func(w *World, e trial.Event) {
		w.skew = time.Duration(e.Int("skew")) * time.Millisecond
		for i := range e.Int("replicas") {
			r := &replica{name: operatorName(i), ip: operatorIP(i)}
			w.start(r)
			w.faults.locked(func() { w.replicas = append(w.replicas, r) })
			w.ended.Go(func() { w.supervise(r) })
		}
	},
	"links": func(w *World, e trial.Event) {
		w.delay, w.loss = time.Duration(e.Int("delay"))*time.Millisecond, float64(e.Int("loss"))/1000
		w.net.Set(w.delay, w.delay/4, w.loss)
	},
	"slow": func(w *World, e trial.Event) {
		w.rules.keep("", e.Milliseconds())
		d := time.Duration(e.Int("delay")) * time.Millisecond
		w.net.Set(d, d/4, w.loss)
		time.AfterFunc(e.Milliseconds(), func() { w.net.Set(w.delay, w.delay/4, w.loss) })
	},
	"test":    (*World).create,
	"another": (*World).create,
}

// ofRunners has the faults of runners, nodes and their network.
var ofRunners = map[string]action{
	"kill":  runnerFault(func(w *World, p *process, _ trial.Event) { w.onPod(p, w.cluster.OOM) }),
	"evict": runnerFault(func(w *World, p *process, _ trial.Event) { w.onPod(p, w.cluster.Evict) }),
	"node": runnerFault(func(w *World, p *process, e trial.Event) {
		w.cutOperators(p, e, true, true)
		w.lose(p, e)
	}),
	"force": runnerFault(func(w *World, p *process, e trial.Event) {
		w.cutOperators(p, e, true, true)
		w.lose(p, e)
		w.onPod(p, func(pod *corev1.Pod) {
			_ = w.api.RemoveFinalizer(pod, batchv1.JobTrackingFinalizer)
			_ = w.api.Delete(pod, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
		})
	}),
	"freeze": runnerFault(func(w *World, p *process, e trial.Event) {
		w.rules.freeze(p.ip, e.Milliseconds())
		p.host.Freeze(e.Milliseconds())
		p.stopped.begin(e.Milliseconds())
	}),
	"hold": func(w *World, e trial.Event) {
		w.rules.spoil()
		w.cluster.Hold(e.Milliseconds())
	},
	"starting": func(w *World, e trial.Event) {
		w.rules.spoil()
		w.cluster.Slow(e.Milliseconds())
		time.AfterFunc(e.Milliseconds(), func() { w.cluster.Slow(startup) })
	},
	"cut":    runnerFault(func(w *World, p *process, e trial.Event) { w.cutOperators(p, e, true, true) }),
	"deafen": runnerFault(func(w *World, p *process, e trial.Event) { w.cutOperators(p, e, true, false) }),
	"mute":   runnerFault(func(w *World, p *process, e trial.Event) { w.cutOperators(p, e, false, true) }),
	"cutAll": func(w *World, e trial.Event) {
		w.rules.keep("", e.Milliseconds())
		for i := range w.replicas {
			ip := operatorIP(i)
			w.cut(ip, "", e)
			w.cut("", ip, e)
		}
	},
	"reset": runnerFault(func(w *World, p *process, _ trial.Event) {
		for i := range w.replicas {
			w.net.Reset(operatorIP(i), p.ip)
		}
	}),
	"cutTarget": runnerFault(func(w *World, p *process, e trial.Event) {
		for _, ip := range targetAddresses {
			w.cut(p.ip, ip, e)
			w.cut(ip, p.ip, e)
		}
	}),
}

// ofAPI has the faults of the API server and of operators.
var ofAPI = map[string]action{
	"refuse":     apiFault(func(f *faults, e trial.Event) { f.refuse += e.Int("times") }),
	"conflict":   apiFault(func(f *faults, e trial.Event) { f.conflict += e.Int("times") }),
	"loseAnswer": apiFault(func(f *faults, e trial.Event) { f.lose += e.Int("times") }),
	"slowWrite": apiFault(func(f *faults, e trial.Event) {
		f.slow, f.delay = f.slow+e.Int("times"), time.Duration(e.Int("delay"))*time.Millisecond
	}),
	"away": func(w *World, e trial.Event) {
		w.rules.disturb(e.Milliseconds())
		for i := range w.replicas {
			w.link(i, apiserver.Silent, e)
		}
	},
	"quota":     func(w *World, e trial.Event) { w.faults.kind(w.faults.full, e) },
	"admission": func(w *World, e trial.Event) { w.faults.kind(w.faults.denied, e) },
	"forbid":    func(w *World, e trial.Event) { w.faults.kind(w.faults.forbidden, e) },
	"slowWatch": operatorFault(func(w *World, i int, e trial.Event) {
		name := operatorName(i)
		w.rules.disturb(2 * e.Milliseconds()) // the last event comes that late
		w.faults.locked(func() { w.faults.watch[name] = e.Milliseconds() })
		time.AfterFunc(e.Milliseconds(), func() { w.faults.locked(func() { delete(w.faults.watch, name) }) })
	}),
	"endWatch": operatorFault(func(w *World, i int, _ trial.Event) {
		w.link(i, apiserver.Down, trial.Event{Args: map[string]int64{"ms": 1}})
	}),
	"gone": operatorFault(func(w *World, i int, _ trial.Event) {
		w.api.Forget()
		w.link(i, apiserver.Down, trial.Event{Args: map[string]int64{"ms": 1}})
	}),
	"killOperator": operatorFault(func(w *World, i int, _ trial.Event) {
		r := w.replicas[i]
		r.stopped.end()
		w.net.Host(r.ip).Close()
		go r.process.Load().Kill()
	}),
	"stopOperator": operatorFault(func(w *World, i int, _ trial.Event) {
		r := w.replicas[i]
		process := r.process.Load()
		go func() {
			r.stopped.wait()
			process.Stop()
		}()
	}),
	"freezeOperator": operatorFault(func(w *World, i int, e trial.Event) {
		r := w.replicas[i]
		r.process.Load().API.Freeze(e.Milliseconds())
		w.net.Host(r.ip).Freeze(e.Milliseconds())
		r.stopped.begin(e.Milliseconds())
	}),
	"step": operatorFault(func(w *World, i int, e trial.Event) {
		by := time.Duration(e.Int("seconds")) * time.Second
		if e.Int("back") == 1 {
			by = -by
		}
		c := &w.replicas[i].clock
		c.step(by)
		time.AfterFunc(e.Milliseconds(), func() { c.step(-by) })
	}),
	"cutOperator": operatorFault(func(w *World, i int, e trial.Event) { w.link(i, apiserver.Silent, e) }),
}

// ofTargets has the faults of targets.
var ofTargets = map[string]action{
	"late": targetFault(func(_ *World, e trial.Event) func(*peer.Request) peer.Reply {
		d := time.Duration(e.Int("delay")) * time.Millisecond
		return func(*peer.Request) peer.Reply { return peer.Reply{After: d, Status: 200} }
	}),
	"silent": targetFault(func(*World, trial.Event) func(*peer.Request) peer.Reply {
		return func(*peer.Request) peer.Reply { return peer.Reply{} }
	}),
	"errors": targetFault(func(w *World, e trial.Event) func(*peer.Request) peer.Reply {
		return w.some(e, peer.Reply{After: time.Millisecond, Status: 503})
	}),
	"resetStreams": targetFault(func(w *World, e trial.Event) func(*peer.Request) peer.Reply {
		return w.some(e, peer.Reply{After: time.Millisecond, Resets: true, Reset: http2.ErrCodeInternal})
	}),
	"goAway": func(w *World, e trial.Event) {
		w.rules.upset(e)
		w.targets[0].Each(func(p *peer.Peer) { p.GoAway() })
	},
	"close": func(w *World, e trial.Event) {
		w.rules.upset(e)
		for _, t := range w.targets {
			t.Each(func(p *peer.Peer) { p.Closed = true })
		}
	},
	"refuseConnections": func(w *World, e trial.Event) {
		w.rules.upset(e)
		for _, t := range w.targets {
			t.Refuse(true)
			time.AfterFunc(e.Milliseconds(), func() { t.Refuse(false) })
		}
	},
	"lie": func(w *World, e trial.Event) {
		w.rules.upset(e)
		for _, t := range w.targets {
			t.Each(func(p *peer.Peer) { p.Out.WriteString("this is neither a frame nor a status line\r\n\r\n") })
		}
	},
}

func operatorName(i int) string { return fmt.Sprint("operator-", i) }
func operatorIP(i int) string   { return fmt.Sprint(operatorNet, i+1) }

func runnerFault(f func(*World, *process, trial.Event)) action {
	return func(w *World, e trial.Event) {
		if p := w.runners.any(e.Int("runner")); p != nil {
			w.rules.keep(p.ip, lasting(e))
			f(w, p, e)
		}
	}
}

func operatorFault(f func(*World, int, trial.Event)) action {
	return func(w *World, e trial.Event) {
		i := w.operator(e.Int("operator"))
		w.rules.disturb(lasting(e))
		f(w, i, e)
	}
}

func apiFault(f func(*faults, trial.Event)) action {
	return func(w *World, e trial.Event) {
		w.rules.disturb(0)
		w.faults.locked(func() { f(&w.faults, e) })
	}
}

func targetFault(f func(*World, trial.Event) func(*peer.Request) peer.Reply) action {
	return func(w *World, e trial.Event) {
		w.rules.upset(e)
		serve := f(w, e)
		for _, t := range w.targets {
			t.Set(serve)
			time.AfterFunc(e.Milliseconds(), func() { t.Set(nil) })
		}
	}
}

// lasting is how long a fault lasts; 0: it has no duration.
func lasting(e trial.Event) time.Duration {
	return time.Duration(e.Args["ms"]) * time.Millisecond
}

// some answers a part of the requests in another way.
func (w *World) some(e trial.Event, other peer.Reply) func(*peer.Request) peer.Reply {
	r := w.Rand(e.String())
	return func(*peer.Request) peer.Reply {
		if r.IntN(1000) < e.Int("permille") {
			return other
		}
		return peer.Reply{After: 3 * time.Millisecond, Status: 200}
	}
}

// cut loses all segments of a way for the time of an event. The targets are out of it, if a runner is cut from all.
func (w *World) cut(from, to string, e trial.Event) {
	w.net.Cut(from, to)
	time.AfterFunc(e.Milliseconds(), func() { w.net.Heal(from, to) })
}

// operator is what the argument operator means: an odd number is that of a replica, and an even one is the replica that
// leads.
func (w *World) operator(n int) int {
	leads := slices.IndexFunc(w.replicas, func(r *replica) bool {
		process := r.process.Load()
		return process != nil && process.Leader.Leading()
	})
	if n%2 == 0 && leads >= 0 {
		return leads
	}
	return n / 2 % len(w.replicas)
}

// cutOperators cuts a runner off from one operator, if the argument from of the event is odd, or from all: what they
// send, what it sends, or both.
func (w *World) cutOperators(p *process, e trial.Event, there, back bool) {
	from := int(e.Args["from"])
	for i := range w.replicas {
		if from%2 == 1 && i != from/2 {
			continue
		}
		ip := operatorIP(i)
		if there {
			w.cut(ip, p.ip, e)
		}
		if back {
			w.cut(p.ip, ip, e)
		}
	}
}

// lose cuts the kubelet of a runner off.
func (w *World) lose(p *process, e trial.Event) {
	w.rules.unfence(p.ip)
	w.onPod(p, func(pod *corev1.Pod) {
		w.cluster.CutNode(pod.Spec.NodeName, false)
		time.AfterFunc(e.Milliseconds(), func() { w.cluster.HealNode(pod.Spec.NodeName) })
	})
}

// link changes the link of a replica to the API server for the time of an event.
func (w *World) link(i int, to apiserver.Link, e trial.Event) {
	process := w.replicas[i].process.Load()
	process.API.Set(to)
	time.AfterFunc(e.Milliseconds(), func() { process.API.Set(apiserver.Up) })
}

// kind adds a kind to a set for the time of an event.
func (f *faults) kind(of map[string]int, e trial.Event) {
	kind := Kinds[e.Int("kind")]
	f.w.rules.disturb(e.Milliseconds())
	f.locked(func() { of[kind]++ })
	time.AfterFunc(e.Milliseconds(), func() { f.locked(func() { of[kind]-- }) })
}

// disturb: the operators or the API server are kept from their work for a time.
func (l *rules) disturb(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.disturbed = later(l.disturbed, time.Now().Add(d))
}

// keep: a runner is kept from its work for a time; empty: all are.
func (l *rules) keep(ip string, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.senders[ip] = later(l.senders[ip], time.Now().Add(d))
}

// upset: the targets do not behave well for a time.
func (l *rules) upset(e trial.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calm = later(l.calm, time.Now().Add(lasting(e)))
}

// spoil: a user or a tenant changes what belongs to tests, or a controller of the cluster is late.
func (l *rules) spoil() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spoiled = time.Now()
}

// freeze: a runner is stopped for a time. What it was about to send follows.
func (l *rules) freeze(ip string, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frozen[ip] = later(l.frozen[ip], time.Now().Add(d+time.Second))
}

// unfence: the kubelet of a runner cannot end it.
func (l *rules) unfence(ip string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unfenced[ip] = true
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// onPod calls f with the pod of a runner if it exists.
func (w *World) onPod(p *process, f func(*corev1.Pod)) {
	if pod := apiserver.Find[*corev1.Pod](w.api, namespace, p.pod); pod != nil {
		f(pod)
	}
}
