// Package notifier sends the notifications that the rules of a target cause, and counts them.
package notifier

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/h2surge/h2surge/internal/dueheap"
	"github.com/h2surge/h2surge/internal/mock/rules"
)

// Bounds of a Sender.
const (
	// MaxInFlight is the largest number of notifications that wait for their answers.
	MaxInFlight = 1000
	// MaxPending and maxBytes bound the notifications that are delayed, wait or are in flight.
	MaxPending = 1 << 20
	maxBytes   = 256 << 20
	// batch is how many notifications are started while Add has to wait.
	batch = 64
	// maxAnswer is how much of an answer is read, in bytes.
	maxAnswer = 64 << 10
)

// Count has the counts of the notifications of one entry of notify.
//
// Requested + SentTwice = Unsent + Invalid + Dropped + Pending + Answered + Refused + Failed, and
// Sent = Answered + Refused + Failed + those of Pending that wait for their answers.
type Count struct {
	rules.NotificationName
	// Requested notifications: those that a request causes, one for each document of forEach.
	Requested uint64 `json:"requested"`
	// SentTwice counts the second copies.
	SentTwice uint64 `json:"sentTwice"`
	// Unsent notifications: drawn for the share that is not sent.
	Unsent uint64 `json:"unsent"`
	// Invalid notifications have no valid URI, or their content is too large.
	Invalid uint64 `json:"invalid"`
	// Dropped notifications exceed a limit of the target.
	Dropped uint64 `json:"dropped"`
	// Pending notifications are delayed, wait or are in flight.
	Pending uint64 `json:"pending"`
	// Sent notifications: the target began to send them.
	Sent uint64 `json:"sent"`
	// Answered notifications got a status from 200 to 299, Refused ones another status, Failed ones no answer.
	Answered uint64 `json:"answered"`
	Refused  uint64 `json:"refused"`
	Failed   uint64 `json:"failed"`
	// LastError is why the latest notification was invalid, dropped, refused or failed.
	LastError string `json:"lastError,omitempty"`
}

// Sender sends notifications. Its methods may be called from any goroutine.
type Sender struct {
	client  *http.Client
	timeout time.Duration
	names   []rules.NotificationName
	begun   time.Time
	wake    chan struct{} // has an element if Run must look again

	// mu guards the fields below. It is never locked while a notification is sent.
	mu     sync.Mutex
	epoch  uint32 // raised by Reset: earlier notifications are not counted
	counts []Count
	queue  dueheap.Heap[*item] // by the time since begun
	bytes  int                 // of queued notifications and those in flight
	flying int
}

// item is a notification that has not been sent yet.
type item struct {
	rules.Notification
	epoch uint32 // of the counts, when the request arrived
}

// New returns a Sender of the notifications with these names. It sends HTTP/2: with prior knowledge to http URIs, over
// TLS to https URIs.
func New(names []rules.NotificationName, how rules.Sending) *Sender {
	return newSender(names, newTransport(how), how.Timeout)
}

func newSender(names []rules.NotificationName, transport http.RoundTripper, timeout time.Duration) *Sender {
	s := &Sender{names: names, timeout: timeout, begun: time.Now(), wake: make(chan struct{}, 1), client: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	s.Reset()
	return s
}

func newTransport(how rules.Sending) *http.Transport {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	protocols.SetHTTP2(true)
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: how.Roots, InsecureSkipVerify: how.InsecureSkipVerify}
	if how.Certificate != nil {
		config.Certificates = []tls.Certificate{*how.Certificate}
	}
	return &http.Transport{Protocols: &protocols, TLSClientConfig: config, DisableCompression: true,
		IdleConnTimeout: time.Minute}
}

// Add takes notifications of a request that arrived now. It does not wait for other notifications to be sent.
func (s *Sender) Add(list []rules.Notification, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range list { // a nanosecond apart, which keeps their order
		s.add(&list[i], now.Sub(s.begun)+time.Duration(i))
	}
	s.kick()
}

func (s *Sender) add(n *rules.Notification, since time.Duration) {
	count := &s.counts[n.Number]
	count.Requested++
	switch {
	case n.Problem != "":
		count.Invalid++
		count.LastError = n.Problem
		return
	case n.Copies == 0:
		count.Unsent++
		return
	case s.queue.Len()+s.flying >= MaxPending || s.bytes+n.Size() > maxBytes:
		count.Dropped++
		count.LastError = fmt.Sprintf("more than %d notifications or %d MiB are pending", MaxPending, maxBytes>>20)
		return
	}
	count.SentTwice += uint64(n.Copies - 1)
	count.Pending += uint64(n.Copies)
	s.bytes += n.Size()
	s.queue.Push(&item{Notification: *n, epoch: s.epoch}, int64(since+n.Delay))
}

func (s *Sender) kick() {
	select {
	case s.wake <- struct{}{}:
	default: // Run has not seen the last one yet
	}
}

// Run sends until ctx ends. Pending notifications are not sent then.
func (s *Sender) Run(ctx context.Context) {
	defer s.client.CloseIdleConnections()
	var sending sync.WaitGroup
	defer sending.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wait := s.begin(ctx, &sending)
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-s.wake:
		}
	}
}

// begin starts to send what is due, and returns how long the next notification has to wait.
func (s *Sender) begin(ctx context.Context, sending *sync.WaitGroup) (wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Since(s.begun)
	for started := 0; s.queue.Len() > 0 && s.flying < MaxInFlight; started++ {
		if started == batch {
			return 0
		}
		n, due := s.queue.First()
		if wait := time.Duration(due) - now; wait > 0 {
			return wait
		}
		s.queue.Pop()
		s.flying++
		sending.Go(func() { s.deliver(ctx, n) })
	}
	return time.Hour // the end of a notification, or the next one, wakes Run
}

// deliver sends all copies of a notification, one after another.
func (s *Sender) deliver(ctx context.Context, n *item) {
	for range n.Copies {
		s.count(n, func(c *Count) { c.Sent++ })
		status, err := s.send(ctx, &n.Notification)
		s.count(n, func(c *Count) { c.settle(status, err) })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flying--
	s.bytes -= n.Size()
	s.kick()
}

// count changes the counts of a notification, unless Reset was called since.
func (s *Sender) count(n *item, change func(*Count)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n.epoch == s.epoch {
		change(&s.counts[n.Number])
	}
}

func (c *Count) settle(status int, err error) {
	c.Pending--
	switch {
	case err != nil:
		c.Failed++
		c.LastError = err.Error()
	case status < 200 || status > 299:
		c.Refused++
		c.LastError = fmt.Sprintf("status %d", status)
	default:
		c.Answered++
	}
}

func (s *Sender) send(ctx context.Context, n *rules.Notification) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, n.Method, n.URI, bytes.NewReader(n.Body))
	if err != nil {
		return 0, err
	}
	for _, f := range n.Fields {
		req.Header.Add(f.Name, f.Value)
	}
	if req.Header.Get("user-agent") == "" {
		req.Header.Set("user-agent", "h2surge-target")
	}
	res, err := s.client.Do(req)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(res.Body, maxAnswer))
	_ = res.Body.Close() // read or abandoned
	return res.StatusCode, err
}

// Counts returns the counts since New or the last Reset, in the order of the names.
func (s *Sender) Counts() []Count {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Count{}, s.counts...)
}

// Reset sets the counts to zero. Notifications of earlier requests are sent, but not counted.
func (s *Sender) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch++
	s.counts = make([]Count, len(s.names))
	for i, name := range s.names {
		s.counts[i].NotificationName = name
	}
}
