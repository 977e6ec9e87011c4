package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

const (
	pluginName = "kubectl-h2surge"
	// KubeCommand is the first argument of the plugin if h2surge starts it: help and messages then name this command.
	KubeCommand = "h2surge kube"
)

const kubeLong = `Run load tests in a cluster that has the operator, follow them, change them while they
run, and get their reports.

The commands are those of the kubectl plugin, which is a program of its own:
"h2surge kube list" runs "kubectl-h2surge list". h2surge looks for that program in its
own directory, then in the directories of PATH.`

// newKubeCommand runs the plugin of kubectl with the same arguments. The plugin has the client of the API server, which would make each
// start of h2surge slower.
func newKubeCommand(l linked) *cobra.Command {
	return &cobra.Command{
		Use:                "kube COMMAND",
		Short:              "Run and watch load tests in a cluster",
		Long:               kubeLong,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := l.findPlugin()
			if err != nil {
				return err
			}
			return l.become(path, append([]string{KubeCommand}, args...))
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, last string) ([]string, cobra.ShellCompDirective) {
			path, err := l.findPlugin()
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			request := append(append([]string{cobra.ShellCompRequestCmd}, args...), last)
			answer, _ := exec.CommandContext(cmd.Context(), path, request...).Output() // a plugin that fails does not answer
			return completions(answer)
		},
	}
}

// findPlugin returns the path of the plugin: the program next to this one, else the one in PATH.
func findPlugin() (string, error) {
	candidates := []string{pluginName}
	self, err := os.Executable()
	if err == nil {
		if target, err := filepath.EvalSymlinks(self); err == nil {
			self = target
		}
		candidates = []string{filepath.Join(filepath.Dir(self), pluginName), pluginName}
	}
	for _, name := range candidates {
		if path, err := exec.LookPath(name); err == nil && !sameFile(path, self) {
			return path, nil
		}
	}
	return "", Failf("kube: the program %s is neither next to h2surge nor in a directory of PATH; \"make build\" builds both programs into the same directory", pluginName)
}

// sameFile reports whether two names lead to the same file. The plugin used to be a link to h2surge.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// completions parses the answer to cobra's request for completions: one line for each, then the directive after a colon.
func completions(answer []byte) ([]string, cobra.ShellCompDirective) {
	var out []string
	for line := range bytes.Lines(answer) {
		text := strings.TrimSuffix(string(line), "\n")
		if number, found := strings.CutPrefix(text, ":"); found {
			if directive, err := strconv.Atoi(number); err == nil {
				return out, cobra.ShellCompDirective(directive)
			}
		}
		out = append(out, text)
	}
	return nil, cobra.ShellCompDirectiveError
}
