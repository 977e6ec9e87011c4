package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/h2surge/h2surge/test/harness"
)

// The call of the rows for gRPC: the health check of grpc-go.
const (
	callService = "grpc.health.v1.Health"
	callMethod  = "Check"
	callMessage = `{"service":"orders"}`
	// callOctets is the message behind its prefix.
	callOctets = "\x00\x00\x00\x00\x08\x0a\x06orders"
)

const healthProto = `syntax = "proto3";
package grpc.health.v1;
message HealthCheckRequest { string service = 1; }
message HealthCheckResponse {
  enum ServingStatus { UNKNOWN = 0; SERVING = 1; NOT_SERVING = 2; SERVICE_UNKNOWN = 3; }
  ServingStatus status = 1;
}
service Health { rpc Check(HealthCheckRequest) returns (HealthCheckResponse); }
`

// callRows are the workload of h2loadrunner's grpc_load_test: 10,000 calls a second over 20 connections. h2load sends
// the requests of 10 ms together, so h2surge does the same beside it.
func callRows() []row {
	l := load{protocol: h2c, connections: 20, streams: 10, perSecond: 10_000, path: "/" + callService + "/" + callMethod,
		body:    "call",
		headers: [][2]string{{"content-type", "application/grpc"}, {"te", "trailers"}}}
	ours := func(request, label, interval string) side {
		l := l
		l.manifest = func(urls []string, seconds int) string { return callManifest(l, urls[0], request, interval, seconds) }
		return side{client: h2surge{}, load: l, label: label}
	}
	call := fmt.Sprintf("{grpc: {service: %s, method: %s, message: %s}, timeout: 2s}", callService, callMethod,
		callMessage)
	post := ours(fmt.Sprintf("{method: POST, path: %s, bodyBase64: %s, timeout: 2s, expect: {status: [200]}, "+
		"headers: [{name: content-type, value: application/grpc}, {name: te, value: trailers}]}",
		l.path, base64.StdEncoding.EncodeToString([]byte(callOctets))), "plain POST", "500us")
	beside := func(name, how, interval string, peer *side, mark float64) row {
		return row{name: name, group: groupMarks, work: "unary calls of gRPC at a fixed 10 000/s over 20 connections" + how,
			server: callServer,
			ours:   ours(call, "", interval), peer: peer, rounds: 3, goals: cpuRatio(mark, 0)}
	}
	return []row{
		beside("grpc-10k", "", "500us", &side{client: ghz{}, load: l}, 0.25),
		beside("grpc-10k-h2load", "; the same octets in h2load, both send each 10 ms", "10ms", &side{client: h2load{},
			load: l}, 0.7),
		beside("grpc-10k-post", "; the same octets as a plain POST", "500us", &post, 1.25),
	}
}

func callManifest(l load, url, request, interval string, seconds int) string {
	return fmt.Sprintf(`apiVersion: v1
kind: ConfigMap
metadata: {name: protos}
data:
  health.proto: |
    %s
---
apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: calls}
spec:
  targets:
    - name: target
      url: %q
      connections: %d
      maxConcurrentStreams: %d
      protoFrom: [{configMapKeyRef: {name: protos, key: health.proto}}]
  chains: [{name: call, target: target, steps: [{name: check, request: %s}]}]
  rates: [{name: load, requestsPerSecond: %d, duration: %ds}]
  runner: {sleepInterval: %s}
`, strings.ReplaceAll(healthProto, "\n", "\n    "), url, l.connections, l.streams, request, l.perSecond, seconds, interval)
}

var callServer = server{name: "grpc-go", start: func(b *lab, cpus []int) (*served, error) {
	return serve(2, func(s *served, ports []int) error {
		s.bases[h2c] = []string{harness.Loopback("http", ports[0])}
		s.count = func() (int64, error) { return plainCount(harness.Loopback("http", ports[1])) }
		argv := []string{b.Self, "grpc-server", "127.0.0.1:" + strconv.Itoa(ports[0]), "127.0.0.1:" + strconv.Itoa(ports[1])}
		return s.launch(b.Ctx, harness.Command{Argv: argv, Env: []string{"GOMAXPROCS=1"}, CPUs: cpus}, ports...)
	})
}}

// callServerMain serves health checks, and the count of them on another address, until it is killed.
func callServerMain(args []string) error {
	if len(args) != 2 {
		return errors.New("grpc-server needs two addresses")
	}
	var calls atomic.Int64
	s := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, in any, _ *grpc.UnaryServerInfo,
		next grpc.UnaryHandler) (any, error) {
		calls.Add(1)
		return next(ctx, in)
	}))
	checks := health.NewServer()
	checks.SetServingStatus("orders", grpc_health_v1.HealthCheckResponse_SERVING)
	grpc_health_v1.RegisterHealthServer(s, checks)
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	ended := make(chan error)
	go func() { ended <- s.Serve(l) }()
	counts := &http.Server{Addr: args[1], ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintln(w, calls.Load())
		})}
	go func() { ended <- counts.ListenAndServe() }()
	return <-ended
}
