//go:build soak && unix

package cli

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"syscall"
)

// Built with the tag soak, for test/soak, each SIGUSR1 collects garbage and writes to the directory that
// H2SURGE_HEAP names: heap.pb.gz, a heap profile, and then live, the size of the live heap in bytes.
func init() {
	dir := os.Getenv("H2SURGE_HEAP")
	if dir == "" {
		return
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	go func() {
		for range asked {
			if err := writeHeap(dir); err != nil {
				fmt.Fprintln(os.Stderr, "heap profile:", err)
			}
		}
	}()
}

func writeHeap(dir string) error {
	runtime.GC()
	runtime.GC() // the second one frees what pools held, and the profile is as of the first
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	f, err := os.Create(filepath.Join(dir, "heap.pb.gz"))
	if err != nil {
		return err
	}
	if err := pprof.WriteHeapProfile(f); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	name := filepath.Join(dir, "live")
	if err := os.WriteFile(name+".new", strconv.AppendUint(nil, m.HeapAlloc, 10), 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name) // it is complete when it appears
}
