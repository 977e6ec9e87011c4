package mock

import (
	"context"
	"errors"
	"io"
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
	"google.golang.org/grpc/status"

	"github.com/h2surge/h2surge/internal/mock/rules"
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
  - {name: check, match: {path: /grpc.health.v1.Health/Check}, responses: [{reset: 100%}]}
`

// serveProbe serves rules with the services probe.v1.Probe and grpc.health.v1.Health, and returns a client of grpc-go.
func serveProbe(t *testing.T) (*Server, *grpc.ClientConn) {
	t.Helper()
	dir := t.TempDir()
	proto, err := os.ReadFile("../../config/samples/targets/health.proto")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"health.proto": string(proto), "probe.proto": probeProto} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, err := rules.Load([]byte(probeRules), dir)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, Options{Rules: set, Seed: 1}, (*Server).Serve)
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
	want := map[string]uint64{"OK": 7, "RESOURCE_EXHAUSTED": 1, "INTERNAL": 2, "PERMISSION_DENIED": 1, "UNIMPLEMENTED": 2}
	st := s.Stats()
	if diff := cmp.Diff(want, st.ByCode); diff != "" || st.Answered != 13 || st.Unanswered != 1 {
		t.Errorf("%d answered, %d not; codes (-want +got):\n%s", st.Answered, st.Unanswered, diff)
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
