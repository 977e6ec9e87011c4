package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Client speaks to one runner. Its methods may be called one at a time.
type Client interface {
	Update(context.Context, runnerv1alpha1.Update) error
	Start(context.Context, runnerv1alpha1.Start) error
	Stop(context.Context, runnerv1alpha1.Stop) error
	Teardown(context.Context, runnerv1alpha1.Teardown) error
	Ack(context.Context, runnerv1alpha1.Ack) error
	Snapshot(context.Context, Poll) (*runnerv1alpha1.Snapshot, error)
	// Close closes the connection.
	Close()
}

// Poll says what a request for a snapshot asks for.
type Poll struct {
	// Lease renews the lease of the runner; zero: it does not.
	Lease runnerv1alpha1.Lease
	// Observe is the value of runnerv1alpha1.QueryObserve; empty: the query does not have it.
	Observe string
	// Totals leaves out the response times of steps.
	Totals bool
	// Large is called before a snapshot of more than largeSnapshot bytes is read, and waits until there is memory for it;
	// nil: there is.
	Large func() error
}

func (p Poll) query() string {
	q := url.Values{}
	if p.Lease.Until != 0 {
		q.Set(runnerv1alpha1.QueryLeaseUntil, strconv.FormatInt(p.Lease.Until, 10))
		q.Set(runnerv1alpha1.QueryTerm, strconv.FormatInt(p.Lease.Term, 10))
	}
	if p.Observe != "" {
		q.Set(runnerv1alpha1.QueryObserve, p.Observe)
	}
	if p.Totals {
		q.Set(runnerv1alpha1.QueryDetail, runnerv1alpha1.DetailTotals)
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// Dial makes a client for the runner of a run at an address. It does not connect yet.
type Dial func(run types.UID, address string) Client

// ErrConflict says that the runner has accepted something else before (409).
var ErrConflict = errors.New("the runner accepted a different message")

func (c *httpClient) Update(ctx context.Context, m runnerv1alpha1.Update) error {
	return c.put(ctx, runnerv1alpha1.PathUpdate, m)
}

func (c *httpClient) Start(ctx context.Context, m runnerv1alpha1.Start) error {
	return c.put(ctx, runnerv1alpha1.PathStart, m)
}

func (c *httpClient) Stop(ctx context.Context, m runnerv1alpha1.Stop) error {
	return c.put(ctx, runnerv1alpha1.PathStop, m)
}

func (c *httpClient) Teardown(ctx context.Context, m runnerv1alpha1.Teardown) error {
	return c.put(ctx, runnerv1alpha1.PathTeardown, m)
}

func (c *httpClient) Ack(ctx context.Context, m runnerv1alpha1.Ack) error {
	return c.put(ctx, runnerv1alpha1.PathAck, m)
}

func (c *httpClient) Snapshot(ctx context.Context, p Poll) (*runnerv1alpha1.Snapshot, error) {
	out := &runnerv1alpha1.Snapshot{}
	return out, c.do(ctx, http.MethodGet, runnerv1alpha1.PathSnapshot+p.query(), nil, func(resp *http.Response) error {
		if resp.ContentLength > largeSnapshot && p.Large != nil {
			if err := p.Large(); err != nil {
				return err
			}
		}
		if err := read(resp, out); err != nil {
			return fmt.Errorf("reading a snapshot: %w", err)
		}
		return nil
	})
}

// largeSnapshot is the size in bytes from which on a snapshot waits. The final snapshot of a test with 16 steps has
// some 80 KB.
const largeSnapshot = 256 << 10

// read reads a snapshot. A runner of an earlier version sends JSON.
func read(resp *http.Response, into *runnerv1alpha1.Snapshot) error {
	if resp.ContentLength < 0 || resp.ContentLength > maxAnswer {
		return fmt.Errorf("it has %d bytes; allowed: at most %d", resp.ContentLength, maxAnswer)
	}
	if resp.Header.Get("Content-Type") == runnerv1alpha1.MediaTypeSnapshot {
		return into.ReadBinary(resp.Body, resp.ContentLength)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	return runnerv1alpha1.UnmarshalSnapshot(text, into)
}

// put sends a message.
func (c *httpClient) put(ctx context.Context, path string, message any) error {
	body, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encoding a message: %w", err)
	}
	return c.do(ctx, http.MethodPut, path, body, nil)
}

// refusal returns the error that an answer means; nil: none.
func refusal(resp *http.Response) error {
	if resp.StatusCode < http.StatusMultipleChoices {
		return nil
	}
	var said runnerv1alpha1.Error
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxRefusal)).Decode(&said); err != nil || said.Message == "" {
		said.Message = "no reason given"
	}
	if resp.StatusCode == http.StatusConflict {
		return fmt.Errorf("%w: %s", ErrConflict, said.Message)
	}
	return fmt.Errorf("the runner answered %s: %s", resp.Status, said.Message)
}
