//go:build html

package html

import (
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/h2surge/h2surge/internal/livepage"
	"github.com/h2surge/h2surge/internal/report/render"
)

// begun is how many windows a test that runs has at first: the warm-up, which has no response times, and what follows.
const begun = 12

// liveServer serves a test that runs. At each request for the page it has lasted one window longer, and after so many windows
// the report is final, if it ends.
func liveServer(t *testing.T, windows int, ends bool) (server *livepage.Server, shown *atomic.Int64) {
	t.Helper()
	r, err := canned()
	if err != nil {
		t.Fatal(err)
	}
	if server, err = livepage.Listen("", false); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	shown = &atomic.Int64{}
	var next func() (livepage.View, error)
	next = func() (livepage.View, error) {
		n := int(shown.Add(1))
		so := *r
		so.Windows, so.EndTime = r.Windows[:begun+min(n, windows)], ""
		so.Requests.Sent = 0
		for i := range so.Windows {
			so.Requests.Sent += so.Windows[i].Sent
		}
		if n >= windows && ends {
			server.Finish(r)
		} else {
			server.Show(next)
		}
		return livepage.View{Report: &so, Live: &render.Live{Phase: "Running", Detail: "stage hold"}}, nil
	}
	server.Show(next)
	return server, shown
}

// visit opens an address of this machine; the browser reaches no other.
func visit(t *testing.T, browser, url string, flags ...string) (stdout, log string) {
	t.Helper()
	return open(t, browser, url, append([]string{"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "--proxy-server=127.0.0.1:9"}, flags...)...)
}

// TestLivePage: a page that is open while the test runs shows new figures without an error, and the final report at the end.
func TestLivePage(t *testing.T) {
	browser := chromium(t)
	_, dist := reportPage(t)
	server, shown := liveServer(t, 20, false)
	picture := filepath.Join(dist, "live.png")
	_, log := visit(t, browser, server.URL(), "--virtual-time-budget=5500", "--window-size=1280,4200", "--screenshot="+picture)
	if found := complaints(log); len(found) > 0 {
		t.Errorf("the console has:\n%s", strings.Join(found, "\n"))
	}
	if n := shown.Load(); n < 4 {
		t.Errorf("the page was read %d times", n)
	}
	if n := colours(t, picture); n < 50 {
		t.Errorf("%s has %d colours", picture, n)
	}

	server, shown = liveServer(t, 20, false)
	dom, log := visit(t, browser, server.URL(), "--virtual-time-budget=5500", "--dump-dom")
	if found := complaints(log); len(found) > 0 {
		t.Errorf("the console has:\n%s", strings.Join(found, "\n"))
	}
	rows := strings.Count(dom[strings.Index(dom, `<table id="windows">`):], "<tr data-from=")
	if rows < begun+4 || rows > begun+int(shown.Load()) || !strings.Contains(dom, "<main data-live") || !strings.Contains(dom, "</span> Running") {
		t.Errorf("%d windows of %d states", rows, shown.Load())
	}
	if n := strings.Count(dom, `class="cursor"`); n < 5 {
		t.Errorf("the script has prepared %d plots of the last state", n)
	}
}

// TestLivePageEnds: after the end, the page is the final report, and is not read again.
func TestLivePageEnds(t *testing.T) {
	browser := chromium(t)
	server, shown := liveServer(t, 3, true)
	dom, log := visit(t, browser, server.URL(), "--virtual-time-budget=15000", "--dump-dom")
	if found := complaints(log); len(found) > 0 {
		t.Errorf("the console has:\n%s", strings.Join(found, "\n"))
	}
	r, err := canned()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(dom, "<main data-live") || strings.Contains(dom, "</span> Running") || !strings.Contains(dom, string(r.Verdict.Outcome)) || shown.Load() != 3 {
		t.Errorf("after %d states the page is\n%.3000s", shown.Load(), dom)
	}
	if rows := strings.Count(dom, "<tr data-from="); rows != len(r.Windows) {
		t.Errorf("%d windows, want %d", rows, len(r.Windows))
	}
}

// TestLivePageIsLost: the page says that h2surge has ended without a final report.
func TestLivePageIsLost(t *testing.T) {
	browser := chromium(t)
	server, shown := liveServer(t, 20, false)
	view := func() (livepage.View, error) {
		shown.Add(1)
		go server.Close()
		r, err := canned()
		return livepage.View{Report: r, Live: &render.Live{Phase: "Running"}}, err
	}
	server.Show(view)
	dom, _ := visit(t, browser, server.URL(), "--virtual-time-budget=8000", "--dump-dom")
	if !strings.Contains(dom, `<p id="lost">`) {
		t.Errorf("the page does not say that h2surge is gone:\n%.3000s", dom)
	}
}
