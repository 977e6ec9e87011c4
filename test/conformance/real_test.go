//go:build conformance

package conformance

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/test/certtest"
	"github.com/h2surge/h2surge/test/peer"
)

// door is a way into a server: a protocol at an address.
type door struct {
	protocol rv.Protocol
	secure   bool
	port     int
}

// site is what every server gets: a directory with a page, and a certificate.
type site struct {
	dir, cert, key string
	ports          []int
}

// realServer is a program from a package. Config returns its arguments, having written its
// configuration into the site's directory.
type realServer struct {
	program, pkg string
	doors        func(s *site) []door
	args         func(t *testing.T, s *site) []string
}

var realServers = []realServer{
	{"nginx", "nginx-light", func(s *site) []door {
		return []door{{rv.ProtocolHTTP1, false, s.ports[0]}, {rv.ProtocolH2C, false, s.ports[1]}, {rv.ProtocolH2, true, s.ports[2]}, {rv.ProtocolHTTP1, true, s.ports[2]}}
	}, func(t *testing.T, s *site) []string {
		// A GOAWAY after each 100 requests.
		return []string{"-e", s.dir + "/error.log", "-c", write(t, s, "nginx.conf", fmt.Sprintf(`daemon off; worker_processes 1; pid %[1]s/nginx.pid; events {}
http { access_log off; keepalive_requests 100; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s; root %[1]s/www;
ssl_certificate %[2]s; ssl_certificate_key %[3]s;
server { listen 127.0.0.1:%[4]d; } server { listen 127.0.0.1:%[5]d http2; } server { listen 127.0.0.1:%[6]d ssl http2; } }`,
			s.dir, s.cert, s.key, s.ports[0], s.ports[1], s.ports[2]))}
	}},
	{"nghttpd", "nghttp2-server", func(s *site) []door { return []door{{rv.ProtocolH2, true, s.ports[0]}} }, func(_ *testing.T, s *site) []string {
		return []string{"-n1", "-a", "127.0.0.1", "-d", s.dir + "/www", fmt.Sprint(s.ports[0]), s.key, s.cert}
	}},
	{"haproxy", "haproxy", func(s *site) []door {
		return []door{{rv.ProtocolHTTP1, false, s.ports[0]}, {rv.ProtocolH2C, false, s.ports[0]}, {rv.ProtocolH2, true, s.ports[1]}}
	}, func(t *testing.T, s *site) []string {
		both := read(t, s.cert) + read(t, s.key)
		return []string{"-db", "-f", write(t, s, "haproxy.cfg", fmt.Sprintf(`defaults
  mode http
  timeout client 10s
  timeout server 10s
  timeout connect 1s
frontend f
  bind 127.0.0.1:%d
  bind 127.0.0.1:%d ssl crt %s alpn h2,http/1.1
  http-request return status 200 content-type text/plain string "%s"
`, s.ports[0], s.ports[1], write(t, s, "both.pem", both), strings.Repeat("h", 600)))}
	}},
	{"h2o", "h2o", func(s *site) []door {
		return []door{{rv.ProtocolHTTP1, false, s.ports[0]}, {rv.ProtocolH2C, false, s.ports[0]}, {rv.ProtocolH2, true, s.ports[1]}, {rv.ProtocolHTTP1, true, s.ports[1]}}
	}, func(t *testing.T, s *site) []string {
		return []string{"-m", "worker", "-c", write(t, s, "h2o.conf", fmt.Sprintf(`num-threads: 1
listen: {host: 127.0.0.1, port: %d}
listen: {host: 127.0.0.1, port: %d, ssl: {certificate-file: %s, key-file: %s}}
hosts: {default: {paths: {/: {file.dir: %s/www}}}}
`, s.ports[0], s.ports[1], s.cert, s.key, s.dir))}
	}},
	{"apache2", "apache2", func(s *site) []door {
		return []door{{rv.ProtocolHTTP1, false, s.ports[0]}, {rv.ProtocolH2C, false, s.ports[0]}, {rv.ProtocolH2, true, s.ports[1]}}
	}, func(t *testing.T, s *site) []string {
		return []string{"-X", "-f", write(t, s, "apache.conf", fmt.Sprintf(`ServerRoot %[1]s
ServerName 127.0.0.1
PidFile %[1]s/apache.pid
ErrorLog %[1]s/error.log
DefaultRuntimeDir %[1]s
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule dir_module /usr/lib/apache2/modules/mod_dir.so
LoadModule http2_module /usr/lib/apache2/modules/mod_http2.so
LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so
User www-data
Group www-data
Listen 127.0.0.1:%[2]d
Listen 127.0.0.1:%[3]d
MaxKeepAliveRequests 0
DocumentRoot %[1]s/www
Protocols h2 h2c http/1.1
<VirtualHost 127.0.0.1:%[3]d>
SSLEngine on
SSLCertificateFile %[4]s
SSLCertificateKeyFile %[5]s
</VirtualHost>
`, s.dir, s.ports[0], s.ports[1], s.cert, s.key))}
	}},
	{"caddy", "caddy", func(s *site) []door {
		return []door{{rv.ProtocolHTTP1, false, s.ports[0]}, {rv.ProtocolH2, true, s.ports[1]}, {rv.ProtocolH3, true, s.ports[1]}}
	}, func(t *testing.T, s *site) []string {
		return []string{"run", "--adapter", "caddyfile", "--config", write(t, s, "Caddyfile", fmt.Sprintf(`{
  admin off
  auto_https off
}
http://127.0.0.1:%d {
  root * %s/www
  file_server
}
https://127.0.0.1:%[3]d, https://localhost:%[3]d {
  tls %[4]s %[5]s
  root * %[2]s/www
  file_server
}
`, s.ports[0], s.dir, s.ports[1], s.cert, s.key))}
	}},
	{"node", "nodejs", func(s *site) []door {
		return []door{{rv.ProtocolH2C, false, s.ports[0]}, {rv.ProtocolH2, true, s.ports[1]}, {rv.ProtocolHTTP1, false, s.ports[2]}}
	}, func(t *testing.T, s *site) []string {
		return []string{write(t, s, "server.js", fmt.Sprintf(`
const fs = require('fs'), http2 = require('http2'), http = require('http');
const answer = (q, r) => { q.resume(); q.on('end', () => { r.setHeader('x-large', 'l'.repeat(30000)); r.end('n'.repeat(600)); }); };
http2.createServer(answer).listen(%d, '127.0.0.1');
http2.createSecureServer({key: fs.readFileSync('%s'), cert: fs.readFileSync('%s')}, answer).listen(%d, '127.0.0.1');
http.createServer({maxHeaderSize: 65536}, answer).listen(%d, '127.0.0.1');
`, s.ports[0], s.key, s.cert, s.ports[1], s.ports[2]))}
	}},
	// It speaks HTTP/1.0, and answers the preface of HTTP/2 with a body without a header.
	{"python3", "python3", func(s *site) []door { return []door{{rv.ProtocolHTTP1, false, s.ports[0]}} }, func(_ *testing.T, s *site) []string {
		return []string{"-m", "http.server", "--bind", "127.0.0.1", "--directory", s.dir + "/www", fmt.Sprint(s.ports[0])}
	}},
}

func write(t *testing.T, s *site, name, text string) string {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // nginx's workers are another user
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// newSite makes a page of 612 bytes and a self-signed certificate for 127.0.0.1, valid until an
// instant.
func newSite(t *testing.T, until time.Time) *site {
	t.Helper()
	// Servers that root starts read the files as another user. TMPDIR may be a directory that only root reads.
	dir, err := os.MkdirTemp("/var/tmp", "conformance")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &site{dir: dir}
	for _, d := range []string{dir, dir + "/www"} {
		_ = os.Mkdir(d, 0o755) //nolint:gosec // as in write
		_ = os.Chmod(d, 0o755) //nolint:gosec // as in write
	}
	write(t, s, "www/index.html", strings.Repeat("p", 612))
	pair := certtest.New(t, x509.Certificate{
		Subject: pkix.Name{CommonName: "conformance"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: until, IsCA: true, BasicConstraintsValid: true,
	}, nil)
	s.cert, s.key = write(t, s, "cert.pem", pair.PEM()), write(t, s, "key.pem", pair.KeyPEM())
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s.ports = append(s.ports, l.Addr().(*net.TCPAddr).Port)
		_ = l.Close()
	}
	return s
}

// start runs a server until the test ends, or skips the test where the program is missing.
func (r *realServer) start(t *testing.T, s *site) {
	t.Helper()
	path, err := exec.LookPath(r.program)
	if err != nil {
		if path, err = exec.LookPath("/usr/sbin/" + r.program); err != nil {
			t.Skipf("SKIPPED: %s is not here: apt-get install %s", r.program, r.pkg)
		}
	}
	cmd := exec.Command(path, r.args(t, s)...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "HOME="+s.dir, "NODE_OPTIONS=")
	s.run(t, r.program, cmd)
	for _, d := range r.doors(s) {
		s.await(t, d.port)
	}
}

// run runs the program of a server until the test ends. Its output is the file log.
func (s *site) run(t *testing.T, name string, cmd *exec.Cmd) {
	t.Helper()
	log, err := os.Create(s.dir + "/log")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end(cmd)
		if t.Failed() {
			t.Logf("%s said:\n%s", name, read(t, s.dir+"/log"))
		}
	})
}

// runPython runs a server of testdata that needs a package of PyPI, or skips the test where that is missing.
func (s *site) runPython(t *testing.T, pkg, script string, args ...string) {
	t.Helper()
	python, err := filepath.Abs("../../bin/grpcio/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(python); err != nil {
		t.Skipf("SKIPPED: %s is not here: hack/site/venv.sh bin/grpcio test/conformance/requirements.txt", pkg)
	}
	s.run(t, pkg, exec.Command(python, append([]string{"testdata/" + script}, args...)...))
}

// end asks a server to end, so that it ends the workers it has made, and kills it if it does not.
func end(cmd *exec.Cmd) {
	late := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
}

func (s *site) await(t *testing.T, port int) {
	t.Helper()
	for range 200 {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = c.Close()
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("nothing listens on port %d: %s", port, read(t, s.dir+"/log"))
}

// through is a plan of GETs through a door.
func (s *site) through(d door, requests int64) *rv.Plan {
	p := newPlan(fmt.Sprintf("127.0.0.1:%d", d.port), d.protocol, requests)
	t := &p.Targets[0]
	t.Connections, t.MaxConcurrentStreams = 4, 10
	if d.secure {
		t.Endpoints[0].Scheme = "https"
		alpn := "http/1.1"
		if d.protocol != rv.ProtocolHTTP1 {
			alpn = string(d.protocol)
		}
		t.TLS = &rv.TLS{CAFile: s.cert, MinVersion: "1.2", MaxVersion: "1.3", ALPN: []string{alpn}}
		if d.protocol == rv.ProtocolH3 {
			t.TLS.ServerName = "localhost" // over QUIC, Caddy does not find a certificate by the IP address
		}
	}
	return p
}

// TestRealServers: every server over every protocol it speaks, in all the ways a user may set.
func TestRealServers(t *testing.T) {
	small, zero := uint32(70_000), uint32(0)
	ways := []struct {
		name string
		edit func(p *rv.Plan)
	}{
		{"closed loop", func(*rv.Plan) {}},
		{"at a rate", func(p *rv.Plan) { p.Rates[0] = rv.Rate{Name: "r", Count: 1000, Period: time.Second, Requests: 500} }},
		{"one stream", func(p *rv.Plan) { p.Targets[0].MaxConcurrentStreams = 1 }},
		{"small windows, no tables", func(p *rv.Plan) {
			p.Targets[0].HTTP2 = rv.HTTP2{StreamWindow: &small, ConnectionWindow: &small, HeaderTableSize: &zero, EncoderTableSize: &zero}
		}},
		{"retired connections", func(p *rv.Plan) { p.Targets[0].Connecting.MaxRequests = 20 }},
		{"HEAD", func(p *rv.Plan) { p.Chains[0].Steps[0].Method = http.MethodHead }},
		{"captured", func(p *rv.Plan) {
			p.Chains[0].Captures = []string{"type"}
			p.Chains[0].Steps[0].Capture = []rv.Capture{{Source: rv.Source{Kind: rv.SourceHeader, Name: "date"}}}
		}},
	}
	for i := range realServers {
		r := &realServers[i]
		t.Run(r.program, func(t *testing.T) {
			s := newSite(t, time.Now().Add(time.Hour))
			r.start(t, s)
			for _, d := range r.doors(s) {
				for _, way := range ways {
					t.Run(fmt.Sprintf("%s tls=%v %s", d.protocol, d.secure, way.name), func(t *testing.T) {
						if r.program == "h2o" && strings.Contains(way.name, "no tables") && d.protocol != rv.ProtocolHTTP1 {
							t.Skip("SKIPPED: h2o goes on indexing after SETTINGS_HEADER_TABLE_SIZE 0, without the update of RFC 7541 4.2; h2load refuses it too")
						}
						p := s.through(d, 500)
						way.edit(p)
						got := mustExecute(t, p).Counters
						if got.Sent != 500 || got.Succeeded != 500 {
							t.Errorf("%+v", got)
						}
					})
				}
			}
		})
	}
}

// TestDiscovery: the protocol that each server speaks without TLS is found.
func TestDiscovery(t *testing.T) {
	for i := range realServers {
		r := &realServers[i]
		t.Run(r.program, func(t *testing.T) {
			s := newSite(t, time.Now().Add(time.Hour))
			r.start(t, s)
			want := map[int]rv.Protocol{}
			for _, d := range r.doors(s) {
				if !d.secure && want[d.port] != rv.ProtocolH2C {
					want[d.port] = d.protocol
				}
			}
			for port, protocol := range want {
				got := mustExecute(t, s.through(door{rv.ProtocolDiscovered, false, port}, 50))
				if found := got.Found(0, 0); found.Protocol != protocol || got.Counters.Sent != 50 || got.Counters.Succeeded != 50 {
					t.Errorf("port %d: found %q, want %q, %+v", port, found, protocol, got.Counters)
				}
			}
		})
	}
}

// TestLargeBodies: 10 MB both ways against Go's server, over each protocol.
func TestLargeBodies(t *testing.T) {
	const size = 10 << 20
	large := make([]byte, size)
	for _, protocol := range []rv.Protocol{rv.ProtocolH2C, rv.ProtocolHTTP1} {
		t.Run(string(protocol), func(t *testing.T) {
			got := make(chan int64, 100)
			address := peer.Serve(t, protocol == rv.ProtocolH2C, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n, _ := io.Copy(io.Discard, r.Body)
				got <- n
				w.Header().Set("Trailer", "x-sum")
				w.WriteHeader(http.StatusEarlyHints)
				_, _ = w.Write(large)
				w.Header().Set("x-sum", "1")
			}))
			p := newPlan(address, protocol, 8)
			p.Targets[0].MaxConcurrentStreams = 4
			p.Chains[0].Steps[0].Method, p.Chains[0].Steps[0].Body = http.MethodPost, rv.Text{{Literal: string(large)}}
			setTimeout(p, time.Minute)
			s := mustExecute(t, p)
			if s.Counters.Succeeded != 8 || s.Counters.BytesReceived < 8*size || s.Counters.BytesSent < 8*size {
				t.Errorf("%+v", s.Counters)
			}
			for range 8 {
				if n := <-got; n != size {
					t.Errorf("a body arrived with %d octets", n)
				}
			}
		})
	}
}

// TestBadCertificates are told by name before any load.
func TestBadCertificates(t *testing.T) {
	r := &realServers[0]
	for _, tt := range []struct {
		name, want string
		until      time.Time
		edit       func(t *rv.TLS)
	}{
		{"expired", "has expired", time.Now().Add(-time.Hour), func(*rv.TLS) {}},
		{"wrong name", "set tls.serverName", time.Now().Add(time.Hour), func(t *rv.TLS) { t.ServerName = "other.test" }},
		{"unknown authority", "set tls.caFrom to the CA's certificate", time.Now().Add(time.Hour), func(t *rv.TLS) { t.CAFile = "" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, tt.until)
			r.start(t, s)
			p := s.through(r.doors(s)[2], 1)
			p.Targets[0].ConnectTimeout = time.Second
			tt.edit(p.Targets[0].TLS)
			_, err := execute(t, p)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

// TestIdleConnections: ten thousand of them, all in, below 64 KiB each. It runs in a process of
// its own, because what is looked at is the peak of the process.
func TestIdleConnections(t *testing.T) {
	if !alone(t) {
		return
	}
	const n = 10_000
	if raiseFiles() < n+1000 {
		t.Skip("SKIPPED: the limit of open files is too low for 10 000 connections in one process")
	}
	address := startTarget(t)
	before := resident(t)
	p := newPlan(address, rv.ProtocolH2C, 1)
	p.Targets[0].Connections, p.Targets[0].ConnectTimeout = n, 30*time.Second
	p.Rates[0] = rv.Rate{Name: "idle", Count: 1, Period: time.Second, Duration: 3 * time.Second}
	s := mustExecute(t, p)
	grown := resident(t) - before
	t.Logf("FIGURE %d idle connections: %d KiB each, all in", s.Counters.Connects, grown/n/1024)
	if s.Counters.Connects != n || grown > n*64<<10 {
		t.Errorf("%d connections, %d bytes each", s.Counters.Connects, grown/n)
	}
}
