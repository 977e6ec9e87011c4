package mock

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/h2surge/h2surge/internal/mock/rules"
	"github.com/h2surge/h2surge/internal/reflection"
	h2grpc "github.com/h2surge/h2surge/runner/grpc"
	"github.com/h2surge/h2surge/runner/h2"
)

const probeProto = `syntax = "proto3";
package probe.v1;
import "health.proto";
service Probe {
  rpc Echo(grpc.health.v1.HealthCheckRequest) returns (grpc.health.v1.HealthCheckRequest);
  rpc Fail(grpc.health.v1.HealthCheckRequest) returns (grpc.health.v1.HealthCheckRequest);
  rpc Watch(grpc.health.v1.HealthCheckRequest) returns (stream grpc.health.v1.HealthCheckRequest);
  rpc Last(stream grpc.health.v1.HealthCheckRequest) returns (grpc.health.v1.HealthCheckRequest);
  rpc Chat(stream grpc.health.v1.HealthCheckRequest) returns (stream grpc.health.v1.HealthCheckRequest);
  rpc Talk(stream grpc.health.v1.HealthCheckRequest) returns (stream grpc.health.v1.HealthCheckRequest);
  rpc Upload(stream grpc.health.v1.HealthCheckRequest) returns (grpc.health.v1.HealthCheckRequest);
  rpc None(grpc.health.v1.HealthCheckRequest) returns (grpc.health.v1.HealthCheckRequest);
}`

const probeRules = `
apiVersion: h2surge.io/v1alpha1
kind: Target
protoFiles: [health.proto, probe.proto]
rules:
  - {name: echo, match: {path: /probe.v1.Probe/Echo}, responses: [{headers: [{name: x-seen, value: "yes"}], body: '{"service": "${json:/service}"}'}]}
  - name: full
    match: {path: /probe.v1.Probe/Echo, body: [{jsonPointer: /service, equals: full}]}
    responses: [{grpc: {status: RESOURCE_EXHAUSTED, message: "100% of ${json:/service}: ä"}}]
  - {name: wrong, match: {path: /probe.v1.Probe/Echo, body: [{jsonPointer: /service, equals: wrong}]}, responses: [{body: '{"${json:/service}": 1}'}]}
  - {name: fail, match: {path: /probe.v1.Probe/Fail}, responses: [{problem: {status: 403, cause: NOT_ALLOWED}}]}
  - {name: watch, match: {path: /probe.v1.Probe/Watch}, responses: [{body: '[{"service": "a"}, {}, {"service": "${json:/service}"}]'}]}
  - {name: last, match: {path: /probe.v1.Probe/Last}, responses: [{body: '{"service": "${json:/-1/service}"}', delay: {fixed: 1ms}}]}
  - {name: chat, match: {path: "/probe.v1.Probe/{method}", headers: [{name: ":path", endsWith: Chat}]}, responses: [{body: "${request.body}"}]}
  - {name: slow, match: {path: /probe.v1.Probe/Watch, headers: [{name: x-slow, exists: true}]}, responses: [{body: '[{"service": "a"}, {}, {"service": "c"}]', pause: {fixed: 1ms}}]}
  - {name: talk, match: {path: /probe.v1.Probe/Talk, eachMessage: true}, responses: [{body: '[{"service": "re: ${json:/service}"}, {}]'}]}
  - {name: quiet, match: {path: /probe.v1.Probe/Talk, eachMessage: true, body: [{jsonPointer: /service, startsWith: quiet}]}, responses: [{unanswered: 1}]}
  - {name: stop, match: {path: /probe.v1.Probe/Talk, eachMessage: true, body: [{jsonPointer: /service, equals: stop}]}, responses: [{grpc: {status: ABORTED, message: "stopped"}}]}
  - {name: cut, match: {path: /probe.v1.Probe/Talk, eachMessage: true, body: [{jsonPointer: /service, equals: cut}]}, responses: [{reset: 1}]}
  - {name: closed, match: {path: /probe.v1.Probe/Talk, eachMessage: true, body: [{jsonPointer: /service, equals: closed}]}, responses: [{close: 1}]}
  - {name: upload, match: {path: /probe.v1.Probe/Upload}, responses: [{body: '{"service": "${json:/-1/service}"}'}]}
  - {name: refused, match: {path: /probe.v1.Probe/Upload, eachMessage: true, body: [{jsonPointer: /service, equals: bad}]}, responses: [{grpc: {status: INVALID_ARGUMENT}}]}
  - {name: enough, match: {path: /probe.v1.Probe/Upload, eachMessage: true, body: [{jsonPointer: /service, equals: enough}]}, responses: [{body: '{"service": "got enough"}'}]}
  - {name: check, match: {path: /grpc.health.v1.Health/Check}, responses: [{reset: 100%}]}
`

// probeSet returns rules with the services probe.v1.Probe and grpc.health.v1.Health.
func probeSet(t *testing.T) *rules.Set {
	t.Helper()
	dir := t.TempDir()
	healthProto, err := os.ReadFile("../../config/samples/targets/health.proto")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"health.proto": string(healthProto), "probe.proto": probeProto} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, err := rules.Load([]byte(probeRules), dir)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// serveProbe serves the rules of probeSet, and returns a client of grpc-go.
func serveProbe(t *testing.T) (*Server, *grpc.ClientConn) {
	t.Helper()
	s := start(t, Options{Rules: probeSet(t), Seed: 1}, (*Server).Serve)
	conn, err := grpc.NewClient(s.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return s, conn
}

// call calls a method with the messages of a stream, and returns those of the response.
func call(ctx context.Context, conn *grpc.ClientConn, method string, messages []string, options ...grpc.CallOption) (got []string, header metadata.MD, err error) {
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method, options...)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range messages {
		if err := stream.SendMsg(&health.HealthCheckRequest{Service: m}); err != nil {
			return nil, nil, err
		}
	}
	if err := stream.CloseSend(); err != nil {
		return nil, nil, err
	}
	for {
		m := &health.HealthCheckRequest{}
		if err = stream.RecvMsg(m); err != nil {
			header, _ = stream.Header()
			break
		}
		got = append(got, m.GetService())
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return got, header, err
}

// TestCalls: a client of grpc-go gets what the rules say, by unary calls and by streams.
func TestCalls(t *testing.T) {
	s, conn := serveProbe(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	long := strings.Repeat("long ", 100_000) // above the first windows
	for _, tt := range []struct {
		method  string
		send    []string
		want    []string
		code    codes.Code
		message string
	}{
		{"Echo", []string{`a "name"`}, []string{`a "name"`}, codes.OK, ""},
		{"Echo", []string{long}, []string{long}, codes.OK, ""},
		{"Echo", []string{"full"}, nil, codes.ResourceExhausted, "100% of full: ä"},
		{"Echo", []string{"wrong"}, nil, codes.Internal, `the body of the rule: wrong: grpc.health.v1.HealthCheckRequest has no such field`},
		{"Echo", []string{"a", "b"}, nil, codes.Internal, "the request has a second message"},
		{"Fail", []string{"a"}, nil, codes.PermissionDenied, "NOT_ALLOWED"},
		{"Watch", []string{"b"}, []string{"a", "", "b"}, codes.OK, ""},
		{"Last", []string{"a", "b"}, []string{"b"}, codes.OK, ""},
		{"Chat", []string{"a", "b", ""}, []string{"a", "b", ""}, codes.OK, ""},
		{"Chat", nil, nil, codes.OK, ""},
		{"Talk", []string{"a", "quiet", "b"}, []string{"re: a", "", "re: b", ""}, codes.OK, ""},
		{"Talk", []string{long}, []string{"re: " + long, ""}, codes.OK, ""},
		{"Talk", nil, nil, codes.OK, ""},
		{"Talk", []string{"stop"}, nil, codes.Aborted, "stopped"},
		{"Talk", []string{"a", "stop"}, []string{"re: a", ""}, codes.Aborted, "stopped"},
		{"Upload", []string{"a", "b"}, []string{"b"}, codes.OK, ""},
		{"Upload", []string{"enough"}, []string{"got enough"}, codes.OK, ""},
		{"Upload", []string{"a", "bad"}, nil, codes.InvalidArgument, ""},
		{"None", []string{"a"}, nil, codes.Unimplemented, "no rule of this target matches POST /probe.v1.Probe/None"},
		{"Other", []string{"a"}, nil, codes.Unimplemented, "protoFiles have no such method"},
	} {
		got, header, err := call(ctx, conn, "/probe.v1.Probe/"+tt.method, tt.send)
		if diff := cmp.Diff(tt.want, got); diff != "" || status.Code(err) != tt.code || status.Convert(err).Message() != tt.message {
			t.Errorf("%s(%.20q): %v (-want +got):\n%.500s", tt.method, tt.send, err, diff)
		}
		if tt.method == "Echo" && tt.code == codes.OK && len(header.Get("x-seen")) != 1 {
			t.Errorf("metadata %v", header)
		}
	}
	got, _, err := call(ctx, conn, "/probe.v1.Probe/Echo", []string{"zipped"}, grpc.UseCompressor(gzip.Name))
	if err != nil || !cmp.Equal(got, []string{"zipped"}) {
		t.Errorf("a compressed call: %q, %v", got, err)
	}
	if _, err := health.NewHealthClient(conn).Check(ctx, &health.HealthCheckRequest{}); status.Code(err) != codes.Internal {
		t.Errorf("a stream that is reset: %v", err)
	}
	want := map[string]uint64{"OK": 12, "RESOURCE_EXHAUSTED": 1, "INTERNAL": 2, "PERMISSION_DENIED": 1, "UNIMPLEMENTED": 2, "ABORTED": 2, "INVALID_ARGUMENT": 1}
	st := s.Stats()
	if diff := cmp.Diff(want, st.ByCode); diff != "" || st.Answered != 21 || st.Unanswered != 1 || st.Pending != 0 || st.Unmatched != 3 {
		t.Errorf("%d answered, %d not, %d pending, %d unmatched; codes (-want +got):\n%s", st.Answered, st.Unanswered, st.Pending, st.Unmatched, diff)
	}
}

// TestConversations: a stream gets answers before it ends, and pauses between them.
func TestConversations(t *testing.T) {
	s, conn := serveProbe(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	begin := func(method string) grpc.ClientStream {
		stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/probe.v1.Probe/"+method)
		if err != nil {
			t.Fatal(err)
		}
		return stream
	}
	send := func(stream grpc.ClientStream, text string) {
		if err := stream.SendMsg(&health.HealthCheckRequest{Service: text}); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(stream grpc.ClientStream, text string, want error) {
		t.Helper()
		m := &health.HealthCheckRequest{}
		if err := stream.RecvMsg(m); m.GetService() != text || status.Code(err) != status.Code(want) || want == nil && err != nil {
			t.Fatalf("%q, %v; want %q, %v", m.GetService(), err, text, want)
		}
	}
	talk := begin("Talk")
	for _, text := range []string{"a", "b"} {
		send(talk, text)
		expect(talk, "re: "+text, nil)
		expect(talk, "", nil)
	}
	if err := talk.CloseSend(); err != nil {
		t.Fatal(err)
	}
	expect(talk, "", io.EOF)
	stopped, reset, refused := begin("Talk"), begin("Talk"), begin("Upload")
	send(stopped, "a")
	expect(stopped, "re: a", nil)
	expect(stopped, "", nil)
	send(stopped, "stop")
	expect(stopped, "", status.Error(codes.Aborted, ""))
	send(reset, "a")
	send(reset, "cut")
	expect(reset, "re: a", nil)
	expect(reset, "", nil)
	expect(reset, "", status.Error(codes.Internal, ""))
	send(refused, "bad")
	expect(refused, "", status.Error(codes.InvalidArgument, ""))
	slow := metadata.AppendToOutgoingContext(ctx, "x-slow", "yes")
	if got, _, err := call(slow, conn, "/probe.v1.Probe/Watch", []string{""}); err != nil || !cmp.Equal(got, []string{"a", "", "c"}) {
		t.Errorf("a stream with pauses: %q, %v", got, err)
	}
	gone, leave := context.WithCancel(ctx)
	left, err := conn.NewStream(gone, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/probe.v1.Probe/Talk")
	if err != nil {
		t.Fatal(err)
	}
	send(left, "a")
	expect(left, "re: a", nil)
	leave()
	for s.Stats().Pending > 0 {
		time.Sleep(time.Millisecond)
	}
	if st := s.Stats(); st.Answered != 4 || st.Unanswered != 1 || st.Aborted != 1 {
		t.Errorf("%+v", st)
	}
}

// TestClosedCalls: a rule for messages closes a connection, and the target serves the next one.
func TestClosedCalls(t *testing.T) {
	s, conn := serveProbe(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if got, _, err := call(ctx, conn, "/probe.v1.Probe/Talk", []string{"closed"}); status.Code(err) != codes.Unavailable || len(got) > 0 {
		t.Errorf("a connection that is closed: %q, %v", got, err)
	}
	if got, _, err := call(ctx, conn, "/probe.v1.Probe/Echo", []string{"a"}); err != nil || !cmp.Equal(got, []string{"a"}) {
		t.Errorf("the next call: %q, %v", got, err)
	}
	if st := s.Stats(); st.Pending != 0 || closedBy(st, "closed") != 1 {
		t.Errorf("%+v", st)
	}
}

func closedBy(st Stats, rule string) uint64 {
	for _, r := range st.Rules {
		if r.Name == rule {
			return r.Closed
		}
	}
	return 0
}

// TestInputAfterClose: a stream that closes its connection ends in the same input, when another one has its exchange.
func TestInputAfterClose(t *testing.T) {
	m := newMemory(t, Options{Rules: probeSet(t)})
	message, err := proto.Marshal(&health.HealthCheckRequest{Service: "closed"})
	if err != nil {
		t.Fatal(err)
	}
	first, second := m.id, m.id+2
	in := m.begin("POST", "/probe.v1.Probe/Talk", "content-type", "application/grpc")
	in = h2.AppendData(in, first, false, append([]byte{0, 0, 0, 0, byte(len(message))}, message...))
	in = append(in, m.begin("POST", "/probe.v1.Probe/Talk", "content-type", "application/grpc")...)
	in = h2.AppendData(in, first, false, []byte("more"))
	in = h2.AppendData(in, first, true, nil)
	if out := streams(m.at(0, in)); len(out) > 0 || !m.c.cut {
		t.Errorf("responses to %v, cut: %v", out, m.c.cut)
	}
	if st := m.c.srv.Stats(); st.Pending != 1 || closedBy(st, "closed") != 1 {
		t.Errorf("%+v", st)
	}
	if out := streams(m.at(0, h2.AppendData(nil, second, true, nil))); !cmp.Equal(out, []uint32{second, second}) {
		t.Errorf("headers and trailers on %v, want those of %d", out, second)
	}
}

// TestReflection: the target answers questions of reflection, one after another on a stream, and clients find its files.
func TestReflection(t *testing.T) {
	s, conn := serveProbe(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	server := &reflection.Server{Transport: transport, Base: "http://" + s.Addr().String()}
	services, err := server.Services(ctx)
	if want := []string{"grpc.health.v1.Health", "probe.v1.Probe"}; err != nil || !cmp.Equal(services, want) {
		t.Fatalf("%q, %v", services, err)
	}
	set, err := server.Files(ctx, services)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := h2grpc.NewSchema([]h2grpc.File{{Name: "set.binpb", Content: set}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := schema.Method("probe.v1.Probe", "Talk"); err != nil {
		t.Error(err)
	}
	if _, err := server.Files(ctx, []string{"probe.v1.Other"}); err == nil || !strings.Contains(err.Error(), "not found: probe.v1.Other") {
		t.Error(err)
	}
	stream, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		question := &reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_FileByFilename{FileByFilename: "probe.proto"}}
		if err := stream.Send(question); err != nil {
			t.Fatal(err)
		}
		answer, err := stream.Recv()
		if err != nil || len(answer.GetFileDescriptorResponse().GetFileDescriptorProto()) != 2 || answer.GetOriginalRequest().GetFileByFilename() != "probe.proto" {
			t.Fatal(answer, err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// TestSampleOfCalls is a conversation with the registry of the samples.
func TestSampleOfCalls(t *testing.T) {
	set, err := rules.LoadFile("../../config/samples/targets/grpc.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, Options{Rules: set}, (*Server).Serve)
	conn, err := grpc.NewClient(s.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r, err := health.NewHealthClient(conn).Check(t.Context(), &health.HealthCheckRequest{})
	if err != nil || r.GetStatus() != health.HealthCheckResponse_SERVING {
		t.Error(r, err)
	}
	// The first field of each of these messages is a string, the id.
	const management = "/registry.v1.Management/"
	for _, tt := range []struct {
		method, id string
		want       []string
		code       codes.Code
	}{
		{management + "Register", "7", []string{"7"}, codes.OK},
		{management + "Register", "", nil, codes.InvalidArgument},
		{"/registry.v1.Discovery/Search", "", []string{"7"}, codes.OK},
		{management + "Deregister", "7", []string{""}, codes.OK},
		{management + "Deregister", "7", nil, codes.NotFound},
	} {
		if got, _, err := call(t.Context(), conn, tt.method, []string{tt.id}); status.Code(err) != tt.code || !cmp.Equal(tt.want, got) {
			t.Errorf("%s(%q): %q, %v; want %q, %v", tt.method, tt.id, got, err, tt.want, tt.code)
		}
	}
}
