// Command runner is the main of a runner pod. It executes its share of a plan. The operator
// controls it and reads its snapshots over a port with mutual TLS. Another port serves metrics and
// health without TLS.
package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/h2surge/h2surge/runner/process"
)

func main() { os.Exit(start(os.Args[1:])) }

// start returns the exit code. It is 0 also if the run failed, because the snapshot reports that. It is
// 1 if the runner could not report a result, and 2 if the command line is wrong.
func start(args []string) int {
	c, err := process.ParseConfig(args, os.Getenv, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	if err != nil {
		log.Error("Wrong command line", "err", err)
		return 2
	}
	// A second signal ends the process at once: stop removes the handler after the first.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	context.AfterFunc(ctx, stop)
	if err := process.Run(ctx, c, process.Parts{Log: log}); err != nil {
		log.Error("Runner failed", "err", err)
		return 1
	}
	return 0
}
