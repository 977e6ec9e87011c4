package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
)

var pageURL = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+/`)

// pageAt returns the page at an address.
func pageAt(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url) //nolint:noctx // of this process
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close() //nolint:errcheck // it was only read
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", url, r.StatusCode, err)
	}
	return string(b)
}

// TestKubeUI: the page has the figures of status while the test runs, then the final report until an interrupt.
func TestKubeUI(t *testing.T) {
	same := func(*v1alpha1.LoadTest) {}
	f := &fakeCluster{
		t: t, ticks: make(chan time.Time), wishes: make(chan os.Signal, 1),
		objects: []client.Object{loadTest(), stored(t, passedVerdict())}, steps: []func(*v1alpha1.LoadTest){begins, same, same, ends},
	}
	errs, stderr := io.Pipe()
	done := make(chan int)
	go func() {
		done <- command.Execute(t.Context(), newRootCommand(f.kube()), []string{"ui", "pcf"}, strings.NewReader(""), io.Discard, stderr)
	}()
	lines := bufio.NewScanner(errs)
	lines.Scan()
	url := pageURL.FindString(lines.Text())
	f.ticks <- noon // the first look was shown
	page := pageAt(t, url)
	for _, want := range []string{"<main data-live>", "</span> Running <small>stage hold (1 of 1), 1m0s of 2m0s</small>", "60,000", `<h1>default/pcf</h1>`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	f.ticks <- noon
	lines.Scan()
	if !strings.Contains(lines.Text(), "the test has ended; its report stays at "+url) {
		t.Errorf("standard error: %s", lines.Text())
	}
	if page := pageAt(t, url); strings.Contains(page, "<main data-live>") || !strings.Contains(page, "all is well") {
		t.Errorf("final page:\n%s", page)
	}
	f.wishes <- os.Interrupt
	if code := <-done; code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestKubeUIErrors(t *testing.T) {
	f := &fakeCluster{t: t, objects: []client.Object{loadTest()}}
	if code, _, errs := f.kubectl("", "ui", "other"); code != 1 || !strings.Contains(errs, "not found") {
		t.Errorf("no such test: %d, %s", code, errs)
	}
	if code, _, errs := f.kubectl("", "ui", "pcf", "--address", "0.0.0.0:0"); code != 1 || !strings.Contains(errs, "--address: other machines can reach") {
		t.Errorf("an address of other machines: %d, %s", code, errs)
	}
}
