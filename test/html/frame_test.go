//go:build html

package html

import (
	"bytes"
	"encoding/json"
	"fmt"
	stdhtml "html"
	"image"
	"image/draw"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/h2surge/h2surge/internal/report/compare"
	"github.com/h2surge/h2surge/internal/report/render"
)

// frames shows a page in frames of several widths, because no window of Chromium is as narrow as a phone, and writes what it finds
// there as JSON into the element "found". A text of a plot is cut if it is not within its plot, and two texts of a plot must not be
// on top of each other.
const frames = `<!doctype html><html><head><meta name="color-scheme" content="light dark"></head><body style="margin:0;display:flex">
<pre id="found" hidden></pre>
<script>
function inspect(view) {
  var doc = view.document, root = doc.documentElement;
  var found = { width: view.innerWidth, scrolls: root.scrollWidth, height: root.scrollHeight, outside: [], cut: [], overlap: [] };
  doc.querySelectorAll("body *").forEach(function (e) {
    if (!e.closest("svg *, .scroll *") && e.getBoundingClientRect().right > view.innerWidth + 0.5) { found.outside.push(e.outerHTML.slice(0, 120)); }
  });
  doc.querySelectorAll("#thresholds, #kinds").forEach(function (e) {
    if (e.scrollWidth > e.parentNode.clientWidth) { found.outside.push("#" + e.id + " is " + e.scrollWidth + " wide"); }
  });
  doc.querySelectorAll(".plot > svg").forEach(function (svg) {
    var box = svg.getBoundingClientRect(), texts = Array.from(svg.querySelectorAll("text"));
    var boxes = texts.map(function (t) { return t.getBoundingClientRect(); });
    texts.forEach(function (t, i) {
      var a = boxes[i], name = svg.parentNode.id + ": " + t.textContent;
      if (a.left < box.left - 0.5 || a.right > box.right + 0.5 || a.top < box.top - 0.5 || a.bottom > box.bottom + 0.5) { found.cut.push(name); }
      boxes.slice(i + 1).forEach(function (b, k) {
        var wide = Math.min(a.right, b.right) - Math.max(a.left, b.left), high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (wide > 1 && high > 2.5) { found.overlap.push(name + " / " + texts[i + 1 + k].textContent); }
      });
    });
  });
  return found;
}
var all = [];
WIDTHS.forEach(function (width) {
  var frame = document.createElement("iframe");
  frame.style = "border:0;flex:none;height:900px;width:" + width + "px";
  frame.onload = function () {
    frame.style.height = frame.contentDocument.documentElement.scrollHeight + "px";
    all.push(inspect(frame.contentWindow));
    document.getElementById("found").textContent = JSON.stringify(all);
  };
  frame.src = "/";
  document.body.append(frame);
});
</script></body></html>`

var widths = []int{390, 1200}

// found is what the frame writes.
type found struct {
	Width, Scrolls, Height int
	// Outside are elements that reach beyond the width, Cut are texts beyond their plot, and Overlap are pairs of texts.
	Outside, Cut, Overlap []string
}

var foundText = regexp.MustCompile(`<pre id="found"[^>]*>([^<]*)</pre>`)

// framed opens a page in frames and returns what it finds in each. It writes a picture of each to dist.
func framed(t *testing.T, browser, dist, name, suffix string, flags ...string) (out []found) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, filepath.Join(dist, name+".html")) })
	mux.HandleFunc("/frames", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, strings.Replace(frames, "WIDTHS", strings.Join(strings.Fields(fmt.Sprint(widths)), ","), 1))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	flags = append(flags, "--virtual-time-budget=3000")
	dom, log := visit(t, browser, server.URL+"/frames", append(flags, "--dump-dom")...)
	for _, line := range complaints(log) {
		if !strings.Contains(line, "favicon") {
			t.Errorf("the console has: %s", line)
		}
	}
	text := foundText.FindStringSubmatch(dom)
	if text == nil || json.Unmarshal([]byte(stdhtml.UnescapeString(text[1])), &out) != nil || len(out) != len(widths) {
		t.Fatalf("the frames have found nothing:\n%.2000s", dom)
	}
	slices.SortFunc(out, func(a, b found) int { return a.Width - b.Width })
	all := filepath.Join(t.TempDir(), "all.png")
	visit(t, browser, server.URL+"/frames", append(flags, fmt.Sprintf("--window-size=1600,%d", out[0].Height+200), "--screenshot="+all)...)
	left := 0
	for _, f := range out {
		crop(t, all, filepath.Join(dist, fmt.Sprintf("%s-%d%s.png", name, f.Width, suffix)), image.Rect(left, 0, left+f.Width, f.Height))
		left += f.Width
	}
	return out
}

// crop writes a part of a picture.
func crop(t *testing.T, from, to string, part image.Rectangle) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	picture := image.NewRGBA(image.Rectangle{Max: part.Size()})
	draw.Draw(picture, picture.Bounds(), whole, part.Min, draw.Src)
	var out bytes.Buffer
	if err := png.Encode(&out, picture); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// pages writes the pages to look at to dist, and returns the names of their files.
func pages(t *testing.T) (dist string, names []string) {
	t.Helper()
	_, dist = reportPage(t)
	r, err := canned()
	if err != nil {
		t.Fatal(err)
	}
	hard, err := canned()
	if err != nil {
		t.Fatal(err)
	}
	harden(hard)
	write := func(name string, err error, b *bytes.Buffer) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dist, name+".html"), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	var a, b, c, d bytes.Buffer
	write("report", render.HTML(&a, r), &a)
	write("hard", render.HTML(&b, hard), &b)
	write("running", render.LiveHTML(&c, hard, &render.Live{Phase: "Running", Detail: "stage hold"}), &c)
	of := compare.Reports(compare.Input{Source: "a.json", Report: r}, compare.Input{Source: "b.json", Report: hard}, compare.Options{})
	write("compare", render.CompareHTML(&d, of, r, hard), &d)
	return dist, names
}

// TestWidths: on a phone and on a desk, no page scrolls sideways, and no text of a plot is cut or on top of another one.
func TestWidths(t *testing.T) {
	browser := chromium(t)
	dist, names := pages(t)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			for i, got := range framed(t, browser, dist, name, "") {
				if got.Width != widths[i] || got.Scrolls > got.Width {
					t.Errorf("the page is %d wide in a window of %d, want %d", got.Scrolls, got.Width, widths[i])
				}
				for what, list := range map[string][]string{"outside of the window": got.Outside, "cut by the plot": got.Cut, "on top of each other": got.Overlap} {
					if len(list) > 0 {
						t.Errorf("at %d, %s:\n  %s", got.Width, what, strings.Join(list, "\n  "))
					}
				}
			}
		})
	}
	framed(t, browser, dist, "hard", "-dark", "--blink-settings=preferredColorScheme=0")
}
