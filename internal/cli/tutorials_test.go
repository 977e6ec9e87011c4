package cli

import (
	"fmt"
	"net"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/h2surge/h2surge/test/markdown"
)

// tutorialsWords is the most words of a tutorial.
const tutorialsWords = 1200

var (
	// local matches an address of this machine. Other programs may use its port.
	local = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	// timeLimit matches a limit on times, which a busy machine exceeds.
	timeLimit = regexp.MustCompile(`(percentile: p\d+, max: |--p99 )[0-9.]+m?s`)
	// late matches results of a run whose requests were sent late, because the machine was busy.
	late = regexp.MustCompile(`Generator +late|generator lagged|GeneratorBound|Inconclusive`)
)

// TestTutorials runs the blocks of each tutorial in their order, as printed but for ports, which are free ones, and limits on times, which are
// higher. What a command prints must be what the page prints, except for figures.
func TestTutorials(t *testing.T) {
	waits(t)
	files, err := filepath.Glob("../../docs/tutorials/*.md")
	if err != nil {
		t.Fatal(err)
	}
	least := map[string]int{
		"README.md": 0, "your-api.md": 10, "find-the-limit.md": 4, "nrf.md": 5, "pipeline.md": 8, "from-k6.md": 4,
		"on-a-cluster.md": 0, // make e2e runs it
	}
	if len(files) != len(least) {
		t.Errorf("%d pages, want %d", len(files), len(least))
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(strings.TrimSuffix(name, ".md"), func(t *testing.T) {
			waits(t)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(strings.Fields(string(text))); n > tutorialsWords {
				t.Errorf("%d words, want %d at most", n, tutorialsWords)
			}
			if least[name] > 0 {
				runTutorial(t, path.Join("docs/tutorials", name), string(text), least[name])
			}
		})
	}
}

// runTutorial runs a page in a folder with the project's config, and with h2surge in PATH.
func runTutorial(t *testing.T, file, text string, least int) {
	t.Helper()
	here := map[string]string{}
	text = local.ReplaceAllStringFunc(text, func(address string) string {
		if here[address] == "" {
			here[address] = free(t)
		}
		return here[address]
	})
	limit := "30s"
	if path.Base(file) == "find-the-limit.md" {
		limit = "300ms" // below 500ms: the time in the queue of a target that has too many requests
	}
	page, err := markdown.Parse(file, timeLimit.ReplaceAllString(text, "${1}"+limit))
	if err != nil {
		t.Fatal(err)
	}
	dir, programs := t.TempDir(), t.TempDir()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	config, err := filepath.Abs("../../config")
	if err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{filepath.Join(programs, "h2surge"): program, filepath.Join(dir, "config"): config} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	sh := markdown.NewShell(t, dir, asMain+"=1", "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"))
	sh.Busy = late.MatchString
	if n := sh.Page(page); n < least {
		t.Errorf("%s has %d commands that run, want at least %d", file, n, least)
	}
}

// addresses counts the addresses that free returned.
var addresses atomic.Int32

// free returns an address with a free port. On Linux, each has an IP address of its own, so that nothing else takes the port.
func free(t *testing.T) string {
	t.Helper()
	ip := "127.0.0.1"
	if runtime.GOOS == "linux" {
		n := os.Getpid()<<4 + int(addresses.Add(1))
		ip = fmt.Sprintf("127.%d.%d.%d", 64+n>>16&63, n>>8&255, n&255)
	}
	l, err := net.Listen("tcp", ip+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
