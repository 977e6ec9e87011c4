package grpc

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/sourcecontextpb"
	"google.golang.org/protobuf/types/known/structpb"
)

const common = `syntax = "proto3"; package shop.v1; message Money { string currency = 1; sint64 units = 2; }`

const orders = `syntax = "proto3";
package shop.v1;
import "shop/v1/common.proto";
import "google/protobuf/timestamp.proto";
enum State { STATE_UNSPECIFIED = 0; OPEN = 1; CLOSED = -2; }
message Line { string sku = 1; uint32 count = 2; Money price = 3; }
message Order {
  string id = 1; bytes token = 2; bool paid = 3; State state = 4; int32 a = 5; int64 b = 6; uint64 c = 7; sint32 d = 8;
  fixed32 e = 9; fixed64 f = 10; sfixed32 g = 11; sfixed64 h = 12; float i = 13; double j = 14;
  repeated Line lines = 15; repeated int32 numbers = 16; map<string, Money> totals = 17; map<int32, string> names = 18;
  google.protobuf.Timestamp at = 19; oneof by { string person = 20; int64 machine = 21; } repeated string tag_list = 22;
}
service Orders {
  rpc Create(Order) returns (Order);
  rpc Watch(Order) returns (stream Order);
  rpc Upload(stream Order) returns (Order);
}`

func schema(t testing.TB) *Schema {
	s, err := NewSchema([]File{{"protos/common.proto", []byte(common)}, {"orders.proto", []byte(orders)}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func method(t testing.TB, name string) *Method {
	m, err := schema(t).Method("shop.v1.Orders", name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// appendPieces encodes pieces with the values of placeholders.
func appendPieces(dst []byte, pieces []Piece, values []string) (_ []byte, ok bool) {
	for _, p := range pieces {
		at := len(dst)
		if p.As == nil {
			dst = append(dst, p.Octets...)
			continue
		}
		if dst, ok = appendPieces(dst, p.Inner, values); len(p.Inner) > 0 && !ok {
			return dst, false
		}
		literals, placeholders := Marked(p.Text)
		for i, literal := range literals {
			if dst = append(dst, literal...); i < len(placeholders) {
				dst = append(dst, values[placeholders[i]]...)
			}
		}
		if dst, ok = p.As.Encode(dst, at, new(Gzip)); !ok {
			return dst, false
		}
	}
	return dst, true
}

// TestRequest: a message with placeholders is, octets aside, what protojson makes of it with their values.
func TestRequest(t *testing.T) {
	m := method(t, "Create")
	for _, text := range []string{
		`{}`, `{"id":"7","at":"2026-01-02T03:04:05Z","lines":[{"sku":"x","price":{"units":"-5"}}]}`,
		`{"id":"<a>"}`, `{"id":"x<a>y<s>"}`, `{"token":"<b>"}`, `{"paid":"<t>"}`, `{"state":"<o>"}`, `{"state":"<n>"}`,
		`{"a":"<n>","b":"<n>","c":"<u>","d":"<n>","e":"<u>","f":"<u>","g":"<n>","h":"<n>","i":"<f>","j":"<f>"}`,
		`{"a":"1<u>"}`, `{"lines":[{"sku":"a","count":3},{"sku":"<a>","price":{"currency":"EUR","units":"<n>"}},{}]}`,
		`{"numbers":[1,"<n>",3]}`, `{"totals":{"a":{"units":"<n>"},"<s>":{"currency":"USD"}}}`,
		`{"names":{"1":"<a>","2":"b"},"at":"2026-01-02T03:04:05Z","machine":"<n>"}`, `{"tagList":["<a>","b"],"person":"<s>"}`,
		`{"tag_list":["<a>"]}`,
	} {
		values := []string{"änother", "3q2+7w==", "true", "OPEN", "-2", "44", "2.5", strings.Repeat("s", 300)}
		marked, filled := text, text
		for i, name := range []string{"<a>", "<b>", "<t>", "<o>", "<n>", "<u>", "<f>", "<s>"} {
			marked, filled = strings.ReplaceAll(marked, name, Mark(i)), strings.ReplaceAll(filled, name, values[i])
		}
		filled = strings.NewReplacer(`"state":"-2"`, `"state":-2`, `"true"`, `true`).Replace(filled)
		pieces, err := m.Request([][]byte{[]byte(marked)}, false)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		octets, ok := appendPieces(nil, pieces, values)
		message, rest, _, err := cut(octets)
		got, want := dynamicpb.NewMessage(m.method.Input()), dynamicpb.NewMessage(m.method.Input())
		if err != nil || !ok || len(rest) > 0 || proto.Unmarshal(message, got) != nil {
			t.Errorf("%s: encoded %v, %x, %v", text, ok, octets, err)
		}
		if err := protojson.Unmarshal([]byte(filled), want); err != nil {
			t.Fatal(filled, err)
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// TestRequiredFields: placeholders and constants can fill the required fields of a message together.
func TestRequiredFields(t *testing.T) {
	s, err := NewSchema([]File{{"m.proto", []byte(`syntax = "proto2";
message M { required string id = 1; required int32 kind = 2; repeated M more = 3; map<string, M> by = 4; }
service S { rpc Call(M) returns (M); }`)}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Method("S", "Call")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`{"id":"a","kind":3}`, `{"id":"<a>","kind":3}`, `{"id":"a","kind":"<n>"}`,
		`{"id":"a","kind":3,"more":[{"id":"a","kind":4},{"id":"<a>","kind":5}],"by":{"x":{"id":"<a>","kind":6},"y":{"id":"z","kind":7}}}`,
	} {
		fill := func(a, n string) []byte { return []byte(strings.NewReplacer("<a>", a, "<n>", n).Replace(text)) }
		pieces, err := m.Request([][]byte{fill(Mark(0), Mark(1))}, false)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		octets, ok := appendPieces(nil, pieces, []string{"a", "3"})
		message, _, _, err := cut(octets)
		got, want := dynamicpb.NewMessage(m.method.Input()), dynamicpb.NewMessage(m.method.Input())
		if err != nil || !ok || proto.Unmarshal(message, got) != nil || protojson.Unmarshal(fill("a", "3"), want) != nil {
			t.Errorf("%s: encoded %v, %x, %v", text, ok, octets, err)
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	for text, want := range map[string]string{
		`{"id":"<a>","kind":1,"more":[{"id":"b"}]}`:   `more[0]: is not a M: required field M.kind not set`,
		`{"id":"<a>","kind":1,"by":{"x":{"id":"b"}}}`: `by[x]: is not a M: required field M.kind not set`,
		`{"id":"a"}`:            `is not a M: required field M.kind not set`,
		`{"id":"a","kind":"x"}`: `kind: invalid value for int32 field kind: "x"`,
	} {
		if _, err := m.Request([][]byte{[]byte(strings.ReplaceAll(text, "<a>", Mark(0)))}, false); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestUnfit: a value that is none of the field is not sent.
func TestUnfit(t *testing.T) {
	m := method(t, "Create")
	for field, bad := range map[string][]string{
		"id": {"\xff"}, "token": {"#"}, "paid": {"yes", ""}, "state": {"GONE", ""}, "a": {"2147483648", "1.5", ""},
		"b": {"9223372036854775808"},
		"c": {"-1"}, "d": {"x"}, "e": {"4294967296"}, "f": {"-1"}, "g": {"x"}, "h": {"x"}, "i": {"1e50"}, "j": {"1e500", "x"},
	} {
		pieces, err := m.Request([][]byte{fmt.Appendf(nil, `{%q:"%s"}`, field, Mark(0))}, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range bad {
			if octets, ok := appendPieces(nil, pieces, []string{value}); ok {
				t.Errorf("%s: %q is encoded: %x", field, value, octets)
			}
		}
	}
}

func TestMistakes(t *testing.T) {
	x := Mark(0)
	for _, tt := range []struct{ method, text, want string }{
		{"Create", `{"nome":1}`, `nome: shop.v1.Order has no such field`},
		{"Create", `{"lines":[{},{"price":{"units":"x"}}]}`, `lines[1].price.units: invalid value for sint64 field units: "x"`},
		{"Create", `{"lines":[{"sku":"` + x + `"},{"price":{"units":"x"}}]}`, `lines[1].price.units: invalid value`},
		{"Create", `{"totals":{"a":{"unit":1}},"names":{"1":2}}`, `names[1]: invalid value for string field`},
		{"Create", `{"totals":{"a":{"unit":1}}}`, `totals[a].unit: shop.v1.Money has no such field`},
		{"Create", `{"totals":{"a":{"units":"` + x + `"},"b":5}}`, `totals[b]: is not a shop.v1.Money: unexpected token 5`},
		{"Create", `{"at":5}`, `at: is not a google.protobuf.Timestamp: unexpected token 5`},
		{"Create", `{"state":"GONE"}`, `state: invalid value for enum field state: "GONE"`},
		{"Create", `{"person":"a","machine":"1"}`, `is not a shop.v1.Order: error parsing "`},
		{"Create", `{"nome":1,"id":"` + x + `"}`, `nome: shop.v1.Order has no such field`},
		{"Create", `{"lines":[{"sku":"` + x + `","count":"x"}]}`, `lines[0].count: `},
		{"Create", `{"lines":{"sku":"` + x + `"}}`, `lines: is a list: false; the field is one: true`},
		{"Create", `{"id":{"a":"` + x + `"}}`, `id: is an object; the field is of type string`},
		{"Create", `{"at":"` + x + `"}`, `at: is a string; the field is of type message`},
		{"Create", `{"at":{"seconds":"` + x + `"}}`, `at: a google.protobuf.Timestamp has no placeholders`},
		{"Create", `{"names":{"x":"` + x + `"}}`, `names: "x" is not of type int32`},
		{"Create", `{"id":` + x + `}`, `placeholders stand in strings`},
		{"Create", `{"id":"` + x + `"} 1`, `more than one JSON value`},
	} {
		if _, err := method(t, tt.method).Request([][]byte{[]byte(tt.text)}, false); err == nil || !strings.Contains(err.Error(),
			tt.want) {
			t.Errorf("%s: %v, want %q", tt.text, err, tt.want)
		}
	}
	two := [][]byte{[]byte(`{}`), []byte(`{"a":"x"}`)}
	if _, err := method(t, "Create").Request(two, false); err == nil || !strings.Contains(err.Error(),
		"takes exactly one message") {
		t.Error(err)
	}
	if _, err := method(t, "Upload").Request(two, false); err == nil || !strings.HasPrefix(err.Error(), "message 1: ") {
		t.Error(err)
	}
}

func TestSchemaMistakes(t *testing.T) {
	for name, tt := range map[string]struct {
		files []File
		want  string
	}{
		"syntax":         {[]File{{"a.proto", []byte("message {")}}, "a.proto:1:9: syntax error"},
		"missing import": {[]File{{"orders.proto", []byte(orders)}}, `orders.proto:3:8`},
		"no set":         {[]File{{"set.binpb", []byte("x")}}, "set.binpb: is neither a .proto file nor a FileDescriptorSet"},
	} {
		if _, err := NewSchema(tt.files); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	s := schema(t)
	for _, tt := range [][3]string{
		{"shop.v1.Order", "Create", `service: there is no "shop.v1.Order"; services: shop.v1.Orders`},
		{"shop.v1.Orders", "Delete", `method: shop.v1.Orders has no "Delete"; methods: Create, Watch, Upload`},
	} {
		if _, err := s.Method(tt[0], tt[1]); err == nil || err.Error() != tt[2] {
			t.Errorf("%v, want %s", err, tt[2])
		}
	}
}

func frame(m proto.Message) []byte {
	octets, _ := proto.Marshal(m)
	out, _ := (&Encoding{kind: kindFrame}).Encode(octets, 0, nil)
	return out
}

func TestAppendJSON(t *testing.T) {
	order := dynamicpb.NewMessage(method(t, "Create").method.Output())
	if err := protojson.Unmarshal([]byte(`{"id":"7","b":"5"}`), order); err != nil {
		t.Fatal(err)
	}
	one := string(frame(order))
	for _, tt := range []struct{ method, body, want, err string }{
		{"Create", one, `{"id":"7",`, ""},
		{"Create", one + one, "", "a second message"},
		{"Create", "", "", "no message"},
		{"Create", one[:4], "", "ends in the prefix"},
		{"Create", one[:7], "", "ends in a message"},
		{"Create", "\x01" + one[1:], "", `compressed, and grpc-encoding is "", not gzip`},
		{"Create", "\x00\x00\x00\x00\x01\xff", "", "is not a shop.v1.Order"},
		{"Watch", "", "[]", ""},
		{"Watch", one + one, `[{"id":"7",`, ""},
	} {
		got, err := method(t, tt.method).AppendJSON(nil, Response{Body: []byte(tt.body)}, new(Gzip))
		if text := strings.ReplaceAll(string(got), " ", ""); tt.err == "" &&
			(err != nil || !strings.HasPrefix(text, tt.want)) || tt.err != "" && (err == nil || !strings.Contains(err.Error(),
			tt.err)) {
			t.Errorf("%s %x: %s, %v; want %q, %q", tt.method, tt.body, got, err, tt.want, tt.err)
		}
	}
}

// TestAnyOfResponse: a message is JSON, whatever type its google.protobuf.Any has, also inside another one. It is an
// error if the octets are not of the type.
func TestAnyOfResponse(t *testing.T) {
	s, err := NewSchema([]File{{Name: "a.proto", Content: []byte(`syntax = "proto3";
import "google/protobuf/any.proto";
message R { string name = 1; google.protobuf.Any extra = 2; }
service S { rpc Get(R) returns (R); }`)}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Method("S", "Get")
	if err != nil {
		t.Fatal(err)
	}
	unknown := &anypb.Any{TypeUrl: "type.googleapis.com/x.Unknown", Value: []byte("\x08\x05")}
	inside := anyOf(t, unknown)
	for _, tt := range []struct {
		extra *anypb.Any
		want  string // empty: an error
	}{
		{&anypb.Any{}, "{}"},
		{&anypb.Any{Value: []byte("\x08\x05")}, ""},
		{&anypb.Any{TypeUrl: "x/google.protobuf.Duration", Value: []byte("\xff")}, ""},
		{unknown, `{"@type":"type.googleapis.com/x.Unknown","value":"CAU="}`},
		{&anypb.Any{TypeUrl: "x"}, `{"@type":"x","value":""}`},
		{inside, `{"@type":"type.googleapis.com/google.protobuf.Any","value":{"@type":"type.googleapis.com/x.Unknown","value":"CAU="}}`},
		{anyOf(t, durationpb.New(1500*time.Millisecond)), `{"@type":"type.googleapis.com/google.protobuf.Duration","value":"1.500s"}`},
		{anyOf(t, &errdetails.ErrorInfo{Reason: "a"}), `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"a","domain":"","metadata":{}}`},
		{anyOf(t, &sourcecontextpb.SourceContext{FileName: "a"}), `{"@type":"type.googleapis.com/google.protobuf.SourceContext","fileName":"a"}`},
		{anyOf(t, structpb.NewBoolValue(true)), `{"@type":"type.googleapis.com/google.protobuf.Value","value":true}`},
	} {
		message := dynamicpb.NewMessage(m.method.Output())
		fields := message.Descriptor().Fields()
		message.Set(fields.ByName("name"), protoreflect.ValueOfString("a"))
		octets, _ := proto.Marshal(tt.extra)
		extra := message.Mutable(fields.ByName("extra")).Message().Interface()
		if err := proto.Unmarshal(octets, extra); err != nil {
			t.Fatal(err)
		}
		got, err := m.AppendJSON(nil, Response{Body: frame(message)}, new(Gzip))
		want := `{"name":"a","extra":` + tt.want + "}"
		if text := strings.ReplaceAll(string(got), `, "`, `,"`); (err != nil) != (tt.want == "") || err == nil && text != want {
			t.Errorf("%s, %v; want %s", text, err, want)
		}
	}
}

func anyOf(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	out, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
