package simulate

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/peer"
	"github.com/h2surge/h2surge/test/simulate/trial"
)

// rules see each write of the API server and each request that a target gets. They know of a LoadTest what its objects
// say and what arrived, and nothing of how the product decides.
type rules struct {
	*trial.Run
	mu sync.Mutex // guards the fields below; it is taken last
	// tests are all LoadTests that ever existed, and byKey those that have a path of their own.
	tests map[types.UID]*history
	byKey map[string]*history
	// disturbed is when the operators or the API server were last kept from their work, calm when the last fault of any
	// kind ended; in the future while one lasts.
	disturbed, calm time.Time
	// senders are when a runner was last kept from its work, by the address of its pod. unfenced are those whose kubelet
	// was cut off.
	senders  map[string]time.Time
	unfenced map[string]bool
	// frozen is until when a runner may send what it was about to send when it was stopped (SIGSTOP), by address.
	frozen map[string]time.Time
	// spoiled is when a user or a tenant last changed what belongs to a test.
	spoiled time.Time
	// heard are the addresses of runners that sent a request to a target.
	heard map[string]bool
	// forged says of a ConfigMap that a tenant created it.
	forged map[string]bool
	// lates is when a runner was seen last that did not know a change.
	lates map[string]time.Time
	// runner returns the process of an address.
	runner func(ip string) *process
	// decided is called with a record and the one before it, which can be nil.
	decided func(h *history, was, is *run)
}

// history is what is known of one LoadTest.
type history struct {
	lt      *v1alpha1.LoadTest // as stored last
	key     string             // the first segment of its paths
	record  *run               // as stored last; nil: none
	deleted bool
	// edited is when a user changed the spec last, ordered when the orders to runners changed last. started and ended are
	// when status had the start and the end. They are times of the trial, as clocks can be wrong.
	edited, ordered, started, ended time.Time
	// lost is when the record had the loss of the runner of a pod.
	lost map[types.UID]time.Time
	// received are the requests of chains at rates that arrived at a target, by the value of the counter.
	received map[string]arrival
	// arrived counts them, by second of the trial.
	arrived map[int64]int64
	total   int64
	// counts are the stored counts, by pod. They are not those of the results if a checkpoint was damaged.
	counts  map[types.UID]stored
	damaged bool
	// own: the operator stored the report. A tenant can replace it later.
	own bool
	// stopped is when the record got the stop, reported when it got the present report.
	stopped, reported time.Time
}

// stored are the last two counts of a runner in checkpoints.
type stored struct {
	sent, before int64
	at           time.Time // of the last one
}

type arrival struct {
	from string // the runner's address
	at   time.Time
	late bool // the runner may have acted on what it knew before a fault
}

// run is what the rules know of a run record.
type run struct {
	State string `json:"state"`
	Start *struct {
		Time metav1.MicroTime `json:"time"`
		Job  types.UID        `json:"job"`
	} `json:"start"`
	Live struct {
		Generation int64 `json:"generation"`
		Suspended  bool  `json:"suspended"`
	} `json:"live"`
	Changes []change `json:"changes"`
	Shards  []shard  `json:"shards"`
	Report  string   `json:"report"`
	Stop    *struct {
		Reason string `json:"reason"`
	} `json:"stop"`
	End *struct {
		Reason string `json:"reason"`
	} `json:"end"`
}

type shard struct {
	Index int       `json:"index"`
	Pod   types.UID `json:"pod"`
	State string    `json:"state"`
	// Member: it had a share of the load.
	Member bool `json:"member"`
	Loss   *struct {
		Time    time.Time `json:"time"`
		Message string    `json:"message"`
	} `json:"loss"`
	Counts struct {
		Sequence uint64 `json:"sequence"`
	} `json:"counts"`
}

type change struct {
	Revision int64 `json:"revision"`
	At       int64 `json:"at"`
}

// order has the states of a run that started.
var order = []string{"Running", "Stopping", "Finishing", "Finished"}

func newRules(r *trial.Run) *rules {
	return &rules{Run: r, tests: map[types.UID]*history{}, byKey: map[string]*history{}, senders: map[string]time.Time{},
		unfenced: map[string]bool{}, lates: map[string]time.Time{}, forged: map[string]bool{},
		frozen: map[string]time.Time{}, heard: map[string]bool{}}
}

// wrote checks a write of the API server.
func (l *rules) wrote(before, after client.Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if after != nil {
		l.sized(after)
	}
	switch o := cmp.Or(after, before).(type) {
	case *v1alpha1.LoadTest:
		h := l.tests[o.UID]
		if h == nil {
			h = &history{lost: map[types.UID]time.Time{}, received: map[string]arrival{}, arrived: map[int64]int64{},
				counts: map[types.UID]stored{}}
			h.key, _, _ = strings.Cut(strings.TrimPrefix(o.Spec.Templates[0].Path, "/"), "/")
			l.tests[o.UID], l.byKey[h.key] = h, h
		}
		if after != nil && before != nil {
			l.status(h, &before.(*v1alpha1.LoadTest).Status, &o.Status)
			if o.Status.CompletionTime != nil && h.ended.IsZero() {
				h.ended = time.Now()
				l.judged(h, &o.Status)
			}
			h.edit(before.(*v1alpha1.LoadTest), o)
		}
		h.lt, h.deleted = o, after == nil
	case *statev1alpha1.LoadTestRun:
		l.stored(o, after == nil)
	case *corev1.ConfigMap:
		if after != nil {
			l.forged[o.Name] = o.Labels[forged] != ""
		}
		if owner := metav1.GetControllerOf(o); owner != nil && l.tests[owner.UID] != nil && !l.forged[o.Name] {
			h := l.tests[owner.UID]
			h.own = h.own || o.BinaryData[v1alpha1.KeyReport] != nil
		}
	case *statev1alpha1.LoadTestCheckpoint:
		if owner := metav1.GetControllerOf(o); after != nil && owner != nil && l.tests[owner.UID] != nil {
			l.tests[owner.UID].count(o)
		}
	}
}

// stored checks a run record.
func (l *rules) stored(o *statev1alpha1.LoadTestRun, deleted bool) {
	owner := metav1.GetControllerOf(o)
	if owner == nil || l.tests[owner.UID] == nil || o.Name != runName(l.tests[owner.UID].lt) {
		return // a tenant's
	}
	h := l.tests[owner.UID]
	next := &run{}
	if err := json.Unmarshal(o.Record.Raw, next); err != nil {
		l.Broken("record is readable", "%s: %v", o.Name, err)
	}
	if !deleted {
		if h.record != nil {
			l.forward(o.Name, h.record, next)
		}
		l.losses(h, next)
		l.decided(h, h.record, next)
		if h.stopped.IsZero() && next.Stop != nil {
			h.stopped = time.Now()
		}
		if h.record == nil || h.record.Report != next.Report {
			h.reported = time.Now()
		}
	}
	if was := h.record; was == nil || was.Start == nil || (was.Stop == nil) != (next.Stop == nil) ||
		(was.End == nil) != (next.End == nil) || len(was.Changes) != len(next.Changes) {
		h.ordered = time.Now()
	}
	if h.record = next; deleted {
		h.record = nil
	}
	if next.Start != nil && h.started.IsZero() {
		h.started = time.Now()
	}
	for _, s := range next.Shards {
		if s.Loss != nil && h.lost[s.Pod].IsZero() {
			h.lost[s.Pod] = time.Now()
		}
	}
}

// forward: a record only moves forward.
func (l *rules) forward(name string, was, is *run) {
	const rule = "record moves forward"
	switch {
	case was.Start != nil && (is.Start == nil || *is.Start != *was.Start):
		l.Broken(rule, "%s: start %+v became %+v", name, was.Start, is.Start)
	case was.State == "Finished":
		l.Broken(rule, "%s: changed after Finished", name)
	case slices.Index(order, is.State) < slices.Index(order, was.State):
		l.Broken(rule, "%s: state %s became %s", name, was.State, is.State)
	case was.Stop != nil && (is.Stop == nil || *is.Stop != *was.Stop):
		l.Broken(rule, "%s: stop %+v became %+v", name, was.Stop, is.Stop)
	case is.Live.Generation < was.Live.Generation:
		l.Broken(rule, "%s: generation %d became %d", name, was.Live.Generation, is.Live.Generation)
	}
	for i := 1; i < len(is.Changes) && is.Start != nil; i++ {
		if a, b := is.Changes[i-1], is.Changes[i]; b.Revision != a.Revision+1 || b.At < a.At {
			l.Broken(rule, "%s: change %+v after %+v", name, b, a)
		}
	}
	for i, now := range is.Shards {
		if slices.ContainsFunc(is.Shards[:i], func(s shard) bool { return s.Index == now.Index && s.Pod == now.Pod }) {
			l.Broken(rule, "%s: shard %d twice, of pod %s", name, now.Index, now.Pod)
		}
	}
	for _, old := range was.Shards {
		kept := false
		for _, now := range is.Shards {
			kept = kept || now.Index == old.Index && now.Pod == old.Pod && now.Counts.Sequence >= old.Counts.Sequence &&
				(old.State != "Done" || now.State == "Done")
		}
		if !kept {
			l.Broken(rule, "%s: shard %+v is not in %+v", name, old, is.Shards)
		}
	}
}

// status: what a user has seen stays true.
func (l *rules) status(h *history, was, is *v1alpha1.LoadTestStatus) {
	const rule = "status never goes back"
	switch {
	case was.StartTime != nil && !was.StartTime.Equal(is.StartTime):
		l.Broken(rule, "%s: startTime %v became %v", h.lt.Name, was.StartTime, is.StartTime)
	case was.CompletionTime != nil && !was.CompletionTime.Equal(is.CompletionTime):
		l.Broken(rule, "%s: completionTime %v became %v", h.lt.Name, was.CompletionTime, is.CompletionTime)
	case was.Results != nil && is.Results == nil:
		l.Broken(rule, "%s: results went away", h.lt.Name)
	case is.CompletionTime != nil && is.Results == nil && h.total > 0:
		l.Broken("counts are those of the target", "%s: no results, and %d requests arrived", h.lt.Name, h.total)
	case was.Results != nil && seen(is.Results) < seen(was.Results) && !is.Results.Partial:
		l.Broken(rule, "%s: %d requests became %d", h.lt.Name, seen(was.Results), seen(is.Results))
	}
	if is.Results != nil && h.key != scheduled {
		l.counts(h, is)
	}
	if was.CompletionTime == nil && is.CompletionTime != nil {
		l.ended(h, is)
	}
}

// seen is what the target has seen of the requests at rates, as the results say.
func seen(r *v1alpha1.Results) int64 { return r.Requests.Sent + r.WarmUpSent }

// counts: what the target counted is what the results say, or they name the difference.
func (l *rules) counts(h *history, is *v1alpha1.LoadTestStatus) {
	const rule = "counts are those of the target"
	q := &is.Results.Requests
	if parts := q.Done + q.TimedOut + q.Reset + q.ConnectionLost + q.InFlightAtEnd; q.Sent != parts {
		l.Broken("counts add up", "%s: sent %d, the outcomes are %d: %+v", h.lt.Name, q.Sent, parts, *q)
	}
	// A request without a response may not have arrived. How many of a warm-up have none is not known.
	if least := q.Sent - q.TimedOut - q.ConnectionLost - q.InFlightAtEnd - q.Reset; h.total < least {
		l.Broken(rule, "%s: at least %d requests arrived by the results, and %d did: %+v", h.lt.Name, least, h.total, *q)
	}
	for _, of := range is.Results.Listeners {
		if of.Received > h.total || of.InTime > of.Received {
			l.Broken(rule, "%s: %d requests caused %d notifications, %d of them in time", h.lt.Name, h.total, of.Received,
				of.InTime)
		}
	}
	if is.CompletionTime == nil || is.Results.Partial {
		return
	}
	// How many of a warm-up were sent again is not known.
	if most := seen(is.Results) + q.Retried + is.Results.WarmUpSent; h.total > most {
		l.Broken(rule, "%s: %d requests arrived, at most %d by the results, which are complete: %+v", h.lt.Name, h.total,
			most, *q)
	}
}

// count notes what a checkpoint says.
func (h *history) count(o *statev1alpha1.LoadTestCheckpoint) {
	z, err := gzip.NewReader(bytes.NewReader(o.Checkpoint.Snapshot))
	n := &runnerv1alpha1.Snapshot{}
	if err == nil {
		err = json.NewDecoder(z).Decode(n)
	}
	if err != nil {
		h.damaged = true
		return
	}
	is := h.counts[o.Checkpoint.Pod]
	if sent := n.Counters.Sent + n.Counters.WarmUpSent; sent > is.sent {
		h.counts[o.Checkpoint.Pod] = stored{sent, is.sent, time.Now()}
	}
}

// ended checks how a test ended. The results have all counts that were stored a second before the report.
func (l *rules) ended(h *history, is *v1alpha1.LoadTestStatus) {
	least := int64(0)
	for _, n := range h.counts {
		if h.reported.Sub(n.at) > time.Second {
			least += n.sent
		} else {
			least += n.before
		}
	}
	if is.Results != nil && !h.damaged && h.key != scheduled && seen(is.Results) < least {
		l.Broken("stored counts are in the results", "%s: %d requests, and %d are stored: %v", h.lt.Name, seen(is.Results),
			least, h.counts)
	}
	if is.Report != nil && l.forged[is.Report.ConfigMapRef.Name] && !h.own {
		l.Broken("the report is the operator's", "%s: %s", h.lt.Name, is.Report.ConfigMapRef.Name)
	}
	if c := meta.FindStatusCondition(is.Conditions, v1alpha1.ConditionSucceeded); c != nil &&
		c.Reason == v1alpha1.ReasonStalled && l.paths(l.calm) {
		l.Broken("a load stalls only if its target does", "%s: %s", h.lt.Name, c.Message)
	}
	// A runner that the kubelet terminates does not wait. If the test is stopped at that time, it is not lost.
	if is.Results != nil && is.Results.Requests.InFlightAtEnd > 0 && !is.Results.Partial && l.paths(l.spoiled) {
		l.Broken("the last responses are awaited", "%s: %+v", h.lt.Name, is.Results.Requests)
	}
}

// paths returns whether targets, runners and their network worked for a time.
func (l *rules) paths(others ...time.Time) bool {
	for _, kept := range l.senders {
		others = append(others, kept)
	}
	return !slices.ContainsFunc(others, func(t time.Time) bool { return time.Since(t) < settled })
}

// losses: a runner is lost only if something kept it, the operators or the API server from their work.
func (l *rules) losses(h *history, is *run) {
	if was := h.record; was != nil && len(is.lost()) > len(was.lost()) && l.paths(l.disturbed, l.spoiled) {
		s := is.lost()[len(is.lost())-1]
		l.Broken("a runner is lost only by a fault", "%s: shard %d: %s", h.lt.Name, s.Index, s.Loss.Message)
	}
}

// lost are the runners that were lost and had a share.
func (r *run) lost() []shard {
	return slices.DeleteFunc(slices.Clone(r.Shards), func(s shard) bool { return s.Loss == nil || !s.Member })
}

// loadEnd is when the load ends, if nothing changes.
func (h *history) loadEnd(r *run) time.Time {
	return r.Start.Time.Add(stages(h.lt))
}

// stages is how long the load of a test takes, without pauses.
func stages(lt *v1alpha1.LoadTest) (all time.Duration) {
	for i := range lt.Spec.Rates {
		if d := lt.Spec.Rates[i].Duration; d != nil {
			all += d.Duration
		}
	}
	return all
}

// scheduled is the key of the LoadTests of schedules, which have one path.
const scheduled = "scheduled"

// received checks a request of a runner. Its path is /KEY/VALUE, with the value of a counter, or /KEY/once.
func (l *rules) received(r *peer.Request, from string, sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard[from] = true
	key, value, _ := strings.Cut(strings.Trim(r.Fields[":path"], "/?"), "/")
	if key == scheduled {
		return
	}
	h := l.byKey[key]
	if h == nil {
		l.Broken("requests belong to a test", "path %s", r.Fields[":path"])
	}
	if value == "once" {
		return
	}
	h.total++
	now := time.Now()
	h.arrived[now.Unix()]++
	late := l.late(h, from)
	if before, twice := h.received[value]; twice && before.from != from && !late && !before.late {
		// One runner sends a request again that the target did not process.
		l.Broken("no slot is sent by two runners", "%s: slot %s arrived from %s at %v, and from %s now", h.lt.Name, value,
			before.from,
			before.at.Format(clock), from)
	}
	h.received[value] = arrival{from, now, late}
	l.allowed(h, from, sent)
}

// late returns whether a runner does not know a change that has taken effect.
func (l *rules) late(h *history, from string) bool {
	p := l.runner(from)
	if h.record == nil || p == nil {
		return true // its record was deleted
	}
	revision, since := p.position()
	if slices.ContainsFunc(h.record.Changes, func(c change) bool {
		return c.At != 0 && c.At <= int64(since) && c.Revision > revision
	}) {
		l.lates[from] = time.Now()
	}
	return time.Since(l.lates[from]) < travel // what arrives was sent before
}

// updated notes, before a runner gets an update, whether it comes too late.
func (l *rules) updated(p *process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range l.inOrder() {
		if h.record.Start.Job == p.job {
			l.late(h, p.ip)
		}
	}
}

// settled is how long a fault has effects after its end: another operator leads, and TCP sends again what was lost.
const settled = 45 * time.Second

// travel is how long an order is under way at most.
const travel = 6 * time.Second

// allowed: a runner sends nothing after the end of its test, and with a lease nothing after it was lost.
func (l *rules) allowed(h *history, from string, sent time.Time) {
	if sent.Before(l.frozen[from]) {
		return
	}
	leases, p := h.lt.Spec.Runner.LeaseDuration != nil, l.runner(from)
	if h.record != nil && (h.record.Start == nil || h.record.Start.Job != p.job) {
		l.Broken("a start is stored", "%s: a request from %s, and the record has the start %+v", h.lt.Name, from,
			h.record.Start)
	}
	if after := sent.Sub(h.ended); !h.ended.IsZero() && after > travel && (leases || !l.unfenced[from]) {
		l.Broken("nothing is sent after the end", "%s: a request from %s %v after the end", h.lt.Name, from, after)
	}
	if h.record == nil || !leases {
		return
	}
	for _, s := range h.record.Shards {
		if after := sent.Sub(h.lost[s.Pod]); s.Loss != nil && s.Pod == p.uid && after > 0 {
			l.Broken("a runner without a lease sends nothing", "%s: a request from %s %v after its loss", h.lt.Name, from,
				after)
		}
	}
}

// clock is how times of a trial are shown.
const clock = "15:04:05.000"

// runName is the name of the run record of a LoadTest.
func runName(lt *v1alpha1.LoadTest) string { return lt.Name + "-run-" + string(lt.UID)[:8] }
