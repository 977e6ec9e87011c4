package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/mock"
)

// demoCommand is hidden: --demo starts it as a separate process, so that the target has its
// own Go runtime and its CPU time is not the generator's. It prints its address in the first
// line of its output, serves until its input ends, and then prints its counters as JSON. The input ends when the parent
// ends, also when the parent was killed.
const demoCommand = "demo-target"

func newDemoTargetCommand() *cobra.Command {
	cpu := -1
	cmd := &cobra.Command{
		Use:    demoCommand,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serveDemo(cmd.Context(), cpu, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	cmd.Flags().IntVar(&cpu, "cpu", cpu, "`CPU` to run on")
	return cmd
}

func serveDemo(ctx context.Context, cpu int, in io.Reader, out io.Writer) error {
	options := mock.Options{Listen: "127.0.0.1:0"}
	if cpu >= 0 {
		options.CPU = &cpu
	}
	server, err := mock.New(options)
	if err != nil {
		return command.Failf("%v", err)
	}
	fmt.Fprintln(out, server.Addr())
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, in) // an error is an end, too
		cancel()
	}()
	if err := server.Serve(ctx); err != nil {
		return command.Failf("%v", err)
	}
	return json.NewEncoder(out).Encode(server.Stats())
}

// demo is a target in a child process.
type demo struct {
	url   string
	cmd   *exec.Cmd
	stdin io.Closer
	out   *bufio.Reader
	ended bool
}

// demoTime bounds how long the child may take to begin, and to end.
const demoTime = 10 * time.Second

// startDemo starts the target; cpu below zero leaves it to the scheduler.
func startDemo(cpu int) (*demo, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("--demo: %w", err)
	}
	d := &demo{cmd: exec.Command(self, demoCommand, "--cpu", strconv.Itoa(cpu))}
	d.cmd.Stderr = os.Stderr
	apart(d.cmd)
	in, err := d.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("--demo: %w", err)
	}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("--demo: %w", err)
	}
	if err := d.cmd.Start(); err != nil {
		return nil, fmt.Errorf("--demo: %w", err)
	}
	d.stdin, d.out = in, bufio.NewReader(out)
	guard := time.AfterFunc(demoTime, func() { _ = d.cmd.Process.Kill() })
	defer guard.Stop()
	address, err := d.out.ReadString('\n')
	if err != nil {
		_ = in.Close()
		return nil, fmt.Errorf("--demo: the target did not begin: %w", errors.Join(err, d.cmd.Wait()))
	}
	d.url = "http://" + strings.TrimSpace(address)
	return d, nil
}

// stop ends the target and returns what it has counted.
func (d *demo) stop() (mock.Stats, error) {
	var stats mock.Stats
	guard := time.AfterFunc(demoTime, func() { _ = d.cmd.Process.Kill() })
	defer guard.Stop()
	_ = d.stdin.Close() // a child that has gone already will be seen by Wait
	err := json.NewDecoder(d.out).Decode(&stats)
	if waiting := d.cmd.Wait(); err == nil {
		err = waiting
	}
	d.ended = true
	if err != nil {
		return stats, fmt.Errorf("--demo: the target ended badly: %w", err)
	}
	return stats, nil
}

// close ends the target if stop has not.
func (d *demo) close() {
	if !d.ended {
		_, _ = d.stop() // without a run its counters have no meaning
	}
}

// compare says whether both ends have counted the same.
func (d *demo) compare(r *rv.Report, w io.Writer) error {
	stats, err := d.stop()
	if err != nil {
		return err
	}
	sent := r.Requests.Sent + r.WarmUp.Sent + r.Setup.Sent + r.Teardown.Sent + r.Graceful.Sent
	fmt.Fprintf(w, "demo: sent %d requests (warm-up, setup and teardown included), the target counted %d\n", sent,
		stats.Requests)
	return nil
}
