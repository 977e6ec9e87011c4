package main

import (
	"strconv"

	"github.com/h2surge/h2surge/test/harness"
)

// suite is the one TLS 1.3 suite that servers which can be told offer, and that h2load asks for.
const suite = "TLS_AES_256_GCM_SHA384"

// h2load is nghttp2's load generator, one thread.
type h2load struct{}

func (h2load) name() string { return "h2load" }
func (h2load) needs() tool  { return tool{binary: "h2load", pkg: "nghttp2-client"} }

func (h2load) command(b *lab, s *served, l load, seconds int) (harness.Command, error) {
	argv := []string{"h2load", "-t1", "-c" + strconv.Itoa(l.connections), "-m" + strconv.Itoa(max(1, l.streams)),
		"-D" + strconv.Itoa(seconds)}
	if l.perSecond > 0 {
		argv = append(argv, "--rps="+strconv.Itoa(l.perSecond/l.connections))
	}
	if l.body != "" {
		argv = append(argv, "-d", b.Dir+"/"+l.body)
	}
	for _, h := range l.headers {
		argv = append(argv, "-H", h[0]+": "+h[1])
	}
	switch l.protocol {
	case http1:
		argv = append(argv, "--h1")
	case h2:
		argv = append(argv, "--tls13-ciphers="+suite)
	}
	return harness.Command{Argv: append(argv, s.url(l))}, nil
}

func (c h2load) parse(f harness.Finished) (measured, error) { return scanned(c, f, c.read) }

func (h2load) read(s *scan) measured {
	m := measured{
		requests:  s.integer(`^requests: .* (\d+) done`),
		perSecond: s.number(`^finished in .*, ([\d.]+) req/s`),
		times: times{
			max:  s.duration(`^time for request: +\S+ +(\S+)`),
			mean: s.duration(`^time for request: +\S+ +\S+ +(\S+)`),
		},
	}
	m.rejected = m.requests - s.integer(`^requests: .* (\d+) succeeded`)
	if version := s.field(`^TLS Protocol: (\S+)`, true); version != "" {
		m.suite = suiteName(version, s.field(`^Cipher: (\S+)`, false))
	}
	return m
}
