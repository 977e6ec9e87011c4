package trial

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var flagDefects = flag.String("defects", "",
	"search for the former defects whose names match, each for at most -time (10m)")

// Defects checks that each patch of a folder, which puts a former defect back, fits today's code. With -defects, it
// runs new seeds with each patch until one fails that passes without it. test is the name of the test that calls Seeds.
func (s Simulation) Defects(t *testing.T, root, patches, test string) {
	files, err := filepath.Glob(filepath.Join(patches, "*.patch"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no patches in %s: %v", patches, err)
	}
	root, err = filepath.Abs(root)
	must(t, err)
	p := s.process(t)
	p.test = test
	rows := make([]string, len(files))
	t.Run("all", func(t *testing.T) {
		for i, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".patch")
			t.Run(name, func(t *testing.T) {
				d := applyPatch(t, root, file)
				if *flagDefects != "" && regexp.MustCompile(*flagDefects).MatchString(name) {
					t.Parallel()
					d.build(t)
					rows[i] = fmt.Sprintf("| %s | %s | %s |\n", name, d.what, p.find(d.binary))
					t.Log(rows[i])
				}
			})
		}
	})
	if *flagDefects != "" {
		t.Logf("FIGURE defects:\n| defect | what it was | found by |\n|---|---|---|\n%s", strings.Join(rows, ""))
	}
}

// defect is a patch with the files that it changes.
type defect struct {
	what    string // the first line of the patch
	dir     string
	replace map[string]string // the overlay: patched files by the original ones
	binary  string
}

var patched = regexp.MustCompile(`(?m)^\+\+\+ b/(\S+)$`)

// applyPatch applies a patch to copies of the files that it changes.
func applyPatch(t *testing.T, root, file string) defect {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	d := defect{dir: t.TempDir(), replace: map[string]string{}}
	d.what, _, _ = strings.Cut(string(text), "\n")
	for _, m := range patched.FindAllStringSubmatch(string(text), -1) {
		original, target := filepath.Join(root, m[1]), filepath.Join(d.dir, m[1])
		content, err := os.ReadFile(original)
		must(t, err)
		must(t, os.MkdirAll(filepath.Dir(target), 0o755))
		must(t, os.WriteFile(target, content, 0o644))
		d.replace[original] = target
	}
	git := exec.Command("git", "apply", "-")
	git.Dir, git.Stdin = d.dir, strings.NewReader(string(text))
	git.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(d.dir))
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("%s does not fit the code any more: write it again, so that the defect is back: %s", file, out)
	}
	return d
}

// build compiles the tests of the current folder with the patch.
func (d *defect) build(t *testing.T) {
	t.Helper()
	overlay, err := json.Marshal(map[string]any{"Replace": d.replace})
	must(t, err)
	list := filepath.Join(d.dir, "overlay.json")
	must(t, os.WriteFile(list, overlay, 0o644))
	d.binary = filepath.Join(d.dir, "simulate.test")
	if out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", list, "-o", d.binary,
		".").CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
}

// repeats returns how many of three repeats have the same result.
func (p process) repeats(seed uint64, events []Event, r Result) (same int) {
	for range 3 {
		if p.run(context.Background(), seed, events).same(r) {
			same++
		}
	}
	return same
}

// find runs seeds with the binary of a defect until one fails each time, and passes without the defect. It says after
// how much time of a core.
func (p process) find(binary string) string {
	with := p
	with.binary = binary
	within := cmp.Or(*flagTime, 10*time.Minute)
	var cpu, simulated time.Duration
	seed := uint64(0)
	for ; cpu < within; seed++ {
		events := p.Generate(seed)
		r := with.run(context.Background(), seed, events)
		cpu, simulated = cpu+r.CPU, simulated+r.Simulated
		if r.Outcome != Passed && with.repeats(seed, events, r) == 3 && p.repeats(seed, events, r) == 0 {
			return fmt.Sprintf("%s (seed %d, after %.0f s of a core)", r, seed, cpu.Seconds())
		}
	}
	return fmt.Sprintf("not found in %d seeds, %.1f simulated hours, %.0f s of a core", seed, simulated.Hours(),
		cpu.Seconds())
}
