// Command runner is the main of a runner pod. It executes its share of a plan and is steered and
// read by the operator over a control endpoint with mutual TLS; metrics and health are served in
// clear on a port of their own.
package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(start(os.Args[1:])) }

// start returns the process's exit code: 0 also when the run came to nothing, since it is the
// snapshot that tells; 1 when there was no way to tell; 2 for a wrong command line.
func start(args []string) int {
	c, err := parseConfig(args, os.Getenv, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	if err != nil {
		log.Error("Wrong command line", "err", err)
		return 2
	}
	// The second signal ends the process as it would any other.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	context.AfterFunc(ctx, stop)
	if err := run(ctx, c, linked(log)); err != nil {
		log.Error("Runner failed", "err", err)
		return 1
	}
	return 0
}
