//go:build conformance

package conformance

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip" // for compressed messages
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/test/certtest"
)

// octets is a codec of messages that are encoded already.
type octets struct{}

func (octets) Name() string                  { return "proto" }
func (octets) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }
func (octets) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}

// callServers serve Echo: the field do of the metadata says how. start starts a server that ends connections of an
// age, or does not end them if it is 0.
var callServers = []startableServer{{"grpc-go", startGRPCGo}, {"grpc-go over TLS", startGRPCGoTLS}, {"grpcio", startGRPCIO}}

type startableServer struct {
	name  string
	start func(t *testing.T, age time.Duration) callServer
}

// callServer is a server that runs. caFile has its certificate authority; empty: it has no TLS. otherCodes are the codes
// that the library of the server sends in place of those of the rows, by row.
type callServer struct {
	address, caFile string
	otherCodes      map[string]string
}

// secure makes the plan use the TLS of the server.
func (s callServer) secure(p *rv.Plan) {
	if s.caFile == "" {
		return
	}
	target := &p.Targets[0]
	target.Protocol, target.Endpoints[0].Scheme = rv.ProtocolH2, "https"
	target.TLS = &rv.TLS{CAFile: s.caFile, MinVersion: "1.2", MaxVersion: "1.3", ALPN: []string{"h2"}}
}

// echoServer is the server of grpc-go.
type echoServer struct {
	sync.Mutex
	counts map[string]int64
}

func startGRPCGo(t *testing.T, age time.Duration) callServer {
	return callServer{address: serveGRPCGo(t, age, insecure.NewCredentials())}
}

func startGRPCGoTLS(t *testing.T, age time.Duration) callServer {
	pair := certtest.New(t, x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}, nil)
	caFile, _ := pair.Write(t, t.TempDir())
	return callServer{address: serveGRPCGo(t, age, credentials.NewServerTLSFromCert(new(pair.TLS()))), caFile: caFile}
}

// serveGRPCGo returns the address of a server of grpc-go.
func serveGRPCGo(t *testing.T, age time.Duration, secured credentials.TransportCredentials) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &echoServer{counts: map[string]int64{}}
	s := grpc.NewServer(grpc.Creds(secured), grpc.ForceServerCodec(octets{}), grpc.UnknownServiceHandler(e.serve), grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: age}))
	go s.Serve(l) //nolint:errcheck // ends with Stop
	t.Cleanup(s.Stop)
	return l.Addr().String()
}

func (e *echoServer) count(name string) {
	e.Lock()
	defer e.Unlock()
	e.counts[name]++
}

func (e *echoServer) serve(_ any, stream grpc.ServerStream) error {
	full, _ := grpc.MethodFromServerStream(stream)
	_, method, _ := strings.Cut(full[1:], "/")
	switch method {
	case "Counts":
		e.Lock()
		defer e.Unlock()
		b, err := json.Marshal(e.counts)
		if err != nil {
			return err
		}
		return stream.SendMsg(&b)
	case "Missing":
		return grpcstatus.Error(codes.Unimplemented, "")
	}
	e.count("calls")
	fields, _ := metadata.FromIncomingContext(stream.Context())
	do := strings.Join(fields["do"], "")
	switch by, has := stream.Context().Deadline(); {
	case do == "sleep":
		<-stream.Context().Done()
		e.count("ended")
		return grpcstatus.FromContextError(stream.Context().Err()).Err()
	case do == "compress":
		if err := grpc.SetSendCompressor(stream.Context(), "gzip"); err != nil {
			return err
		}
	case do == "details":
		stream.SetTrailer(metadata.Pairs("grpc-status-details-bin", details))
		return grpcstatus.Error(codes.ResourceExhausted, "none")
	case do == "deadline" && (!has || time.Until(by) > 5*time.Second):
		return grpcstatus.Error(codes.FailedPrecondition, "no deadline within 5 s")
	}
	return e.answer(stream, method, do)
}

// answer sends the messages of a response.
func (e *echoServer) answer(stream grpc.ServerStream, method, do string) error {
	text := []byte("\x0a\x02ok")
	if do == "large" {
		text = []byte("\x0a\x90\x4e" + strings.Repeat("x", 10_000))
	}
	exhausted := grpcstatus.Error(codes.ResourceExhausted, "none left, 100 %")
	send := func() error {
		e.count("sent")
		if err := stream.SendMsg(&text); err != nil || do != "exhausted" {
			return err
		}
		return exhausted
	}
	for {
		var message []byte
		if err := stream.RecvMsg(&message); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		e.count("received")
		if method == "Both" {
			if err := send(); err != nil {
				return err
			}
		}
	}
	if method == "Unary" && do == "exhausted" {
		return exhausted
	}
	for range map[string]int{"Unary": 1, "Upload": 1, "Download": 3}[method] {
		if err := send(); err != nil {
			return err
		}
	}
	return nil
}

func startGRPCIO(t *testing.T, age time.Duration) callServer {
	s := newSite(t, time.Now().Add(time.Hour))
	s.runPython(t, "grpcio", "echo.py", fmt.Sprint(s.ports[0]), fmt.Sprint(age.Milliseconds()))
	s.await(t, s.ports[0])
	return callServer{address: fmt.Sprintf("127.0.0.1:%d", s.ports[0])}
}

// served returns what a server counted so far.
func served(t *testing.T, by callServer) map[string]int64 {
	t.Helper()
	trusted := insecure.NewCredentials()
	if by.caFile != "" {
		var err error
		if trusted, err = credentials.NewClientTLSFromFile(by.caFile, "127.0.0.1"); err != nil {
			t.Fatal(err)
		}
	}
	c, err := grpc.NewClient("passthrough:///"+by.address, grpc.WithTransportCredentials(trusted), grpc.WithDefaultCallOptions(grpc.ForceCodec(octets{})))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // only one call is made
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	in, out := []byte{}, []byte{}
	if err := c.Invoke(ctx, "/test.Echo/Counts", &in, &out); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int64{}
	if err := json.Unmarshal(out, &counts); err != nil {
		t.Fatal(err)
	}
	return counts
}

// callRow is a method that is called, and what must be counted for each call.
type callRow struct {
	name, method, do string
	messages         []string
	age              time.Duration
	edit             func(p *rv.Plan)
	// failedBy is the check that all calls fail; timedOut: they take too long. orReset: the server resets some of them instead.
	failedBy          string
	timedOut, orReset bool
	// server has what the server counts for each call; -1: any number.
	server map[string]int64
}

func header(name, value string) func(p *rv.Plan) {
	return func(p *rv.Plan) {
		s := &p.Chains[0].Steps[0]
		s.Headers = append(s.Headers, rv.Header{Name: text(name), Value: text(value)})
	}
}

func compressed(p *rv.Plan) { p.Chains[0].Steps[0].GRPC.Gzip = true }

// details is a google.rpc.Status with a Text as its detail.
const details = "\x08\x08\x12\x04none\x1a\x28\x0a\x1dtype.googleapis.com/test.Text\x12\x07\x0a\x05quota"

var callRows = []callRow{
	{name: "unary", method: "Unary", do: "deadline", messages: []string{"x"}, server: map[string]int64{"calls": 1, "received": 1, "sent": 1}},
	{name: "a stream of the server", method: "Download", do: "deadline", messages: []string{"x"}, server: map[string]int64{"calls": 1, "received": 1, "sent": 3}},
	{name: "a stream of the client", method: "Upload", messages: []string{"x", "y", "z"}, server: map[string]int64{"calls": 1, "received": 3, "sent": 1}},
	{name: "both streams", method: "Both", messages: []string{"x", "y", "z"}, server: map[string]int64{"calls": 1, "received": 3, "sent": 3}},
	{name: "compressed", method: "Both", messages: []string{strings.Repeat("x", 1000), "y"}, server: map[string]int64{"calls": 1, "received": 2, "sent": 2}, edit: compressed},
	{name: "a compressed response", method: "Download", do: "compress", messages: []string{"x"}, server: map[string]int64{"calls": 1, "received": 1, "sent": 3}},
	{name: "details of a code", method: "Unary", do: "details", messages: []string{"x"}, server: map[string]int64{"calls": 1}, edit: func(p *rv.Plan) {
		check := func(name string, from rv.Source, want string) rv.Check {
			return rv.Check{Name: name, Source: &from, Match: &rv.Match{Op: rv.MatchEquals, Want: text(want)}}
		}
		p.Chains[0].Steps[0].Expect.Checks = []rv.Check{
			check("code", rv.Source{Kind: rv.SourceHeader, Name: "grpc-status"}, "8"),
			check("type", rv.Source{Kind: rv.SourceJSONPointer, Pointer: "/details/0/@type"}, "type.googleapis.com/test.Text"),
			check("text", rv.Source{Kind: rv.SourceJSONPointer, Pointer: "/details/0/text"}, "quota"),
		}
	}},
	{name: "waits", method: "Both", messages: []string{"x", "y", "z"}, server: map[string]int64{"calls": 1, "received": 3, "sent": 3}, edit: func(p *rv.Plan) {
		p.Chains[0].Steps[0].GRPC.Waits = []rv.Wait{{Before: 1, Answers: 1}, {Before: 2, Delay: 20 * time.Millisecond}, {Before: 3, Answers: 2}}
	}},
	{name: "a code while the request waits", method: "Both", do: "exhausted", messages: []string{"x", "y"}, failedBy: "RESOURCE_EXHAUSTED", server: map[string]int64{"calls": 1, "received": 1, "sent": 1},
		edit: func(p *rv.Plan) { p.Chains[0].Steps[0].GRPC.Waits = []rv.Wait{{Before: 1, Answers: 2}} }},
	{name: "connections that end", method: "Both", messages: []string{"x", "y"}, age: 100 * time.Millisecond, server: map[string]int64{"calls": 1, "received": 2, "sent": 2},
		edit: func(p *rv.Plan) { p.Rates[0] = rv.Rate{Name: "r", Count: 200, Period: time.Second, Requests: 200} }},
	{name: "a code in Trailers-Only", method: "Unary", do: "exhausted", messages: []string{"x"}, failedBy: "RESOURCE_EXHAUSTED", server: map[string]int64{"calls": 1, "received": 1}},
	{name: "a code in a stream", method: "Download", do: "exhausted", messages: []string{"x"}, failedBy: "RESOURCE_EXHAUSTED", server: map[string]int64{"calls": 1, "received": 1, "sent": 1}},
	{name: "an unknown method", method: "Missing", messages: []string{"x"}, failedBy: "UNIMPLEMENTED"},
	{name: "a request above the limit of the server", method: "Unary", messages: []string{strings.Repeat("x", 4<<20)}, failedBy: "RESOURCE_EXHAUSTED", server: map[string]int64{"calls": 1, "received": -1, "sent": -1}},
	{name: "a message above maxBodyBytes", method: "Unary", do: "large", messages: []string{"x"}, failedBy: rv.CheckBody, server: map[string]int64{"calls": 1, "received": 1, "sent": 1},
		edit: func(p *rv.Plan) { p.Chains[0].Steps[0].MaxBody = 5000 }},
	{name: "a deadline that the server keeps", method: "Unary", do: "sleep", messages: []string{"x"}, failedBy: "DEADLINE_EXCEEDED", orReset: true, edit: func(p *rv.Plan) { p.Chains[0].Steps[0].GRPC.Deadline = 50 * time.Millisecond },
		server: map[string]int64{"calls": 1, "received": -1, "ended": 1}},
	{name: "a deadline that the runner keeps", method: "Download", do: "sleep", messages: []string{"x"}, timedOut: true, server: map[string]int64{"calls": 1, "received": -1, "ended": 1},
		edit: func(p *rv.Plan) {
			setTimeout(p, 50*time.Millisecond)
			p.Chains[0].Steps[0].GRPC.Deadline = 50 * time.Millisecond
			header("grpc-timeout", "1M")(p)
		}},
}

// TestCallServers: every server counts as many calls and messages as were sent, and each call ends as the server says.
func TestCallServers(t *testing.T) { runCallServers(t, callServers) }

func runCallServers(t *testing.T, servers []startableServer) {
	for _, server := range servers {
		t.Run(server.name, func(t *testing.T) {
			started := map[time.Duration]callServer{}
			for _, row := range callRows {
				if started[row.age].address == "" {
					started[row.age] = server.start(t, row.age)
				}
				t.Run(row.name, func(t *testing.T) { row.run(t, started[row.age]) })
			}
		})
	}
}

func (row *callRow) run(t *testing.T, server callServer) {
	n := int64(200)
	if len(row.messages[0]) > 1<<20 {
		n = 8
	}
	p := newCalls(server.address, n, row.method, row.messages...)
	server.secure(p)
	p.Targets[0].Connections, p.Targets[0].MaxConcurrentStreams = 4, 10
	if header("do", row.do)(p); row.edit != nil {
		row.edit(p)
	}
	before := served(t, server)
	c := mustExecute(t, p)
	got := &c.Steps[0]
	want := row.want(server, n, got.Reset)
	if got.Sent != want.Sent || got.Succeeded != want.Succeeded || got.TimedOut != want.TimedOut || got.FailedChecks != want.FailedChecks || !maps.Equal(got.FailedBy, want.FailedBy) {
		t.Errorf("%+v, failed by %v, want %+v, %v", got.Outcomes, got.FailedBy, want.Outcomes, want.FailedBy)
	}
	if opened, kept := c.Counters.Connects, int64(p.Targets[0].Connections); row.age > 0 && opened <= kept {
		t.Errorf("%d connections, want more than %d", opened, kept)
	}
	row.checkTimes(t, got, n)
	row.compare(t, server, before, n)
}

// want returns the counts of n calls, of which the server has reset some.
func (row *callRow) want(server callServer, n, reset int64) (out rv.StepCounters) {
	out.Sent = n
	switch {
	case row.timedOut:
		out.TimedOut = n
	case row.failedBy != "":
		if row.orReset { // a server resets a call whose deadline passes, or answers it, whichever comes first
			n -= reset
		}
		if out.FailedChecks = n; n > 0 {
			out.FailedBy = map[string]int64{cmp.Or(server.otherCodes[row.name], row.failedBy): n}
		}
	default:
		out.Succeeded = n
	}
	return out
}

// checkTimes counts the times of the messages of streams.
func (row *callRow) checkTimes(t *testing.T, got *rv.StepCounters, n int64) {
	t.Helper()
	first, sent, last := n, row.server["sent"], n
	if row.method != "Download" && row.method != "Both" || sent == 0 {
		first, last = 0, 0
	}
	if f, b, l := got.FirstMessage.Count, got.BetweenMessages.Count, got.LastMessage.Count; f != first || b != first*max(0, sent-1) || l != last {
		t.Errorf("times of %d first messages, %d others, %d last; want %d, %d, %d", f, b, l, first, first*max(0, sent-1), last)
	}
}

// compare waits until the server has counted n calls since before: it can see the end of a cancelled call late.
func (row *callRow) compare(t *testing.T, server callServer, before map[string]int64, n int64) {
	t.Helper()
	var diff map[string][2]int64
	for range 100 {
		after := served(t, server)
		diff = map[string][2]int64{}
		for _, name := range []string{"calls", "received", "sent", "ended"} {
			if got := after[name] - before[name]; got != n*row.server[name] && row.server[name] >= 0 {
				diff[name] = [2]int64{got, n * row.server[name]}
			}
		}
		if len(diff) == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("the server counted %v: got, want", diff)
}
