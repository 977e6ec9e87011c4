package terminal

import (
	"os"
	"os/signal"
	"syscall"
)

// Interrupts delivers interrupts and SIGHUP. If rereads is true, SIGHUP means that the manifest must be read again.
// Otherwise SIGHUP ends the run, unless the process ignores it (nohup). The third interrupt calls last and ends the
// process as it would end any other program, so that a run that does not end cannot block the terminal. The second
// result stops the delivery.
func Interrupts(rereads bool, last func()) (<-chan os.Signal, func()) {
	wish := make(chan os.Signal, 4)
	got := make(chan os.Signal, 2)
	stop := make(chan struct{})
	caught := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if rereads || !signal.Ignored(syscall.SIGHUP) {
		caught = append(caught, syscall.SIGHUP)
	}
	signal.Notify(got, caught...)
	go func() {
		for ends := 0; ends < 2; {
			select {
			case s := <-got:
				if s != syscall.SIGHUP {
					ends++
					wish <- s
				} else if len(wish) < cap(wish)-2 { // there is always space for two interrupts
					wish <- s
				}
			case <-stop:
				return
			}
		}
		last()
		signal.Reset(caught...)
	}()
	return wish, func() {
		signal.Stop(got)
		close(stop)
	}
}
