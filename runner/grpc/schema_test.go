package grpc

import (
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
)

// google imports files of googleapis, and has options and fields of their types.
const google = `syntax = "proto3";
package shop.v1;
import "google/api/annotations.proto";
import "google/api/client.proto";
import "google/api/field_behavior.proto";
import "google/api/httpbody.proto";
import "google/api/resource.proto";
import "google/rpc/code.proto";
import "google/rpc/error_details.proto";
import "google/rpc/status.proto";
message Reply { google.rpc.Status status = 1; google.rpc.Code code = 2; google.rpc.ErrorInfo info = 3; google.api.HttpBody page = 4; }
message Request { option (google.api.resource) = {type: "shop/Order"}; string id = 1 [(google.api.field_behavior) = REQUIRED]; }
service Orders {
  option (google.api.default_host) = "shop.example";
  rpc Get(Request) returns (Reply) {
    option (google.api.http) = {get: "/v1/orders/{id}", additional_bindings: {post: "/v1/orders:get", body: "*"}};
    option (google.api.method_signature) = "id";
  }
  rpc Put(Reply) returns (Reply);
}`

// TestGoogleImports: the files of googleapis that many proto files import need no file of the user.
func TestGoogleImports(t *testing.T) {
	s, err := NewSchema([]File{{"orders.proto", []byte(google)}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Method("shop.v1.Orders", "Put")
	if err != nil {
		t.Fatal(err)
	}
	message := `{"status":{"code":5,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1s"}]},
		"code":"NOT_FOUND","info":{"reason":"` + Mark(0) + `"},"page":{"contentType":"text/html"}}`
	if pieces, err := m.Request([][]byte{[]byte(message)}, false); err != nil {
		t.Error(err)
	} else if _, ok := appendPieces(nil, pieces, []string{"GONE"}); !ok {
		t.Error("not encoded")
	}
}

// TestGoogleNames: a file of the user comes before the one of googleapis if it is the same file under any name, but a
// file with the same name and another package is another file.
func TestGoogleNames(t *testing.T) {
	status := `syntax = "proto3"; package PACKAGE; message Status { string mine = 1; }`
	uses := `syntax = "proto3"; package shop.v1; import "google/rpc/status.proto"; message M { google.rpc.Status status = 1; } service S { rpc Do(M) returns (M); }`
	both := `syntax = "proto3"; package shop.v1; import "google/rpc/status.proto"; import "shop/status.proto"; message M { google.rpc.Status status = 1; shop.Status own = 2; } service S { rpc Do(M) returns (M); }`
	for _, tt := range []struct {
		name    string
		files   []File
		message string
	}{
		{"a key of a ConfigMap", []File{{"status.proto", []byte(strings.Replace(status, "PACKAGE", "google.rpc", 1))}, {"a.proto", []byte(uses)}}, `{"status":{"mine":"x"}}`},
		{"another package", []File{{"status.proto", []byte(strings.Replace(status, "PACKAGE", "shop", 1))}, {"a.proto", []byte(uses)}}, `{"status":{"code":5}}`},
		{"both", []File{{"shop/status.proto", []byte(strings.Replace(status, "PACKAGE", "shop", 1))}, {"a.proto", []byte(both)}}, `{"status":{"code":5},"own":{"mine":"x"}}`},
		{"of google/protobuf", []File{
			{"timestamp.proto", []byte(`syntax = "proto3"; package shop; message Timestamp { string mine = 1; }`)},
			{"a.proto", []byte(strings.NewReplacer("rpc/status", "protobuf/timestamp", "google.rpc.Status", "google.protobuf.Timestamp").Replace(uses))},
		}, `{"status":"2026-01-02T03:04:05Z"}`},
	} {
		s, err := NewSchema(tt.files)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		m, err := s.Method("shop.v1.S", "Do")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Request([][]byte{[]byte(tt.message)}, false); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestGoogleOfSets: a descriptor set needs no files of googleapis either. Without another import, it is not complete.
func TestGoogleOfSets(t *testing.T) {
	s, err := NewSchema([]File{{"orders.proto", []byte(google)}, {"common.proto", []byte(common)}})
	if err != nil {
		t.Fatal(err)
	}
	d, _ := s.files.FindFileByPath("orders.proto")
	file := protodesc.ToFileDescriptorProto(d)
	set := func() []byte {
		octets, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file}})
		if err != nil {
			t.Fatal(err)
		}
		return octets
	}
	if s, err = NewSchema([]File{{"orders.binpb", set()}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.types.FindMessageByName((&errdetails.ErrorInfo{}).ProtoReflect().Descriptor().FullName()); err != nil {
		t.Error(err)
	}
	file.Dependency = append(file.Dependency, "common.proto")
	if _, err := NewSchema([]File{{"orders.binpb", set()}}); err == nil || !strings.Contains(err.Error(), `"common.proto"`) ||
		!strings.Contains(err.Error(), "--include_imports") {
		t.Error(err)
	}
}
