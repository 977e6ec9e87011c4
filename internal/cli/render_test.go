package cli

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/h2surge/h2surge/internal/cli/clitest"
)

const renderAt = "--at=2026-01-02T15:04:05Z"

func TestRender(t *testing.T) {
	for name, args := range map[string][]string{
		"all.txt":    {"all.yaml", "--count=3"},
		"shard.txt":  {"all.yaml", "--count=2", "--shard=1", "--step=create"},
		"curl.txt":   {"all.yaml", "--count=3", "-o=curl"},
		"step.json":  {"all.yaml", "--count=2", "--step=picture", "-o=json"},
		"shown.txt":  {"all.yaml", "--count=1", "--show-secrets"},
		"broken.txt": {"broken.yaml", "--count=1"},
	} {
		t.Run(name, func(t *testing.T) {
			args[0] = "testdata/render/" + args[0]
			got := h2surge(t, nil, nil, append([]string{"render", renderAt}, args...)...)
			wantCode := 0
			if name == "broken.txt" {
				wantCode = 1
			}
			if got.code != wantCode || got.errors != "" {
				t.Errorf("exit code %d: %s", got.code, got.errors)
			}
			clitest.Golden(t, "render/"+name, got.out)
			if secret := strings.Contains(got.out, "top-secret"); secret != (name == "shown.txt") {
				t.Errorf("secrets are shown: %v", secret)
			}
		})
	}
}

// TestRenderOfSamples: they all render, and twice the same.
func TestRenderOfSamples(t *testing.T) {
	for _, name := range samples(t) {
		first := h2surge(t, nil, nil, "render", name, renderAt, "-o", "json", "--count", "10")
		again := h2surge(t, nil, nil, "render", name, renderAt, "-o", "json", "--count", "10")
		if first.code != 0 || first.out != again.out {
			t.Errorf("%s: exit code %d, the same twice: %v; %s", name, first.code, first.out == again.out, first.errors)
		}
		var all []rendered
		if err := json.Unmarshal([]byte(first.out), &all); err != nil || len(all) < 10 {
			t.Errorf("%s: %d requests, %v", name, len(all), err)
		}
	}
}

func TestRenderMistakes(t *testing.T) {
	absent := file(t, "absent.yaml", strings.Replace(manifest, "path: /}", "path: /, bodyFrom: {configMapKeyRef: {name: c, key: k}}}", 1))
	hidden := file(t, "hidden.yaml", strings.Replace(manifest, "path: /}", "path: /, script: {luaFrom: {secretKeyRef: {name: c, key: k}}}}", 1))
	wrong := file(t, "wrong.yaml", strings.Replace(manifest, "path: /}", "path: \"/${x}\"}", 1))
	for _, tc := range []struct {
		name, want string
		args       []string
	}{
		{"no file", "-f FILE: the argument is missing\n", nil},
		{"no such file", "/does/not/exist: no such file or directory\n", []string{"/does/not/exist"}},
		{"a mistake", wrong + ":8: spec.templates[0].path: variable \"x\" is not defined\n", []string{wrong}},
		{"a ConfigMap that is not there", absent + ":8: spec.templates[0].bodyFrom.configMapKeyRef: there is no ConfigMap ...", []string{absent}},
		{"a script that is not there", hidden + ":8: spec.templates[0].script.luaFrom.secretKeyRef: there is no Secret ...", []string{hidden}},
		{"format", "-o: \"xml\" is not a format; allowed: text, json, curl\n", []string{"-", "-o", "xml"}},
		{"count", "--count: must be between 0 and 100000\n", []string{"-", "--count=-1"}},
		{"no such shard", "--shard: the test has 1 shards, numbered from 0\n", []string{"-", "--shard=1"}},
		{"negative shard", "--shard: must not be negative\n", []string{"-", "--shard=-1"}},
		{"no such step", "--step: \"got\" is not a step of the manifest; allowed: get\n", []string{"-", "--step", "got"}},
		{"no time", "--at: must be a time such as 2026-01-02T15:04:05Z\n", []string{"-", "--at", "noon"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := h2surge(t, nil, nil, append([]string{"render"}, tc.args...)...)
			if got.code != 1 || got.out != "" || !matches(got.errors, tc.want) {
				t.Errorf("exit code %d, output %q\n%swant\n%s", got.code, got.out, got.errors, tc.want)
			}
		})
	}
}

// TestCurlIsAShellCommand: a shell reads the words that were meant.
func TestCurlIsAShellCommand(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	body := "it's \"$HOME\" `x`\n\\ ${1}"
	out, err := exec.Command(sh, "-c", "printf %s "+quoted(body)).Output()
	if err != nil || string(out) != body {
		t.Errorf("%q, %v", out, err)
	}
}

// TestStandIns: what functions make of a stand-in is shown as that.
func TestStandIns(t *testing.T) {
	var s standIns
	n := s.of("secret a")
	if again := s.of("secret a"); again != n || s.of("secret b") == n {
		t.Errorf("%s, then %s", n, again)
	}
	for of, made := range map[string]string{
		"base64": base64.StdEncoding.EncodeToString([]byte(n)), "base64url": base64.RawURLEncoding.EncodeToString([]byte(n)),
	} {
		if got, want := s.show(made), "<"+of+" of secret a>"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := s.show("x" + strings.ToUpper(n) + "y"); got != "x<secret a>y" {
		t.Error(got)
	}
}

// FuzzRender: whatever the manifest, nothing panics and no secret is shown.
func FuzzRender(f *testing.F) {
	for _, name := range []string{"all", "broken"} {
		b, err := os.ReadFile("testdata/render/" + name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, manifest string) {
		if strings.Contains(manifest, "file") {
			return // of this machine
		}
		o := &renderOptions{source: source{files: []string{"-"}, stdin: strings.NewReader(manifest)}, shard: allShards, wall: 1}
		r, err := o.newRenderer()
		if err != nil {
			return
		}
		r.run(4)
		for i := range r.out {
			_ = r.out[i].text() + r.out[i].curl()
		}
	})
}
