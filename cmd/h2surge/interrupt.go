package main

import (
	"os"
	"os/signal"
	"syscall"
)

// interrupts delivers the user's wish to end. The third one ends the process as it would any
// other program, so that nobody is locked in by a run that does not end.
func interrupts() (<-chan os.Signal, func()) {
	wish := make(chan os.Signal, 2)
	got := make(chan os.Signal, 2)
	stop := make(chan struct{})
	signal.Notify(got, os.Interrupt, syscall.SIGTERM)
	go func() {
		for range 2 {
			select {
			case s := <-got:
				wish <- s
			case <-stop:
				return
			}
		}
		signal.Reset(os.Interrupt, syscall.SIGTERM)
	}()
	return wish, func() {
		signal.Stop(got)
		close(stop)
	}
}
