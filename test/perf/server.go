package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/h2surge/h2surge/test/harness"
)

// served are the servers of one row while they run.
type served struct {
	bases     map[protocol][]string // URLs without path; several are a load-share group
	processes []*harness.Process
	// count is the number of requests received since the start; nil when the servers do not count.
	count func() (int64, error)
}

func (s *served) urls(p protocol) []string { return s.bases[p] }

func (s *served) url(l load) string { return s.bases[l.protocol][0] + l.path }

func (s *served) stop() {
	for _, p := range s.processes {
		p.Stop()
	}
}

// server is a kind of server that a row runs against.
type server struct {
	name  string
	needs tool
	start func(b *lab, cpus []int) (*served, error) // stops what it started when it fails
}

var (
	nghttpdCleartext = server{name: "nghttpd -n1", needs: tool{"nghttpd", "nghttp2-server"}, start: startNghttpdCleartext}
	nghttpdTLS       = server{name: "nghttpd -n1", needs: tool{"nghttpd", "nghttp2-server"}, start: startNghttpdTLS}
	nginxDirect      = server{name: "nginx", needs: tool{"nginx", "nginx-light"}, start: startNginx}
	nginxGateway     = server{name: "nginx behind an nginx", needs: tool{"nginx", "nginx-light"}, start: startGateway}
	target           = server{name: "h2surge target", start: startTarget()}
	// the same requests fail each time
	faultyTarget = server{name: "h2surge target", start: startTarget("--unanswered", "3%", "--not-found", "7%", "--seed",
		"1")}
	targets   = server{name: "h2surge target", start: startTargets}
	notifying = server{name: "a server of the harness", start: startNotifier}
	goHTTP    = server{name: "Go net/http", start: func(b *lab, cpus []int) (*served,
		error) {
		return startGo(b, cpus, 1)
	}}
	goTwoThreads = server{name: "Go net/http, GOMAXPROCS=2", start: func(b *lab, cpus []int) (*served,
		error) {
		return startGo(b, cpus, 2)
	}}
)

// launch starts one more process of s and waits until ports accept connections.
func (s *served) launch(ctx context.Context, c harness.Command, ports ...int) error {
	p, err := harness.Start(c)
	if err != nil {
		return err
	}
	s.processes = append(s.processes, p)
	for _, port := range ports {
		if err := p.Await(ctx, port); err != nil {
			return err
		}
	}
	return nil
}

// serve builds servers on so many free ports, and stops what it left when it failed.
func serve(ports int, build func(s *served, ports []int) error) (*served, error) {
	free, err := harness.FreePorts(ports)
	if err != nil {
		return nil, err
	}
	s := &served{bases: map[protocol][]string{}}
	if err := build(s, free); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func startNghttpdCleartext(b *lab, cpus []int) (*served, error) {
	return serve(1, func(s *served, ports []int) error {
		s.bases[h2c] = []string{harness.Loopback("http", ports[0])}
		argv := []string{"nghttpd", "-n1", "--no-tls", "-a", "127.0.0.1", "-d", b.Dir + "/www", strconv.Itoa(ports[0])}
		return s.launch(b.Ctx, harness.Command{Argv: argv, CPUs: cpus}, ports...)
	})
}

// startNghttpdTLS restricts the suite by OpenSSL's own configuration: nghttpd has no option for
// suites of TLS 1.3.
func startNghttpdTLS(b *lab, cpus []int) (*served, error) {
	return serve(1, func(s *served, ports []int) error {
		s.bases[h2] = []string{harness.Loopback("https", ports[0])}
		argv := []string{"nghttpd", "-n1", "-a", "127.0.0.1", "-d", b.Dir + "/www", strconv.Itoa(ports[0]),
			b.Dir + "/key.pem", b.Dir + "/cert.pem"}
		return s.launch(b.Ctx, harness.Command{Argv: argv, Env: []string{"OPENSSL_CONF=" + b.Dir + "/openssl.cnf"},
			CPUs: cpus}, ports...)
	})
}

// startTarget starts one with these flags; its count is exact.
func startTarget(flags ...string) func(b *lab, cpus []int) (*served, error) {
	return func(b *lab, cpus []int) (*served, error) {
		return serve(2, func(s *served, ports []int) error { return s.addTarget(b, cpus, ports, flags...) })
	}
}

// failing is the share of requests that fail at faultyTarget: those that are answered must not have 404.
const failing = 1 - (1-0.03)*(1-0.07)

// startTargets starts one for each CPU.
func startTargets(b *lab, cpus []int) (*served, error) {
	return serve(2*len(cpus), func(s *served, ports []int) error {
		for i, c := range cpus {
			if err := s.addTarget(b, []int{c}, ports[2*i:2*i+2]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *served) addTarget(b *lab, cpus, ports []int, flags ...string) error {
	s.bases[h2c] = append(s.bases[h2c], harness.Loopback("http", ports[0]))
	stats := harness.Loopback("http", ports[1]) + "/stats"
	before := s.count
	s.count = func() (int64, error) {
		n, err := targetCount(stats)
		if err != nil || before == nil {
			return n, err
		}
		others, err := before()
		return n + others, err
	}
	argv := []string{b.H2surge, "target", "--listen", "127.0.0.1:" + strconv.Itoa(ports[0]),
		"--stats-listen", "127.0.0.1:" + strconv.Itoa(ports[1])}
	argv = append(argv, flags...)
	return s.launch(b.Ctx, harness.Command{Argv: argv, CPUs: cpus}, ports...)
}

func targetCount(url string) (int64, error) {
	text, err := harness.Get(url)
	if err != nil {
		return 0, err
	}
	var stats struct{ Requests int64 }
	if err := json.Unmarshal(text, &stats); err != nil {
		return 0, fmt.Errorf("%s: %w", url, err)
	}
	return stats.Requests, nil
}

func startGo(b *lab, cpus []int, procs int) (*served, error) {
	return serve(3, func(s *served, ports []int) error {
		s.bases[http1] = []string{harness.Loopback("http", ports[0])}
		s.bases[h2c] = s.bases[http1]
		s.bases[h2] = []string{harness.Loopback("https", ports[1])}
		s.bases[h3] = s.bases[h2]
		s.count = func() (int64, error) { return plainCount(harness.Loopback("http", ports[2])) }
		argv := []string{b.Self, "go-server"}
		for _, p := range ports {
			argv = append(argv, "127.0.0.1:"+strconv.Itoa(p))
		}
		argv = append(argv, b.Dir+"/cert.pem", b.Dir+"/key.pem")
		return s.launch(b.Ctx, harness.Command{Argv: argv, Env: []string{"GOMAXPROCS=" + strconv.Itoa(procs)}, CPUs: cpus},
			ports...)
	})
}

// startNotifier starts a server that notifies each client.
func startNotifier(b *lab, cpus []int) (*served, error) {
	return serve(2, func(s *served, ports []int) error {
		s.bases[h2c] = []string{harness.Loopback("http", ports[0])}
		s.count = func() (int64, error) { return plainCount(harness.Loopback("http", ports[1])) }
		argv := []string{b.Self, "notifier", "127.0.0.1:" + strconv.Itoa(ports[0]), "127.0.0.1:" + strconv.Itoa(ports[1])}
		return s.launch(b.Ctx, harness.Command{Argv: argv, Env: []string{"GOMAXPROCS=1"}, CPUs: cpus}, ports...)
	})
}

func plainCount(url string) (int64, error) {
	text, err := harness.Get(url)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}

// startNginx serves HTTP/1.1 on one port and h2c on another. Its count includes the request that
// asks for it, which countNginx takes off.
func startNginx(b *lab, cpus []int) (*served, error) {
	return serve(3, func(s *served, ports []int) error {
		s.bases[http1] = []string{harness.Loopback("http", ports[0])}
		s.bases[h2c] = []string{harness.Loopback("http", ports[1])}
		s.count = countNginx(harness.Loopback("http", ports[2]) + "/")
		return s.addNginx(b, cpus, nginxOrigin(b.Dir, ports), ports...)
	})
}

// startGateway puts an nginx before an nginx; the one in front has its own CPU where there are
// three. Requests are counted at the origin.
func startGateway(b *lab, cpus []int) (*served, error) {
	return serve(4, func(s *served, ports []int) error {
		if err := s.addNginx(b, cpus, nginxOrigin(b.Dir, ports[:3]), ports[:3]...); err != nil {
			return err
		}
		s.bases[http1] = []string{harness.Loopback("http", ports[3])}
		s.count = countNginx(harness.Loopback("http", ports[2]) + "/")
		return s.addNginx(b, b.gatewayCPUs(), nginxHop(ports[3], ports[0]), ports[3])
	})
}

// addNginx gives each nginx a folder of its own for what it writes.
func (s *served) addNginx(b *lab, cpus []int, servers string, ports ...int) error {
	dir, err := os.MkdirTemp(b.Dir, "nginx")
	if err != nil {
		return err
	}
	if err := os.WriteFile(dir+"/nginx.conf", []byte(nginxConfig(dir, servers)), 0o600); err != nil {
		return err
	}
	argv := []string{"nginx", "-p", dir, "-e", dir + "/error.log", "-c", dir + "/nginx.conf"}
	return s.launch(b.Ctx, harness.Command{Argv: argv, CPUs: cpus}, ports...)
}

// nginxConfig raises the limits that would end connections or refuse streams in mid-run: 1000
// requests a connection, 512 connections, 128 streams.
func nginxConfig(dir, servers string) string {
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;\n" // the temporary folder is readable for its owner only
	}
	return user + `worker_processes 1;
daemon off;
pid ` + dir + `/nginx.pid;
error_log ` + dir + `/error.log warn;
worker_rlimit_nofile 16384;
events { worker_connections 8192; }
http {
    access_log off;
    keepalive_requests 1000000000;
    keepalive_timeout 300s;
    http2_max_concurrent_streams 256;
    open_file_cache max=16;
    client_body_temp_path ` + dir + `/body;
    proxy_temp_path ` + dir + `/proxy;
    fastcgi_temp_path ` + dir + `/fastcgi;
    uwsgi_temp_path ` + dir + `/uwsgi;
    scgi_temp_path ` + dir + `/scgi;
` + servers + `}
`
}

// nginxOrigin serves files: HTTP/1.1 on the first port, h2c on the second, counts on the third.
func nginxOrigin(dir string, ports []int) string {
	return fmt.Sprintf(`    server {
        listen 127.0.0.1:%d backlog=4096;
        listen 127.0.0.1:%d http2 backlog=4096;
        root %s/www;
    }
    server {
        listen 127.0.0.1:%d;
        location / { stub_status; }
    }
`, ports[0], ports[1], dir, ports[2])
}

func nginxHop(port, origin int) string {
	return fmt.Sprintf(`    upstream origin {
        server 127.0.0.1:%d;
        keepalive 256;
        keepalive_requests 1000000000;
    }
    server {
        listen 127.0.0.1:%d backlog=4096;
        location / {
            proxy_pass http://origin;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
        }
    }
`, origin, port)
}

var stubStatus = regexp.MustCompile(`(?m)^ \d+ \d+ (\d+)`)

// countNginx reads the module stub_status, and subtracts how often it did.
func countNginx(url string) func() (int64, error) {
	var asked int64
	return func() (int64, error) {
		text, err := harness.Get(url)
		if err != nil {
			return 0, err
		}
		asked++
		m := stubStatus.FindSubmatch(text)
		if m == nil {
			return 0, fmt.Errorf("%s: no counts in %q", url, text)
		}
		n, err := strconv.ParseInt(string(m[1]), 10, 64)
		return n - asked, err
	}
}
