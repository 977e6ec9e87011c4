package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/h2surge/h2surge/test/harness"
)

// lab is where the rows are measured.
type lab struct {
	harness.Lab
	rounds, seconds int
}

// warmUpSeconds is the length of the first run of each side, which is not measured: caches,
// the server's memory, the kernel's.
const warmUpSeconds = 1

func newLab(ctx context.Context, o options) (*lab, error) {
	shared, err := o.NewLab(ctx)
	if err != nil {
		return nil, err
	}
	b := &lab{Lab: shared, rounds: o.rounds, seconds: o.seconds}
	if err := b.furnish(); err != nil {
		b.Close()
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
	if err := os.Mkdir(b.Dir+"/www", 0o700); err != nil {
		return err
	}
	for name, content := range map[string]string{
		"www/index.html": strings.Repeat("x", smallFile),
		"www/test.html":  strings.Repeat("x", smallFile),
		"www/612.html":   strings.Repeat("x", pageFile),
		"openssl.cnf":    opensslConfig,
		"ausf.yaml":      akaRules,
		"nrf.yaml":       discoveryRules,
		"health.proto":   healthProto,
		"call":           callOctets,
	} {
		if err := os.WriteFile(filepath.Join(b.Dir, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	if err := writeCertificate(b.Dir+"/cert.pem", b.Dir+"/key.pem"); err != nil {
		return err
	}
	return b.buildFloor()
}

// gatewayCPUs is a third CPU, or the server's where there is none.
func (b *lab) gatewayCPUs() []int {
	if len(b.CPUs) < 3 {
		return b.ServerCPUs()
	}
	return b.CPUs[1:2]
}

// pair is the n-th pair of CPUs, and the first where there are fewer than four CPUs.
func (b *lab) pair(n int) []int {
	if len(b.CPUs) < 4 {
		n = 0
	}
	return b.CPUs[2*n : 2*n+2]
}

// missing says how to get the programs that the row needs and this machine lacks; empty: there are none.
func missing(r row) string {
	var packages, all []string
	for _, t := range r.needs() {
		if t.binary == "" {
			continue
		}
		if _, err := exec.LookPath(t.binary); err == nil {
			continue
		}
		if strings.HasPrefix(t.pkg, "make ") {
			all = append(all, t.pkg)
		} else {
			packages = append(packages, t.pkg)
		}
	}
	if len(packages) > 0 {
		all = append(all, "apt-get install "+strings.Join(packages, " "))
	}
	return strings.Join(all, "; ")
}
