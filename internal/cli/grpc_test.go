package cli

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"github.com/h2surge/h2surge/internal/mock"
	"github.com/h2surge/h2surge/internal/mock/rules"
	"github.com/h2surge/h2surge/test/certtest"
	"github.com/h2surge/h2surge/test/golden"
	"github.com/h2surge/h2surge/test/markdown"
)

// healthProto is the part of grpc.health.v1 that the tests need.
const healthProto = `syntax = "proto3";
package grpc.health.v1;
message HealthCheckRequest { string service = 1; }
message HealthCheckResponse {
  enum ServingStatus { UNKNOWN = 0; SERVING = 1; NOT_SERVING = 2; SERVICE_UNKNOWN = 3; }
  ServingStatus status = 1;
}
service Health { rpc Check(HealthCheckRequest) returns (HealthCheckResponse); }
`

// grpcServer serves health checks of the service "orders" with grpc-go, and counts the calls. It returns its URL and the
// path of its proto file.
func grpcServer(t *testing.T) (url, proto string, calls *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	calls = new(atomic.Int64)
	s := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, in any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		calls.Add(1)
		if _, timed := ctx.Deadline(); !timed {
			t.Error("a call without a deadline")
		}
		return next(ctx, in)
	}))
	checks := health.NewServer()
	checks.SetServingStatus("orders", grpc_health_v1.HealthCheckResponse_SERVING)
	grpc_health_v1.RegisterHealthServer(s, checks)
	reflection.Register(s)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	proto = filepath.Join(t.TempDir(), "health.proto")
	if err := os.WriteFile(proto, []byte(healthProto), 0o600); err != nil {
		t.Fatal(err)
	}
	return "http://" + l.Addr().String(), proto, calls
}

const calls = `
apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: calls}
spec:
  targets: [{name: orders, url: "URL", protoFrom: [{file: PROTO}]}]
  variables: [{name: name, list: {values: [SERVICES]}}]
  chains:
    - name: health
      target: orders
      steps:
        - name: check
          request:
            grpc: {service: grpc.health.v1.Health, method: Check, message: {service: "${name}"}}
            expect: {checks: [CHECK]}
            capture: [{name: status, jsonPointer: /status, optional: true}]
        - name: again
          when: [{value: "${status}", equals: SERVING}]
          request: {grpc: {service: grpc.health.v1.Health, method: Check, message: {service: orders}}}
  rates: [{name: hold, requests: 100, requestsPerSecond: 1000}]
`

// TestGRPC: the server of grpc-go has counted as many calls as the report, and calls end by their code.
func TestGRPC(t *testing.T) {
	waits(t)
	url, proto, served := grpcServer(t)
	for name, tt := range map[string]struct {
		services, check   string
		succeeded, failed int64
		by                string
	}{
		"serving":        {"orders", "{name: serving, jsonPointer: /status, equals: SERVING}", 100, 0, ""},
		"another value":  {"orders", "{name: stopped, jsonPointer: /status, equals: NOT_SERVING}", 0, 100, "stopped"},
		"not found":      {"absent", "{name: serving, jsonPointer: /status, equals: SERVING}", 0, 100, "NOT_FOUND"},
		"expected":       {"absent", "{name: code, header: grpc-status, equals: '5'}", 100, 0, ""},
		"another status": {"orders", "{name: code, header: grpc-status, equals: '5'}", 0, 100, "code"},
	} {
		t.Run(name, func(t *testing.T) {
			before := served.Load()
			manifest := strings.NewReplacer("URL", url, "PROTO", proto, "SERVICES", tt.services, "CHECK", tt.check).Replace(calls)
			r := runAny(t, manifest, "-f", "-")
			if n := r.Requests; n.Succeeded != tt.succeeded || n.FailedChecks != tt.failed || n.Sent != 100 || served.Load()-before != 100 {
				t.Errorf("%+v, the server counted %d", n, served.Load()-before)
			}
			if tt.by != "" && r.Steps[0].FailedBy[tt.by] != tt.failed {
				t.Errorf("failed checks %v, want %s", r.Steps[0].FailedBy, tt.by)
			}
		})
	}
}

// rawCodec is a codec of grpc-go that leaves messages as they are.
type rawCodec struct{}

func (rawCodec) Name() string                  { return "proto" }
func (rawCodec) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }
func (rawCodec) Unmarshal(message []byte, v any) error {
	*v.(*[]byte) = message
	return nil
}

// runDocsGRPC runs it against a server of grpc-go, whose answer to each method is the request.
func runDocsGRPC(t *testing.T, b markdown.Block) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served atomic.Int64
	s := grpc.NewServer(grpc.ForceServerCodec(rawCodec{}), grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		served.Add(1)
		var message []byte
		if err := stream.RecvMsg(&message); err != nil {
			return err
		}
		return stream.SendMsg(&message)
	}))
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	r := runLess(t, b, nil, "", "--target-url", "http://"+l.Addr().String())
	if want := r.WarmUp.Sent + r.Requests.Sent; served.Load() != want {
		t.Errorf("the server counted %d calls, the report has %d", served.Load(), want)
	}
}

// TestReflection: the command line asks a target for its proto files. What it is refused is an error before any load.
func TestReflection(t *testing.T) {
	waits(t)
	url, _, served := grpcServer(t)
	manifest := strings.NewReplacer(", protoFrom: [{file: PROTO}]", "", "SERVICES", "orders", "CHECK", "{name: serving, jsonPointer: /status, equals: SERVING}").Replace(calls)
	r := runAny(t, strings.ReplaceAll(manifest, "URL", url), "-f", "-", "--reflection")
	if n := r.Requests; n.Succeeded != 100 || served.Load() != 100 {
		t.Errorf("%+v, the server counted %d", n, served.Load())
	}
	if got := tries(t, strings.ReplaceAll(manifest, "URL", url), "-f", "-", "--reflection"); got.code != 0 || !strings.Contains(got.out, `< {"status":"SERVING"}`) {
		t.Errorf("exit code %d\n%s%s", got.code, got.out, got.errors)
	}
	if got := tries(t, strings.ReplaceAll(manifest, "URL", url), "-f", "-", "--reflection", "-o", "curl"); !strings.Contains(got.out, "grpcurl -plaintext") || strings.Contains(got.out, "-protoset") {
		t.Errorf("a command with files that are not there: %s%s", got.out, got.errors)
	}
	named := h2surge(t, nil, nil, "convert", "proto", url, "--service", "grpc.health.v1.Health")
	withMap := strings.Replace(strings.ReplaceAll(manifest, "URL", url), `"}]`, `", protoFrom: [{configMapKeyRef: {name: protos, key: services.binpb}}]}]`, 1)
	if r := runAny(t, withMap+"---\n"+named.out, "-f", "-"); r.Requests.Succeeded != 100 {
		t.Errorf("with the ConfigMap of convert proto: %+v", r.Requests)
	}
	server := serve(t, mock.Options{})
	plain := "http://" + server.Addr().String()
	if got := completed(t, "try", "-f", file(t, "grpc.yaml", strings.ReplaceAll(manifest, "URL", plain)), "--reflection", "--chain", ""); got != ":4" || server.Stats().Requests > 0 {
		t.Errorf("completion: %s after %d requests", got, server.Stats().Requests)
	}
	for _, tt := range []struct {
		manifest string
		args     []string
		want     string
	}{
		{strings.ReplaceAll(manifest, "URL", plain), []string{"run", "-f", "-", "--reflection"}, "--reflection: target orders: service grpc.health.v1.Health: the server answered 201, which is not an answer of gRPC; name its proto files in protoFrom"},
		{strings.ReplaceAll(manifest, "URL", plain), []string{"run", "-f", "-"}, `needs protoFrom of target "orders", which has the proto files; h2surge convert proto asks a server for them`},
		{withMap + "---\n" + named.out, []string{"run", "-f", "-", "--reflection"}, "--reflection: no step calls a target that has no protoFrom"},
		{manifest, []string{"try", "-f", "-", "--reflection", "--dry-run"}, "--reflection: not allowed with --dry-run, which sends nothing"},
		{strings.ReplaceAll(manifest, "URL", plain), []string{"run", "-f", "-", "--reflection", "--dry-run"}, "--reflection: not allowed with --dry-run, which sends nothing"},
		{"", []string{"run", "--reflection", "-n", "1", plain}, "--reflection: allowed only with a manifest (-f)"},
		{"", []string{"convert", "proto", plain}, ": the server answered 201, which is not an answer of gRPC"},
		{"", []string{"convert", "proto", "orders:50051"}, "orders:50051: must begin with http:// or https://"},
	} {
		var out, errors bytes.Buffer
		code := execute(t.Context(), append([]string{"h2surge"}, tt.args...), strings.NewReader(tt.manifest), &out, &errors, parts())
		if code != 1 || !strings.Contains(errors.String(), tt.want) {
			t.Errorf("%q: exit code %d, %s; want %s", tt.args, code, errors.String(), tt.want)
		}
	}
}

// TestReflectionTLS: the questions are sent as the calls are, over TLS and with the token of the target.
func TestReflectionTLS(t *testing.T) {
	waits(t)
	pair := certtest.Self(t, "localhost")
	var denied atomic.Int64
	authorize := func(ctx context.Context) error {
		if md, _ := metadata.FromIncomingContext(ctx); !slices.Equal(md.Get("authorization"), []string{"Bearer open"}) {
			denied.Add(1)
			return status.Error(codes.Unauthenticated, "no token")
		}
		return nil
	}
	s := grpc.NewServer(grpc.Creds(credentials.NewServerTLSFromCert(new(pair.TLS()))),
		grpc.UnaryInterceptor(func(ctx context.Context, in any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if err := authorize(ctx); err != nil {
				return nil, err
			}
			return next(ctx, in)
		}),
		grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if err := authorize(stream.Context()); err != nil {
				return err
			}
			return next(srv, stream)
		}))
	grpc_health_v1.RegisterHealthServer(s, health.NewServer())
	reflection.Register(s)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	ca, token := file(t, "ca.pem", pair.PEM()), file(t, "token", "open")
	url := "https://" + strings.Replace(l.Addr().String(), "127.0.0.1", "localhost", 1)
	manifest := func(auth string) string {
		return `{apiVersion: h2surge.io/v1alpha1, kind: LoadTest, metadata: {name: tls}, spec: {
targets: [{name: a, url: "` + url + `", tls: {caFrom: {file: ` + ca + `}}` + auth + `}],
chains: [{name: c, target: a, steps: [{name: check, request: {grpc: {service: grpc.health.v1.Health, method: Check}}}]}],
rates: [{name: r, requests: 20, requestsPerSecond: 1000}]}}`
	}
	if r := runAny(t, manifest(", auth: {bearer: {tokenFrom: {file: "+token+"}}}"), "-f", "-", "--reflection"); r.Requests.Succeeded != 20 || denied.Load() != 0 {
		t.Errorf("%+v, %d denied", r.Requests, denied.Load())
	}
	var out bytes.Buffer
	code := execute(t.Context(), []string{"h2surge", "run", "-f", "-", "--reflection"}, strings.NewReader(manifest("")), &out, &out, parts())
	if want := "--reflection: target a: service grpc.health.v1.Health: the server refused: UNAUTHENTICATED: no token"; code != 1 || !strings.Contains(out.String(), want) {
		t.Errorf("exit code %d, %s; want %s", code, out.String(), want)
	}
	for _, tt := range []struct {
		headers []string
		code    int
		want    string
	}{
		{[]string{"Authorization: Bearer open", "x-tenant: a"}, 0, "services.binpb: "},
		{nil, 1, "the server refused: UNAUTHENTICATED: no token"},
		{[]string{"Bearer open"}, 1, "--header: must be of the form 'name: value'"},
		{[]string{": open"}, 1, "--header: must be of the form 'name: value'"},
	} {
		args := []string{"h2surge", "convert", "proto", url, "--cacert", ca}
		for _, h := range tt.headers {
			args = append(args, "-H", h)
		}
		out.Reset()
		if code := execute(t.Context(), args, nil, &out, &out, parts()); code != tt.code || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%q: exit code %d, %s; want %s", tt.headers, code, out.String(), tt.want)
		}
	}
}

// TestGRPCMistakes: lint and run report the field of a message with its line, and what is missing.
func TestGRPCMistakes(t *testing.T) {
	const registry = "../../config/samples/targets/registry.proto"
	imports := file(t, "imports.proto", `syntax = "proto3"; package a; import "b/c.proto"; message M {} service S { rpc Do(M) returns (M); }`)
	for _, tt := range []struct{ proto, call, want string }{
		{registry, "service: registry.v1.Management, method: Registr", `12: spec.chains[0].steps[0].request.grpc: method: registry.v1.Management has no "Registr"; methods: Register, Deregister`},
		{registry, "service: registry.v1.Managers, method: Register", `12: spec.chains[0].steps[0].request.grpc: service: there is no "registry.v1.Managers"; services: registry.v1.Discovery, registry.v1.Management`},
		{registry, "service: registry.v1.Management, method: Register,\n message: {nfType: a,\n load: x}", `14: spec.chains[0].steps[0].request.grpc.message.load: invalid value for uint32 field load: "x"`},
		{registry, "service: registry.v1.Management, method: Register,\n message: {nfType: 'a${ue}',\n ipv4Addresses: [a,\n {b: 1}]}", `15: spec.chains[0].steps[0].request.grpc.message.ipv4Addresses[1]: `},
		{registry, "service: registry.v1.Management, method: Register,\n messages: [{},\n {}]", `12: spec.chains[0].steps[0].request.grpc: registry.v1.Management.Register takes exactly one message`},
		{imports, "service: a.S, method: Do", `5: spec.targets[0].protoFrom[0]: ` + imports + `:1:38: could not resolve path "b/c.proto": it is not among the files; add it`},
	} {
		manifest := file(t, "mistakes.yaml", `apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: mistakes}
spec:
  targets: [{name: registry, url: "http://127.0.0.1:1", protoFrom: [{file: `+tt.proto+`}]}]
  variables: [{name: ue, counter: {}}]
  chains:
    - name: calls
      target: registry
      steps:
        - request:
            grpc: {`+tt.call+`}
          name: call
  rates: [{name: hold, requests: 1, requestsPerSecond: 10}]
`)
		for _, command := range []string{"lint", "run"} {
			var out bytes.Buffer
			code := execute(t.Context(), []string{"h2surge", command, manifest}, strings.NewReader(""), &out, &out, parts())
			if code != 1 || !strings.Contains(out.String(), manifest+":"+tt.want) {
				t.Errorf("%s %s: exit code %d, %s; want %s", command, tt.call, code, out.String(), tt.want)
			}
		}
	}
}

// TestGRPCSample: the target of the samples, which serves the same proto files, counts what the report does.
func TestGRPCSample(t *testing.T) {
	waits(t)
	const dir = "../../config/samples"
	text, err := os.ReadFile(filepath.Join(dir, "grpc.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"health.proto", "registry.proto"} {
		proto, err := os.ReadFile(filepath.Join(dir, "targets", name))
		if err != nil || !strings.Contains(strings.ReplaceAll(string(text), "\n    ", "\n"), string(proto)) {
			t.Errorf("the ConfigMap has another %s than the target, %v", name, err)
		}
	}
	set, err := rules.LoadFile(filepath.Join(dir, "targets", "grpc.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	peer := serve(t, mock.Options{Rules: set, Seed: 1})
	r := runLess(t, markdown.Block{File: "grpc", Text: string(text)}, nil, "", "--target-url", "http://"+peer.Addr().String())
	st := peer.Stats()
	if want := uint64(r.WarmUp.Sent + r.Requests.Sent + r.Graceful.Sent); st.Requests != want || st.ByCode["OK"]+st.ByCode["NOT_FOUND"] != want || st.ByCode["NOT_FOUND"] == 0 {
		t.Errorf("the target counted %d requests, by code %v; the report has %d", st.Requests, st.ByCode, want)
	}
}

// TestTryGRPC: messages are shown as JSON, those of streams one in a line, with the status of the call, and as commands of grpcurl.
func TestTryGRPC(t *testing.T) {
	set, err := rules.LoadFile("../../config/samples/targets/grpc.yaml")
	if err != nil {
		t.Fatal(err)
	}
	at := "http://" + serve(t, mock.Options{Rules: set, Seed: 1}).Addr().String()
	for name, tt := range map[string]struct {
		code int
		args []string
	}{
		"grpc":      {2, []string{"--target-url", at}},
		"grpc-curl": {2, []string{"--target-url", at, "-o", "curl"}},
		"grpc-dry":  {0, []string{"--dry-run"}},
	} {
		got := tries(t, "", append([]string{"-f", "testdata/try/grpc.yaml"}, tt.args...)...)
		if got.code != tt.code || got.errors != "" {
			t.Errorf("%s: exit code %d, errors %q", name, got.code, got.errors)
		}
		golden.Compare(t, "try/"+name+".txt", lengths.ReplaceAllString(steady(got.out), "content-length: LENGTH"))
	}
}

// TestTryFailedStream: of a stream that fails, the messages are shown that were sent and received. A dry run of a stream with waits
// shows no content-length, because none is sent.
func TestTryFailedStream(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	write("chat.proto", `syntax = "proto3"; package a; message M { string s = 1; } service Chat { rpc Talk(stream M) returns (stream M); }`)
	set, err := rules.LoadFile(write("target.yaml", `apiVersion: h2surge.io/v1alpha1
kind: Target
protoFiles: [chat.proto]
rules:
  - {name: talk, match: {path: /a.Chat/Talk, eachMessage: true}, responses: [{body: '{"s": "re: ${json:/s}"}'}]}
  - {name: quit, match: {path: /a.Chat/Talk, eachMessage: true, body: [{jsonPointer: /s, equals: quit}]}, responses: [{grpc: {status: CANCELLED}}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	at := "http://" + serve(t, mock.Options{Rules: set, Seed: 1}).Addr().String()
	manifest := strings.NewReplacer("URL", at, "PROTO", dir+"/chat.proto").Replace(`apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: chat}
spec:
  targets: [{name: chat, url: "URL", protoFrom: [{file: PROTO}]}]
  chains:
    - name: talk
      target: chat
      steps:
        - name: talk
          request:
            grpc: {service: a.Chat, method: Talk, messages: [{s: a}, {"@wait": {answers: 1}}, {s: quit}, {"@wait": {answers: 9}}, {s: never}]}
  rates: [{name: hold, duration: 1s, requestsPerSecond: 10}]
`)
	got := tries(t, manifest, "-f", "-")
	for _, want := range []string{"failed: check CANCELLED", "> {\"s\":\"a\"}\n> {\"s\":\"quit\"}\n< ", "< {\"s\":\"re: a\"}"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("exit code %d, no %q in %s%s", got.code, want, got.out, got.errors)
		}
	}
	const script = "script: {lua: \"function on_request(req) end\"}\n            grpc: {"
	for _, manifest := range []string{manifest, strings.Replace(manifest, "grpc: {", script, 1)} {
		got := tries(t, manifest, "-f", "-", "--dry-run")
		if got.code != 0 || got.errors != "" || strings.Contains(got.out, "content-length") {
			t.Errorf("exit code %d, %s%s", got.code, got.out, got.errors)
		}
	}
}

// lengths depend on how gzip compresses.
var lengths = regexp.MustCompile(`content-length: \d+`)
