package apiserver

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var errExpired = apierrors.NewResourceExpired("too old resource version")

// stream is the body of the answer to a watch. Read makes the events, so a stream has no goroutine.
type stream struct {
	*call
	client *Client
	match  func(*stored) bool
	ctx    context.Context
	cancel context.CancelFunc
	// ends is when the server ends the watch. over: it does after what is pending.
	ends <-chan time.Time
	over bool
	// next counts the writes of the kind from its first.
	next    int
	pending []byte
}

// watch begins a watch.
func (c *Client) watch(ctx context.Context, r *call) *http.Response {
	s, k := c.of, r.kind
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &stream{call: r, client: c, next: k.forgotten + len(k.log)}
	var err error
	if w.match, err = r.selector(); err != nil {
		return respond(nil, err)
	}
	version, _ := strconv.ParseInt(r.query.Get("resourceVersion"), 10, 64)
	initial := r.query.Get("sendInitialEvents") == "true"
	switch {
	case initial || version == 0:
		err = w.snapshot(initial)
	case version < k.floor:
		err = errExpired
	default:
		for w.next > k.forgotten && k.log[w.next-1-k.forgotten].version > version {
			w.next--
		}
	}
	if err != nil {
		return respond(nil, err)
	}
	if seconds, _ := strconv.Atoi(r.query.Get("timeoutSeconds")); seconds > 0 {
		w.ends = time.After(time.Duration(seconds) * time.Second)
	}
	w.ctx, w.cancel = context.WithCancel(ctx)
	return response(http.StatusOK, w)
}

// snapshot adds all objects, and the bookmark that ends them if the client wants it. The caller holds Server.mu.
func (w *stream) snapshot(bookmark bool) error {
	for _, o := range w.kind.sorted() {
		if w.match(o) {
			if err := w.add(watch.Added, o); err != nil {
				return err
			}
		}
	}
	if !bookmark {
		return nil
	}
	end := reflect.New(w.kind.of.Elem()).Interface().(client.Object)
	end.GetObjectKind().SetGroupVersionKind(w.kind.GroupVersionKind)
	end.SetResourceVersion(strconv.FormatInt(w.client.of.version, 10))
	end.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	return w.add(watch.Bookmark, &stored{Object: end})
}

// add appends an event. The caller holds Server.mu.
func (w *stream) add(kind watch.EventType, o *stored) error {
	raw, err := o.encode(w.metadata)
	if err != nil {
		return err
	}
	return w.line(kind, raw)
}

func (w *stream) line(kind watch.EventType, raw []byte) error {
	line, err := json.Marshal(metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: raw}})
	w.pending = append(append(w.pending, line...), '\n')
	return err
}

// Read implements io.Reader. It waits for an event if none is pending. The end of the request's context ends the stream
// as the end of the watch does.
func (w *stream) Read(p []byte) (int, error) {
	for {
		err := w.client.pass(w.ctx, true)
		switch {
		case w.ctx.Err() != nil:
			return 0, io.EOF
		case err != nil:
			return 0, err
		case len(w.pending) > 0:
			n := copy(p, w.pending)
			w.pending = w.pending[n:]
			return n, nil
		case w.over:
			return 0, io.EOF
		}
		if err := w.wait(); err != nil {
			return 0, err
		}
	}
}

// Close implements io.Closer.
func (w *stream) Close() error {
	w.cancel()
	return nil
}

// wait adds the next event that matches, or waits until Read must look again.
func (w *stream) wait() error {
	_, link, _ := w.client.state()
	kind, o, changed := w.take()
	if kind != "" {
		return w.deliver(kind, o)
	}
	select {
	case <-changed:
	case <-link:
	case <-w.ends:
		w.over = true
	case <-w.ctx.Done():
	}
	return nil
}

// take returns the next event that matches; kind empty: there is none, and changed is closed at the next write.
func (w *stream) take() (kind watch.EventType, o *stored, changed <-chan struct{}) {
	k := w.kind
	w.client.of.mu.Lock()
	defer w.client.of.mu.Unlock()
	if w.next < k.forgotten {
		return watch.Error, nil, nil
	}
	for w.next < k.forgotten+len(k.log) {
		e := k.log[w.next-k.forgotten]
		w.next++
		switch was, is := w.match(e.before), w.match(e.after); {
		case was && is:
			return watch.Modified, e.after, nil
		case is:
			return watch.Added, e.after, nil
		case was && e.after == nil:
			return watch.Deleted, e.before, nil
		case was: // it no longer matches
			return watch.Deleted, e.after, nil
		}
	}
	return "", nil, k.changed
}

// deliver adds an event, or an error that ends the watch.
func (w *stream) deliver(kind watch.EventType, o *stored) error {
	s, f := w.client.of, Fault{Err: errExpired}
	if kind != watch.Error {
		f = s.fault(Request{Client: w.client.name, Verb: "event", Kind: w.Kind, Namespace: o.GetNamespace(),
			Name:   o.GetName(),
			Object: o.Object})
	}
	if sleep(w.ctx, f.Delay); f.Err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		return w.add(kind, o)
	}
	if !isStatus(f.Err) {
		return f.Err
	}
	w.over = true
	raw, err := json.Marshal(statusOf(f.Err))
	if err != nil {
		return err
	}
	return w.line(watch.Error, raw)
}

// NewInformer is for cache.Options. The watches of its informers leave no goroutine behind: watch.Filter, which
// controller-runtime uses, sends a last event that is not received.
func NewInformer(of cache.ListerWatcher, example runtime.Object, resync time.Duration,
	indexers cache.Indexers) cache.SharedIndexInformer {
	if lw, ok := of.(*cache.ListWatch); ok {
		begin := lw.WatchFuncWithContext
		lw.WatchFuncWithContext = func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			w, err := begin(ctx, opts)
			if err != nil {
				return nil, err
			}
			return drained{w}, nil
		}
	}
	return cache.NewSharedIndexInformer(of, example, resync, indexers)
}

type drained struct{ watch.Interface }

func (d drained) Stop() {
	d.Interface.Stop()
	go func() {
		for range d.ResultChan() { // until it is closed
		}
	}()
}
