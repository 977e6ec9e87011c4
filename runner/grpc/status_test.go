package grpc

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// detailsOf is the field grpc-status-details-bin of a server.
func detailsOf(t testing.TB, details ...proto.Message) string {
	s := &status.Status{Code: 8, Message: "none left"}
	for _, d := range details {
		a, isAny := d.(*anypb.Any)
		if !isAny {
			var err error
			if a, err = anypb.New(d); err != nil {
				t.Fatal(err)
			}
		}
		s.Details = append(s.Details, a)
	}
	octets, err := proto.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawStdEncoding.EncodeToString(octets)
}

func TestFailure(t *testing.T) {
	s := schema(t)
	known, err := s.files.FindDescriptorByName("shop.v1.Money")
	if err != nil {
		t.Fatal(err)
	}
	money := dynamicpb.NewMessage(known.(protoreflect.MessageDescriptor))
	if err := protojson.Unmarshal([]byte(`{"currency":"EUR"}`), money); err != nil {
		t.Fatal(err)
	}
	info := `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"QUOTA","domain":"","metadata":{}}`
	retry := `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.500s"}`
	bad := `{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"id","description":"","reason":"","localizedMessage":null}]}`
	unknown := `{"@type":"type.googleapis.com/google.rpc.Unknown","value":"CAU="}`
	for _, tt := range []struct{ status, message, details, want string }{
		{"5", "no%20such%", "", `{"code":5,"message":"no such%","details":[]}`},
		{"x", "%C3%A4 %zz %ff", "", `{"code":2,"message":"ä %zz \ufffd","details":[]}`},
		{"8", "", detailsOf(t, money), `{"code":8,"message":"","details":[{"@type":"type.googleapis.com/shop.v1.Money","currency":"EUR","units":"0"}]}`},
		{"8", "", detailsOf(t, &errdetails.RetryInfo{RetryDelay: durationpb.New(1500 * time.Millisecond)},
			&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "id"}}}), `{"code":8,"message":"","details":[` + retry + "," + bad + `]}`},
		{"8", "", detailsOf(t, &anypb.Any{TypeUrl: "type.googleapis.com/google.rpc.Unknown", Value: []byte("\x08\x05")}), `{"code":8,"message":"","details":[` + unknown + `]}`},
		{"8", "", detailsOf(t, &errdetails.ErrorInfo{Reason: "QUOTA"}, timestamppb.New(time.Unix(0, 0))) + "==", `{"code":8,"message":"","details":[` + info + `,{"@type":"type.googleapis.com/google.protobuf.Timestamp","value":"1970-01-01T00:00:00Z"}]}`},
		{"8", "", "#", `{"code":8,"message":"","details":[]}`},
		{"8", "", base64.StdEncoding.EncodeToString([]byte("\x1a\x03\x0a\x09x")), `{"code":8,"message":"","details":[{"@type":"","value":""}]}`},
	} {
		got := Failure{[]byte(tt.status), []byte(tt.message), []byte(tt.details)}.AppendJSON(nil, s)
		if text := strings.ReplaceAll(string(got), `, "`, `,"`); text != tt.want {
			t.Errorf("%+v:\n%s, want\n%s", tt, text, tt.want)
		}
	}
}

func TestCode(t *testing.T) {
	for status, want := range map[string]string{"0": "OK", "5": "NOT_FOUND", "16": "UNAUTHENTICATED", "17": "UNKNOWN",
		"": "UNKNOWN", "-1": "UNKNOWN", "x": "UNKNOWN"} {
		if got := Code([]byte(status)); got != want {
			t.Errorf("%q: %s, want %s", status, got, want)
		}
	}
}

// FuzzFailure: a failure is JSON, whatever the server sends.
func FuzzFailure(f *testing.F) {
	s := schema(f)
	f.Add([]byte("5"), []byte("no%20such"), []byte(detailsOf(f, &errdetails.ErrorInfo{Reason: "QUOTA"}, timestamppb.New(time.Unix(0, 0)))))
	f.Fuzz(func(t *testing.T, status, message, details []byte) {
		if got := (Failure{status, message, details}).AppendJSON(nil, s); !json.Valid(got) {
			t.Errorf("%s", got)
		}
	})
}
