package main

import (
	"errors"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/cli/terminal"
	"github.com/h2surge/h2surge/internal/cluster"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// kube is what the commands of the cluster share; tests replace its functions.
type kube struct {
	connect    func(cluster.Options) (*cluster.Cluster, error)
	interrupts func(rereads bool, last func()) (<-chan os.Signal, func())
	keyboard   func(io.Reader, io.Writer) (<-chan byte, func())
	// ticks come once in an interval, until stop is called.
	ticks func(time.Duration) (ticks <-chan time.Time, stop func())
	now   func() time.Time
	// size of the terminal w; false: w is not a terminal.
	size func(w io.Writer) (cluster.Size, bool)
}

func newKube() *kube {
	return &kube{
		connect: cluster.Connect, interrupts: terminal.Interrupts, keyboard: terminal.Keyboard,
		now: time.Now, size: terminalSize,
		ticks: func(d time.Duration) (<-chan time.Time, func()) {
			t := time.NewTicker(d)
			return t.C, t.Stop
		},
	}
}

func terminalSize(w io.Writer) (cluster.Size, bool) {
	f, ok := command.File(w)
	if !ok {
		return cluster.Size{}, false
	}
	width, height, err := term.GetSize(int(f.Fd()))
	return cluster.Size{Width: width, Height: height}, err == nil && width > 0 && height > 0
}

const pluginLong = `Run load tests in a cluster that has the operator, follow them, change them while they
run, and get their reports. The plugin finds the cluster and the namespace as kubectl
does. Write the flags after the command: kubectl h2surge list -n core. To delete a test,
use kubectl delete loadtest NAME. Without kubectl, the program runs by its own name:
kubectl-h2surge list.`

// ofKubectl is how users start the plugin. Help and messages have this command.
const ofKubectl = "kubectl h2surge"

func newRootCommand(k *kube) *cobra.Command {
	const inCluster, local = "cluster", "local"
	root := command.NewRootCommand("Load-test HTTP services in a cluster", pluginLong)
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: ofKubectl}
	root.AddGroup(&cobra.Group{ID: inCluster, Title: "In the cluster:"}, &cobra.Group{ID: local,
		Title: "Without a cluster:"})
	for _, cmd := range k.commands() {
		cmd.GroupID = inCluster
		root.AddCommand(cmd)
	}
	for _, cmd := range cli.WithoutCluster() {
		cmd.GroupID = local
		cmd.Example = strings.ReplaceAll(cmd.Example, "  h2surge "+cmd.Name(), "  "+ofKubectl+" "+cmd.Name())
		root.AddCommand(cmd)
	}
	return root
}

func (k *kube) commands() []*cobra.Command {
	return []*cobra.Command{
		k.newRun(), k.newList(), k.newTrend(), k.newStatus(), k.newWatch(), k.newUI(), k.newReport(), k.newCompare(),
		k.newStop(), k.newSuspend(), k.newResume(), k.newRate(), k.newScale(),
	}
}

// where are the flags of every command of the cluster.
type where struct{ options cluster.Options }

func (w *where) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&w.options.Namespace, "namespace", "n", "", "`namespace` (default: that of the kubeconfig)")
	flags.StringVar(&w.options.Context, "context", "", "`name` of the context in the kubeconfig")
	flags.StringVar(&w.options.Kubeconfig, "kubeconfig", "",
		"kubeconfig `file` (default: $KUBECONFIG, else ~/.kube/config)")
}

func (w *where) connect(k *kube, cmd *cobra.Command) (*cluster.Cluster, error) {
	w.options.Warnings = cmd.ErrOrStderr()
	c, err := k.connect(w.options)
	if err != nil {
		return nil, command.Usagef("%v", err)
	}
	return c, nil
}

// get connects and fetches a test.
func (w *where) get(k *kube, cmd *cobra.Command, name string) (*cluster.Cluster, *v1alpha1.LoadTest, error) {
	c, err := w.connect(k, cmd)
	if err != nil {
		return nil, nil, err
	}
	lt, err := c.Get(cmd.Context(), name)
	return c, lt, kubeError(err)
}

// again is the command line of another command for a test, in the same cluster and namespace. It has the namespace also
// if no flag selects it: a manifest can have another one than the kubeconfig.
func (w *where) again(cmd *cobra.Command, c *cluster.Cluster, name string) func(string) string {
	return func(command string) string {
		parts := []string{cmd.Parent().CommandPath(), command, name, "-n", c.Namespace}
		if w.options.Context != "" {
			parts = append(parts, "--context", w.options.Context)
		}
		if w.options.Kubeconfig != "" {
			parts = append(parts, "--kubeconfig", w.options.Kubeconfig)
		}
		return strings.Join(parts, " ")
	}
}

// kubeError has exit code 1 for a mistake of the user, and 5 if the cluster cannot be reached or fails.
func kubeError(err error) error {
	if err == nil {
		return nil
	}
	var status apierrors.APIStatus
	var network *url.Error
	if errors.As(err, &network) || errors.As(err, &status) && status.Status().Code >= 500 {
		return command.Failf("%v", err)
	}
	return command.Exit(verdict.ExitUsage, err.Error())
}
