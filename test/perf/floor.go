package main

import (
	_ "embed"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/h2surge/h2surge/test/harness"
)

//go:embed floor/floor.c
var floorSource []byte

// floor is the client in C of the folder floor. Its CPU time is that of the kernel, and of OpenSSL for TLS, with as
// little as possible around it.
type floor struct{}

func (floor) name() string { return "floor" }
func (floor) needs() tool  { return tool{} } // a row without it is measured, too

func (floor) command(b *lab, s *served, l load, seconds int) (harness.Command, error) {
	_, address, _ := strings.Cut(s.urls(l.protocol)[0], "://")
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return harness.Command{}, err
	}
	mode := l.protocol.short()
	if l.noKeepAlive {
		mode += "-close"
	}
	return harness.Command{Argv: []string{b.floorFile(l.protocol), mode, host, port, l.path, strconv.Itoa(l.connections),
		strconv.Itoa(max(1, l.streams)), strconv.Itoa(l.perSecond), strconv.Itoa(1000 * seconds)}}, nil
}

func (c floor) parse(f harness.Finished) (measured, error) { return scanned(c, f, c.read) }

func (floor) read(s *scan) measured {
	m := measured{requests: s.integer(`^requests (\d+) failed`), unanswered: s.integer(` unanswered (\d+) seconds`)}
	m.rejected = s.integer(` failed (\d+) unanswered`) + m.unanswered
	if seconds := s.number(` seconds ([\d.]+)\n`); seconds > 0 {
		m.perSecond = float64(m.requests) / seconds
	}
	if version := s.field(`^tls (\S+) \S+\n`, true); version != "" {
		m.suite = suiteName(version, s.field(`^tls \S+ (\S+)\n`, false))
	}
	return m
}

// floorFile is one program for TLS and one without OpenSSL, which takes milliseconds to load.
func (b *lab) floorFile(p protocol) string {
	if p == h2 {
		return b.Dir + "/floor-tls"
	}
	return b.Dir + "/floor"
}

// buildFloor compiles the floor. Rows that need what cannot be compiled have a word in its place.
func (b *lab) buildFloor() error {
	source := b.Dir + "/floor.c"
	if err := os.WriteFile(source, floorSource, 0o600); err != nil {
		return err
	}
	if _, err := exec.LookPath("cc"); err != nil {
		return nil
	}
	for p, flags := range map[protocol][]string{h2c: nil, h2: {"-DTLS", "-lssl", "-lcrypto"}} {
		argv := append([]string{"cc", "-O2", "-o", b.floorFile(p), source}, flags...)
		if _, err := harness.Run(b.Ctx, harness.Command{Argv: argv, CPUs: b.CPUs}, time.Minute); err != nil {
			return err
		}
	}
	return nil
}

// lacksFloor names what is not installed, or is empty.
func (b *lab) lacksFloor(p protocol) string {
	if _, err := os.Stat(b.floorFile(p)); err == nil {
		return ""
	}
	if p == h2 {
		return "no cc or libssl-dev"
	}
	return "no cc"
}
