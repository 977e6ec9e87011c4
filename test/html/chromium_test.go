//go:build html

package html

import (
	"bytes"
	"context"
	"image"
	_ "image/png" // what Chromium writes
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/h2surge/h2surge/internal/report/compare"
	"github.com/h2surge/h2surge/internal/report/render"
)

// chromium is the browser's command, or the test is skipped.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			return found
		}
	}
	t.Skip("SKIPPED: no chromium here, so nobody has looked at the HTML report: apt-get install chromium")
	return ""
}

// look opens the page in a browser of its own that has no network, and returns what goes to its
// standard output and its log.
func look(t *testing.T, browser, page string, flags ...string) (stdout, log string) {
	t.Helper()
	return open(t, browser, "file://"+page, append([]string{"--virtual-time-budget=3000", "--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9"}, flags...)...)
}

// open opens an address in a browser of its own.
func open(t *testing.T, browser, url string, flags ...string) (stdout, log string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser, append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
		"--enable-logging=stderr", "--user-data-dir=" + t.TempDir(),
	}, append(flags, url)...)...)
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errors.String())
	}
	return out.String(), errors.String()
}

// report writes the page to dist, where its pictures will be too.
func reportPage(t *testing.T) (page, dist string) {
	t.Helper()
	dist, err := filepath.Abs("../../dist/html")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dist, 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := canned()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := render.HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	page = filepath.Join(dist, "report.html")
	if err := os.WriteFile(page, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return page, dist
}

// complaints are what the browser has written to its console: errors of the script, and what the
// page's policy or the missing network kept from it.
func complaints(log string) (out []string) {
	for line := range strings.SplitSeq(log, "\n") {
		if strings.Contains(line, "CONSOLE") {
			out = append(out, line)
		}
	}
	return out
}

func TestChromium(t *testing.T) {
	browser := chromium(t)
	page, dist := reportPage(t)
	for _, tt := range []struct {
		name, size string
		flags      []string
	}{
		{"light", "1280,4200", nil},
		{"dark", "1280,4200", []string{"--blink-settings=preferredColorScheme=0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			picture := filepath.Join(dist, tt.name+".png")
			_, log := look(t, browser, page, append(tt.flags, "--window-size="+tt.size, "--screenshot="+picture)...)
			if found := complaints(log); len(found) > 0 {
				t.Errorf("the console says:\n%s", strings.Join(found, "\n"))
			}
			if n := colours(t, picture); n < 50 {
				t.Errorf("%s has %d colours: there is nothing to be seen", picture, n)
			}
		})
	}
}

// TestComparison looks at the page of a comparison, whose script has no table of windows.
func TestComparison(t *testing.T) {
	browser := chromium(t)
	r, err := canned()
	if err != nil {
		t.Fatal(err)
	}
	c := compare.Reports(compare.Input{Source: "a.json", Report: r}, compare.Input{Source: "b.json", Report: r}, compare.Options{})
	_, dist := reportPage(t)
	var b bytes.Buffer
	if err := render.CompareHTML(&b, c, r, r); err != nil {
		t.Fatal(err)
	}
	page, picture := filepath.Join(dist, "compare.html"), filepath.Join(dist, "compare.png")
	if err := os.WriteFile(page, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	_, log := look(t, browser, page, "--window-size=1280,2300", "--screenshot="+picture)
	if found := complaints(log); len(found) > 0 {
		t.Errorf("the console has:\n%s", strings.Join(found, "\n"))
	}
	if n := colours(t, picture); n < 50 {
		t.Errorf("%s has %d colours", picture, n)
	}
}

// colours of a picture: an empty page has one.
func colours(t *testing.T, name string) int {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	picture, _, err := image.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[[3]uint32]bool{}
	for y := picture.Bounds().Min.Y; y < picture.Bounds().Max.Y; y += 3 {
		for x := picture.Bounds().Min.X; x < picture.Bounds().Max.X; x += 3 {
			r, g, b, _ := picture.At(x, y).RGBA()
			seen[[3]uint32{r, g, b}] = true
		}
	}
	return len(seen)
}

// TestScriptRuns: the policy lets the page's own script in, and it has reached its end.
func TestScriptRuns(t *testing.T) {
	browser := chromium(t)
	page, _ := reportPage(t)
	dom, log := look(t, browser, page, "--dump-dom")
	if found := complaints(log); len(found) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(found, "\n"))
	}
	if n := strings.Count(dom, `class="cursor"`); n < 5 {
		t.Errorf("the script has prepared %d plots", n)
	}
	broken := filepath.Join(t.TempDir(), "broken.html")
	html, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	// What is smuggled in does not run, and would be noticed here.
	html = bytes.Replace(html, []byte("<main>"), []byte(`<main><script>document.title="smuggled"</script>`), 1)
	if err := os.WriteFile(broken, html, 0o600); err != nil {
		t.Fatal(err)
	}
	dom, log = look(t, browser, broken, "--dump-dom")
	if len(complaints(log)) == 0 || strings.Contains(dom, "<title>smuggled") {
		t.Error("a script that is not the page's own has run")
	}
}
