package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/mock"
	"github.com/h2surge/h2surge/internal/mock/rules"
	"github.com/h2surge/h2surge/test/certtest"
	"github.com/h2surge/h2surge/test/markdown"
)

// TestSamplesWithCallbacks runs each sample that awaits notifications against the rules that send them, with less load. Report and
// target count the same requests, and each notification that the target has sent is received in time.
func TestSamplesWithCallbacks(t *testing.T) {
	waits(t)
	for sample, s := range map[string]struct {
		rules string
		urls  []string // of targets, before the address
	}{
		"nrf-registration":       {"nrf", []string{""}},
		"amf-event-subscription": {"amf", []string{""}},
		"smf-pdu-session":        {"smf", []string{"smf=", "nrf="}},
		"pcf-events":             {"pcf", []string{""}},
		"udm-data-change":        {"udm", []string{"udm=", "udr="}},
	} {
		t.Run(sample, func(t *testing.T) {
			waits(t)
			const dir = "../../config/samples"
			set, err := rules.LoadFile(filepath.Join(dir, "targets", s.rules+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(dir, sample+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			peer := serve(t, mock.Options{Rules: set, Seed: 1})
			var args []string
			for _, name := range s.urls {
				args = append(args, "--target-url", name+"http://"+peer.Addr().String())
			}
			r := runLess(t, markdown.Block{File: sample, Text: string(text)}, nil, "", args...)
			checkNotified(t, r, peer.Stats())
			for i := range r.Listeners {
				l := &r.Listeners[i]
				if l.Awaited == 0 {
					t.Errorf("no notification of listener %s was awaited", l.Name)
				}
				if n := l.ByRule["n1-n2-transfer"]; l.Name == "amf" && n != l.Received {
					t.Errorf("a rule answered %d of %d notifications of the AMF", n, l.Received)
				}
			}
		})
	}
}

// checkNotified compares the counts of a run without failures with those of its target.
func checkNotified(t *testing.T, r *rv.Report, st mock.Stats) {
	t.Helper()
	if got, want := st.Requests, uint64(r.WarmUp.Sent+r.Requests.Sent+r.Graceful.Sent); got != want || st.Unmatched != 0 {
		t.Errorf("the target counted %d requests, %d of them without a rule; the report has %d", got, st.Unmatched, want)
	}
	var sent uint64
	for _, c := range st.Notifications {
		sent += c.Sent
		if c.Answered != c.Requested || c.Sent != c.Requested {
			t.Errorf("the target counted %+v", c)
		}
	}
	n := int64(sent)
	want := rv.ListenerCounts{Received: n, InTime: n, Awaited: n}
	got := r.Listeners[0].ListenerCounts
	for i := range r.Listeners[1:] {
		got.Add(&r.Listeners[1+i].ListenerCounts, 1)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(want, "Measured", "ByRule")); diff != "" {
		t.Errorf("the report (-want +got):\n%s", diff)
	}
}

// TestCallbacksOverTLS runs the page's test with https listeners. The certificates of the client and of its authority are the same.
func TestCallbacksOverTLS(t *testing.T) {
	waits(t)
	dir := t.TempDir()
	certtest.Self(t, "target").Write(t, dir)
	for name, c := range map[string]struct{ tls, callbacks string }{
		"signed by the runner": {"{}", "{insecureSkipVerify: true}"},
		"client certificate":   {"{clientCAFrom: {file: " + dir + "/tls.crt}}", "{insecureSkipVerify: true, certFile: tls.crt, keyFile: tls.key}"},
	} {
		t.Run(name, func(t *testing.T) {
			waits(t)
			page := pageOf(t, "docs/how-to/callbacks.md")
			set, err := rules.Load([]byte("callbacks: "+c.callbacks+"\n"+blockOf(t, page, "Target").Text), dir)
			if err != nil {
				t.Fatal(err)
			}
			test := blockOf(t, page, "LoadTest")
			const listener = "{name: events, retention: 2s}"
			if !strings.Contains(test.Text, listener) {
				t.Fatalf("the page has no listener %s", listener)
			}
			test.Text = strings.Replace(test.Text, listener, "{name: events, tls: "+c.tls+"}", 1)
			runDocsCallbacks(t, test, set)
		})
	}
}

func pageOf(t *testing.T, file string) *markdown.Page {
	t.Helper()
	for _, p := range pagesOfDocs(t) {
		if p.File == file {
			return p
		}
	}
	t.Fatalf("%s does not exist", file)
	return nil
}

// blockOf returns the first manifest of a kind.
func blockOf(t *testing.T, p *markdown.Page, kind string) markdown.Block {
	t.Helper()
	for _, b := range p.Blocks {
		if b.Language == "yaml" && strings.Contains(b.Text, "\nkind: "+kind+"\n") {
			return b
		}
	}
	t.Fatalf("%s has no %s", p.File, kind)
	return markdown.Block{}
}

// rulesOf returns the rules of a page.
func rulesOf(t *testing.T, p *markdown.Page) *rules.Set {
	t.Helper()
	b := blockOf(t, p, "Target")
	set, err := rules.Load([]byte(b.Text), t.TempDir())
	if err != nil {
		t.Fatalf("%s:%d: %v", b.File, b.Line, err)
	}
	return set
}

// runDocsCallbacks runs it against the rules of its page, which leave out some notifications and send some twice.
func runDocsCallbacks(t *testing.T, b markdown.Block, set *rules.Set) {
	peer := serve(t, mock.Options{Rules: set, Seed: 1})
	r := runLess(t, b, nil, "", "--target-url", "http://"+peer.Addr().String())
	c, l := peer.Stats().Notifications[0], r.Listeners[0].ListenerCounts
	sent := int64(c.Sent)
	want := rv.ListenerCounts{
		Received: sent, InTime: int64(c.Requested - c.Unsent), Duplicate: int64(c.SentTwice),
		Awaited: int64(c.Requested), Missing: int64(c.Unsent),
	}
	if diff := cmp.Diff(want, l, cmpopts.IgnoreFields(want, "Measured")); diff != "" || c.Answered != c.Sent || sent == 0 {
		t.Errorf("the target counted %+v; the report (-want +got):\n%s", c, diff)
	}
}
