package reflection

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	v1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	v1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	h2grpc "github.com/h2surge/h2surge/runner/grpc"
)

// serve serves health checks with grpc-go and what register adds.
func serve(t *testing.T, register func(*grpc.Server), options ...grpc.ServerOption) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(options...)
	grpc_health_v1.RegisterHealthServer(s, health.NewServer())
	register(s)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return &Server{Transport: transport(), Base: "http://" + l.Addr().String()}
}

func transport() http.RoundTripper {
	out := &http.Transport{Protocols: new(http.Protocols)}
	out.Protocols.SetUnencryptedHTTP2(true)
	return out
}

// TestFiles: the files of a server of grpc-go, by both versions, have the methods of its services.
func TestFiles(t *testing.T) {
	for name, register := range map[string]func(*grpc.Server){
		"v1": func(s *grpc.Server) { reflection.RegisterV1(s) },
		"v1alpha": func(s *grpc.Server) {
			v1alpha.RegisterServerReflectionServer(s, reflection.NewServer(reflection.ServerOptions{Services: s})) //nolint:staticcheck // servers have it
		},
	} {
		s := serve(t, register)
		names, err := s.Services(t.Context())
		if err != nil || !slices.Equal(names, []string{"grpc.health.v1.Health"}) {
			t.Fatalf("%s: services %q, %v", name, names, err)
		}
		names = append(names, "grpc.reflection."+name+".ServerReflection")
		set, err := s.Files(t.Context(), names)
		if err != nil {
			t.Fatal(name, err)
		}
		schema, err := h2grpc.NewSchema([]h2grpc.File{{Name: "set", Content: set}})
		if err != nil {
			t.Fatal(name, err)
		}
		if _, err := schema.Method("grpc.health.v1.Health", "Check"); err != nil {
			t.Error(name, err)
		}
		if _, err := s.Files(t.Context(), []string{"absent.Service"}); err == nil || !strings.HasPrefix(err.Error(), "service absent.Service: the server answered: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// single sends one file in each answer, as some servers do.
type single struct {
	v1.UnimplementedServerReflectionServer
}

func (single) ServerReflectionInfo(stream v1.ServerReflection_ServerReflectionInfoServer) error {
	r, err := stream.Recv()
	if err != nil {
		return err
	}
	f := &descriptorpb.FileDescriptorProto{Name: proto.String("a.proto"), Dependency: []string{"b.proto"}, Syntax: proto.String("proto3"),
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: proto.String("A")}}}
	switch r.GetFileByFilename() {
	case "b.proto":
		f = &descriptorpb.FileDescriptorProto{Name: proto.String("b.proto"), Dependency: []string{"c.proto"}, Syntax: proto.String("proto3")}
	case "c.proto":
		return status.Error(codes.PermissionDenied, "not for you")
	}
	octets, err := proto.Marshal(f)
	if err != nil {
		return err
	}
	return stream.Send(&v1.ServerReflectionResponse{MessageResponse: &v1.ServerReflectionResponse_FileDescriptorResponse{
		FileDescriptorResponse: &v1.FileDescriptorResponse{FileDescriptorProto: [][]byte{octets}}}})
}

func TestRefusals(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for name, tt := range map[string]struct {
		server *Server
		want   string
	}{
		"no reflection":  {serve(t, func(*grpc.Server) {}), "service A: the server has no reflection"},
		"a file refused": {serve(t, func(s *grpc.Server) { v1.RegisterServerReflectionServer(s, single{}) }), "file c.proto: the server refused: PERMISSION_DENIED: not for you"},
		"HTTP":           {&Server{Transport: http.DefaultTransport, Base: plain.URL}, "service A: the server answered 404, which is not an answer of gRPC"},
		"nothing":        {&Server{Transport: transport(), Base: "http://127.0.0.1:1"}, "service A: dial tcp 127.0.0.1:1"},
	} {
		if _, err := tt.server.Files(context.Background(), []string{"A"}); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}

// FuzzAnswer: no answer makes the client panic.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x04\x3a\x02\x12\x00"))
	f.Fuzz(func(_ *testing.T, body []byte) {
		_ = messages(body, func(m []byte) error { return fields(m, func(_ protowire.Number, v []byte) error { return refusal(v) }) })
	})
}
