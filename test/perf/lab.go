package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/h2surge/h2surge/test/harness"
)

// lab is where the rows are measured: the CPUs, a folder for what is made at run time, and the
// program under test.
type lab struct {
	ctx     context.Context
	rounds  int
	seconds int
	cpus    []int
	dir     string // removed by close
	h2surge string
	self    string // this program
}

// warmUpSeconds is the length of the first run of each side, which is not measured: caches,
// the server's memory, the kernel's.
const warmUpSeconds = 1

func newLab(ctx context.Context, o options) (*lab, error) {
	b := &lab{ctx: ctx, rounds: o.rounds, seconds: o.seconds}
	var err error
	if b.cpus, err = harness.AllowedCPUs(); err != nil {
		return nil, err
	}
	if len(b.cpus) < 2 {
		return nil, errors.New("client and server each need a CPU of their own; there is only one")
	}
	if b.h2surge, err = exec.LookPath(o.h2surge); err != nil {
		return nil, fmt.Errorf("%w (make build makes it)", err)
	}
	if b.h2surge, err = filepath.Abs(b.h2surge); err != nil {
		return nil, err
	}
	if b.self, err = os.Executable(); err != nil {
		return nil, err
	}
	if b.dir, err = os.MkdirTemp("", "h2surge-perf"); err != nil {
		return nil, err
	}
	if err := b.furnish(); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// Sizes in bytes of the files that the servers serve: of the published gateway test, and of
// nginx's own index page, which S14 to S17 fetched.
const (
	smallFile = 76
	pageFile  = 612
)

// furnish writes files, certificate and OpenSSL's configuration, and compiles the floor.
func (b *lab) furnish() error {
	if err := os.Mkdir(b.dir+"/www", 0o700); err != nil {
		return err
	}
	for name, content := range map[string]string{
		"www/index.html": strings.Repeat("x", smallFile),
		"www/test.html":  strings.Repeat("x", smallFile),
		"www/612.html":   strings.Repeat("x", pageFile),
		"openssl.cnf":    opensslConfig,
	} {
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	if err := writeCertificate(b.dir+"/cert.pem", b.dir+"/key.pem"); err != nil {
		return err
	}
	return b.buildFloor()
}

func (b *lab) close() { _ = os.RemoveAll(b.dir) }

// serverCPUs and clientCPUs are as far apart as can be.
func (b *lab) serverCPUs() []int { return b.cpus[:1] }
func (b *lab) clientCPUs() []int { return b.cpus[len(b.cpus)-1:] }

// gatewayCPUs is a third CPU, or the server's where there is none.
func (b *lab) gatewayCPUs() []int {
	if len(b.cpus) < 3 {
		return b.serverCPUs()
	}
	return b.cpus[1:2]
}

// pair is the n-th pair of CPUs, and the first where there are fewer than four CPUs.
func (b *lab) pair(n int) []int {
	if len(b.cpus) < 4 {
		n = 0
	}
	return b.cpus[2*n : 2*n+2]
}

// missing names the packages that bring what the row needs and this machine lacks.
func missing(r row) []string {
	var packages []string
	for _, t := range r.needs() {
		if t.binary == "" {
			continue
		}
		if _, err := exec.LookPath(t.binary); err != nil {
			packages = append(packages, t.pkg)
		}
	}
	return packages
}
