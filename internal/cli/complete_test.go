package cli

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/internal/cli/clitest"
)

// completed returns the values that shell completion offers for the last word of a command line, without their descriptions, and the
// directive for the shell.
func completed(t *testing.T, words ...string) string {
	t.Helper()
	var out strings.Builder
	execute(t.Context(), append([]string{"h2surge", "__complete"}, words...), strings.NewReader(firstManifest), &out, io.Discard, linked{})
	var values []string
	for line := range strings.Lines(out.String()) {
		value, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		values = append(values, value)
	}
	return strings.Join(values, " ")
}

// The directives: 4 is "no file names", 6 is "no file names, and no blank after the value".
func TestCompletionOfValues(t *testing.T) {
	t.Chdir(t.TempDir())
	const setup = "  chains:\n    - {name: before, target: web, phase: Setup, steps: [{name: ask, request: {}}]}\n    - {name: more, target: web, steps: [{template: read, name: again}]}\n"
	for name, content := range map[string]string{
		"first.yaml": strings.Replace(strings.Replace(firstManifest, "  chains:\n", setup, 1), "path: ${user}", "path: /", 1),
		"wrong.yaml": strings.Replace(firstManifest, "  rates:", "  stages:", 1),
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for line, want := range map[string]string{
		"run --idle-strategy _":                             "Auto Spin Sleep :4",
		"run --connection-choice _":                         "Spread Batch :4",
		"search --load _":                                   "RequestsPerSecond Concurrency :4",
		"explain _":                                         "kind apiVersion metadata spec status LoadTest LoadTestSchedule Target :6",
		"explain Load":                                      "LoadTest LoadTestSchedule :6",
		"explain LoadTestSchedule.spec.sch":                 "LoadTestSchedule.spec.schedule :6",
		"explain Target.rules[2].match.p":                   "Target.rules[2].match.path :6",
		"schema L":                                          "LoadTest LoadTestSchedule :4",
		"schema LoadTest _":                                 ":4",
		"explain spec.te":                                   "spec.templates :6",
		"explain spec.targets.tl":                           "spec.targets.tls :6",
		"explain loadtest.spec.targets[0].url":              "loadtest.spec.targets[0].url loadtest.spec.targets[0].urls :6",
		"explain spec.nothing.a":                            ":6",
		"explain spec _":                                    ":4",
		"try -f first.yaml --chain _":                       "more users :4",
		"try first.yaml --chain u":                          "users :4",
		"try --chain _":                                     ":4",
		"try -f - --chain _":                                ":4",
		"try -f none.yaml --chain _":                        ":4",
		"try -f wrong.yaml --chain _":                       ":4",
		"try -f first.yaml --target-url _":                  "web= :6",
		"try -f first.yaml --target-url a=b --target-url _": "web= :6",
		"run first.yaml --target-url _":                     "web= :6",
		"run http://127.0.0.1:1/ --target-url _":            ":6",
		"search -f first.yaml --target-url w":               "web= :6",
	} {
		if diff := cmp.Diff(want, completed(t, strings.Split(strings.ReplaceAll(line, "_", ""), " ")...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

func TestCompletionOfOutput(t *testing.T) {
	clitest.Outputs(t, func() *cobra.Command { return newRootCommand(parts()) })
}
