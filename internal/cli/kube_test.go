package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestKube: the plugin gets the arguments as they are, and its error is that of h2surge.
func TestKube(t *testing.T) {
	var ran []string
	l := linked{
		findPlugin: func() (string, error) { return "/there/kubectl-h2surge", nil },
		become: func(path string, args []string) error {
			ran = append([]string{path}, args...)
			return Exit(3)
		},
	}
	for _, args := range [][]string{{}, {"list", "-A"}, {"rate", "pcf", "-10%"}, {"--help"}, {"run", "--", "-f"}} {
		code := execute(t.Context(), append([]string{"h2surge", "kube"}, args...), strings.NewReader(""), io.Discard, io.Discard, l)
		if want := append([]string{"/there/kubectl-h2surge", KubeCommand}, args...); code != 3 || !slices.Equal(ran, want) {
			t.Errorf("%v: exit code %d, ran %q", args, code, ran)
		}
	}
	l.findPlugin = func() (string, error) { return "", Failf("not here") }
	var errs strings.Builder
	if code := execute(t.Context(), []string{"h2surge", "kube", "list"}, nil, io.Discard, &errs, l); code != 5 || errs.String() != "not here\n" {
		t.Errorf("without a plugin: exit code %d, %q", code, errs.String())
	}
}

// TestFindPlugin: the program in the directory of h2surge comes before one in PATH. A link to h2surge itself is not the plugin.
func TestFindPlugin(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	next := filepath.Join(filepath.Dir(self), pluginName)
	t.Cleanup(func() { _ = os.Remove(next) })
	onPath := filepath.Join(t.TempDir(), pluginName)
	t.Setenv("PATH", filepath.Dir(onPath))
	for _, step := range []struct {
		do   func() error
		want string
	}{
		{func() error { return nil }, ""},
		{func() error { return os.WriteFile(onPath, []byte("#!/bin/sh\n"), 0o700) }, onPath},
		{func() error { return os.Symlink(self, next) }, onPath},
		{func() error { return errors.Join(os.Remove(next), os.WriteFile(next, []byte("#!/bin/sh\n"), 0o700)) }, next},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		got, err := findPlugin()
		if got != step.want || (err == nil) != (got != "") {
			t.Errorf("found %q, %v; want %q", got, err, step.want)
		}
	}
}

// TestKubeCompletion: the plugin completes its own commands.
func TestKubeCompletion(t *testing.T) {
	plugin := filepath.Join(t.TempDir(), pluginName)
	script := "#!/bin/sh\n[ \"$*\" = \"__complete scale -n core p\" ] || exit 1\nprintf 'pcf\\tRunning\\npcf-2\\n:4\\n'\n"
	if err := os.WriteFile(plugin, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	l := linked{findPlugin: func() (string, error) { return plugin, nil }}
	for args, want := range map[string]string{"scale,-n,core,p": "pcf\tRunning\npcf-2\n:4\n", "scale,": ":1\n"} {
		var out strings.Builder
		words := append([]string{"h2surge", "__complete", "kube"}, strings.Split(args, ",")...)
		if execute(t.Context(), words, nil, &out, io.Discard, l); out.String() != want {
			t.Errorf("%s: %q, want %q", args, out.String(), want)
		}
	}
}
