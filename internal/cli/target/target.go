// Package target has the command target, which serves the target of internal/mock.
package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/mock"
	"github.com/h2surge/h2surge/internal/mock/rules"
)

const targetLong = `Serve HTTP/2 (h2c, prior knowledge) and HTTP/1.1 on one port, without TLS, for
demonstrations and tests. With --h3-listen, serve HTTP/3, too, with a certificate that
clients must not verify.

POST to any path creates a resource below that path. The response is 201 with the path
of the resource in "location". On a resource, GET and HEAD return 200, and PUT, PATCH
and DELETE return 204. After DELETE, all of them return 404. On other paths, GET and
HEAD return 200, and PUT, PATCH and DELETE return 404. With --body-size above 0, PUT and
PATCH on a resource return 200 with a body of that size.

--unanswered and --not-found select requests at random. These requests change nothing.
The stream of an unanswered request stays open until the client resets it, and counts
against --max-concurrent-streams. Over HTTP/1.1, its connection stays open until the
client closes it.

With -f, a file of rules defines the responses, so that the target can simulate a
network function: docs/reference/target.md describes the format, and
config/samples/targets has files for NRF, UDM, PCF, SMF, AUSF and AMF. A rule can send
notifications to the callbacks of subscribers. If the file names proto files, rules
answer calls of gRPC. The faults of the flags apply in addition to the rules. Flags
override the listen options of the file.

--record writes each request as a line of JSON.

--stats-listen serves GET /stats (counters as JSON, warm-up included), GET /metrics (for
Prometheus: CPU time, goroutines, requests and connections) and POST /reset, which sets
the counters to zero and keeps the resources.

Exit codes:
  0  SIGINT or SIGTERM ended the target
  1  bad flags or bad file
  5  the target cannot listen on the address, use the CPU or write the record`

// targetFlags holds the flags that are not options of the target as they stand.
type targetFlags struct {
	opts        mock.Options
	unanswered  string
	notFound    string
	stall       string
	capacity    string
	statsListen string
	cpu         int
	file        string
	record      string
}

// NewCommand returns "h2surge target". Its errors are usage errors or failures to listen.
func NewCommand() *cobra.Command {
	var f targetFlags
	cmd := &cobra.Command{
		Use:   "target",
		Short: "Serve HTTP for demonstrations and tests, with faults on demand",
		Long:  targetLong,
		Example: `  h2surge target --listen :8080 --stats-listen 127.0.0.1:8081
  h2surge target --unanswered 3% --not-found 7% --seed 1
  h2surge target --latency 5ms --stall 500ms/10s
  h2surge target --capacity 5000
  h2surge target -f config/samples/targets/nrf.yaml --record requests.jsonl`,
		Args: command.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.complete(cmd); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return runTarget(ctx, f, cmd.OutOrStdout())
		},
	}
	f.add(cmd)
	return cmd
}

func (f *targetFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVarP(&f.file, "filename", "f", "", "`file` of rules (YAML)")
	fl.StringVar(&f.record, "record", "",
		"`file` to write each request to, as a line of JSON; an existing file is overwritten")
	fl.StringVar(&f.opts.Listen, "listen", mock.DefaultListen,
		"`address` to listen on; port 0 picks a free one, which is printed")
	fl.StringVar(&f.opts.ListenHTTP3, "h3-listen", "", "UDP `address` to serve HTTP/3 on (default: none)")
	fl.IntVar(&f.cpu, "cpu", -1, "pin the serving thread to this CPU `number` (Linux)")
	fl.StringVar(&f.unanswered, "unanswered", "0%", "`share` of all requests that get no response, such as 3%")
	fl.StringVar(&f.notFound, "not-found", "0%", "`share` of all requests that get 404, selected independently")
	fl.Uint64Var(&f.opts.Seed, "seed", 0,
		"`seed` of the random selection: the same seed selects the same requests in order of arrival; 0 is random")
	fl.DurationVar(&f.opts.Latency, "latency", 0, "delay of each response")
	fl.StringVar(&f.stall, "stall", "", "send nothing at the end of each period: `pause/period`, such as 500ms/10s")
	fl.StringVar(&f.capacity, "capacity", "",
		"answer at most this many `requests` per second, from one queue: 5000, or 5000,30s:8000 for another number after a time")
	fl.IntVar(&f.opts.BodySize, "body-size", 0, "`bytes` in the body of a 200 (default: {\"status\":\"ok\"})")
	fl.IntVar(&f.opts.MaxConcurrentStreams, "max-concurrent-streams", mock.DefaultMaxConcurrentStreams,
		"`streams` that a client may have open on a connection")
	fl.IntVar(&f.opts.ResetsPerSecond, "resets-per-second", 0,
		"stream resets per second that a client may send on a connection, after a burst of 1000; 0 is 33, -1 is unlimited")
	fl.BoolVar(&f.opts.TrackBodies, "track-bodies", false, "count distinct and repeated POST bodies")
	fl.StringVar(&f.statsListen, "stats-listen", "", "`address` to serve the counters on, over HTTP/1.1 (default: none)")
}

// complete turns the flags into options.
func (f *targetFlags) complete(cmd *cobra.Command) error {
	var err error
	if f.opts.Unanswered, err = mock.ParseRatio(f.unanswered); err != nil {
		return fmt.Errorf("--unanswered: %w", err)
	}
	if f.opts.NotFound, err = mock.ParseRatio(f.notFound); err != nil {
		return fmt.Errorf("--not-found: %w", err)
	}
	if f.stall != "" {
		if f.opts.Stall, err = mock.ParseStall(f.stall); err != nil {
			return fmt.Errorf("--stall: %w", err)
		}
	}
	if f.capacity != "" {
		if f.opts.Capacity, err = mock.ParseCapacity(f.capacity); err != nil {
			return fmt.Errorf("--capacity: %w", err)
		}
	}
	if cmd.Flags().Changed("cpu") {
		f.opts.CPU = &f.cpu
	}
	if f.file != "" {
		if err := f.load(cmd.Flags().Changed); err != nil {
			return err
		}
	}
	if f.opts.BodySize < 0 {
		return errors.New("--body-size: must not be negative")
	}
	if cmd.Flags().Changed("body-size") && f.opts.BodySize == 0 {
		f.opts.BodySize = -1 // asked for, so empty and not the default
	}
	return nil
}

// load reads the file of rules. Its options of listening are defaults for flags that are not given.
func (f *targetFlags) load(given func(flag string) bool) error {
	set, err := rules.LoadFile(f.file)
	if mistakes := (rules.Mistakes)(nil); errors.As(err, &mistakes) {
		return fmt.Errorf("%s:\n%w", f.file, err)
	} else if err != nil {
		return fmt.Errorf("-f: %w", err)
	}
	f.opts.Rules = set
	l := set.Listen
	if l.Address != "" && !given("listen") {
		f.opts.Listen = l.Address
	}
	if l.StatsAddress != "" && !given("stats-listen") {
		f.statsListen = l.StatsAddress
	}
	if l.CPU != nil && !given("cpu") {
		f.opts.CPU = l.CPU
	}
	if l.MaxConcurrentStreams != nil && !given("max-concurrent-streams") {
		f.opts.MaxConcurrentStreams = *l.MaxConcurrentStreams
	}
	if l.ResetsPerSecond != nil && !given("resets-per-second") {
		f.opts.ResetsPerSecond = *l.ResetsPerSecond
	}
	if l.Seed != nil && !given("seed") {
		f.opts.Seed = *l.Seed
	}
	return nil
}

// runTarget serves until ctx ends.
func runTarget(ctx context.Context, f targetFlags, out io.Writer) error {
	if f.opts.CPU != nil {
		// The serving thread keeps its CPU while others of this process do the rest.
		runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	}
	if f.record != "" {
		file, err := os.Create(f.record)
		if err != nil {
			return command.Failf("--record: %v", err)
		}
		defer file.Close() // written without a buffer; the server reports errors
		f.opts.Record = file
	}
	srv, err := mock.New(f.opts)
	if err != nil {
		return unlessUsage(err)
	}
	stopStats := func() {}
	if f.statsListen != "" {
		if stopStats, err = serveStats(f.statsListen, srv.StatsHandler(), out); err != nil {
			return unlessUsage(errors.Join(err, srv.Close()))
		}
	}
	defer stopStats()
	fmt.Fprintf(out, "listening on %s\n", srv.Addr())
	if at := srv.HTTP3Addr(); at != nil {
		fmt.Fprintf(out, "HTTP/3 on https://%s\n", at)
	}
	if err := srv.Serve(ctx); err != nil {
		return command.Failf("%v", err)
	}
	return nil
}

// unlessUsage makes a failure of what the network refuses; anything else is a mistake in the
// flags.
func unlessUsage(err error) error {
	if refused := (*net.OpError)(nil); errors.As(err, &refused) {
		return command.Failf("%v", err)
	}
	return err
}

// serveStats serves h on addr until stop is called.
func serveStats(addr string, h http.Handler, out io.Writer) (stop func(), err error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--stats-listen: %w", err)
	}
	fmt.Fprintf(out, "stats on http://%s/stats\n", l.Addr())
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = srv.Serve(l) }() // ends with Close
	return func() { _ = srv.Close() }, nil
}
