package rules

import (
	"strings"
	"testing"
)

const echoProto = `syntax = "proto3";
package a;
message M { string s = 1; int32 n = 2; }
service Echo { rpc Say(M) returns (M); rpc Watch(M) returns (stream M); rpc Talk(stream M) returns (stream M); }
`

// TestCallMistakes: what does not fit the proto files is an error before the target listens.
func TestCallMistakes(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/echo.proto", echoProto)
	write(t, dir+"/bad.proto", `syntax = "proto3"; import "missing.proto"; message M {}`)
	write(t, dir+"/only.proto", `syntax = "proto3"; message M {}`)
	const say, watch = "match: {path: /a.Echo/Say}", "match: {path: /a.Echo/Watch}"
	for _, tt := range []struct{ files, rule, want string }{
		{"none.proto", "responses: [{}]", "protoFiles[0] (line 3): stat "},
		{"bad.proto", "responses: [{}]", `protoFiles (line 3): bad.proto:1:27: `},
		{"only.proto", "responses: [{}]", "protoFiles (line 3): the files have no service"},
		{"echo.proto", say + `, responses: [{body: '{"s": "x", "m": 1}'}]`, `rules[0].responses[0].body (line 4): m: a.M has no such field`},
		{"echo.proto", say + `, responses: [{body: '{"n": "x"}'}]`, `rules[0].responses[0].body (line 4): n: invalid value for int32 field n: "x"`},
		{"echo.proto", say + `, responses: [{body: '[{}]'}]`, `rules[0].responses[0].body (line 4): is not a a.M: `},
		{"echo.proto", watch + `, responses: [{body: '[{}, 1]'}]`, `rules[0].responses[0].body (line 4): message 1: is not a a.M: `},
		{"echo.proto", watch + `, responses: [{body: '[{}, '}]`, `rules[0].responses[0].body (line 4): unexpected end of JSON input`},
		{"echo.proto", "responses: [{grpc: {status: NOT_FOUND}}]", "rules[0].responses[0].grpc (line 4): match.path is not the path of a method of protoFiles"},
		{"echo.proto", say + ", responses: [{grpc: {status: OK}}]", `rules[0].responses[0].grpc.status (line 4): "OK" is not a code of gRPC other than OK, such as NOT_FOUND`},
		{"echo.proto", say + ", responses: [{status: 404, grpc: {status: NOT_FOUND}}]", "rules[0].responses[0].grpc (line 4): cannot be used with status, "},
		{"echo.proto", say + ", responses: [{grpc: {status: NOT_FOUND, message: '${path.x}'}}]", "rules[0].responses[0].grpc.message (line 4): "},
		{"echo.proto", say + ", responses: [{headers: [{name: content-type, value: a/b}]}]", "rules[0].responses[0].headers (line 4): content-type of a call of gRPC is application/grpc"},
		{"echo.proto", say + ", responses: [{parts: [{contentType: a/b}]}]", "rules[0].responses[0].parts (line 4): is not allowed"},
		{"echo.proto", say + ", responses: [{}]", ""},
		{"echo.proto", say + ", responses: [{pause: {fixed: 1s}}]", "rules[0].responses[0].pause (line 4): match.path is not the path of a method with a stream of the server"},
		{"echo.proto", watch + ", responses: [{pause: {fixed: 2h}}]", "rules[0].responses[0].pause.fixed (line 4): is not between 0s and 1h"},
		{"echo.proto", watch + ", responses: [{pause: {fixed: 1s}}]", ""},
		{"echo.proto", "match: {path: /a.Echo/Watch, eachMessage: true}, responses: [{}]", "rules[0].match.eachMessage (line 4): match.path is not the path of a method with a stream of the client"},
		{"echo.proto", "match: {path: /a.Echo/**, eachMessage: true}, responses: [{}]", "rules[0].match.eachMessage (line 4): match.path is not the path of"},
		{"echo.proto", "match: {path: /a.Echo/Talk, eachMessage: true}, responses: [{delay: {fixed: 1s}}]", "rules[0].responses[0] (line 4): delay and pause cannot be used with match.eachMessage"},
		{"echo.proto", "match: {path: /a.Echo/Talk, eachMessage: true}, responses: [{}]", ""},
		{"echo.proto", `match: {path: "/a.Echo/{method}"}, responses: [{body: '{"s": "${path.method}"}'}, {grpc: {status: ABORTED}}]`, ""},
	} {
		_, err := Load([]byte(head+"protoFiles: ["+tt.files+"]\nrules: [{name: r, "+tt.rule+"}]\n"), dir)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.rule, err, tt.want)
		}
	}
}

// TestFailedCallsChangeNothing: a document that is no message of the method's response is not stored.
func TestFailedCallsChangeNothing(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/echo.proto", `syntax = "proto3"; package a;
message M { string s = 1; } message None {} service Echo { rpc Say(M) returns (None); }`)
	set, err := Load([]byte(head+`protoFiles: [echo.proto]
rules:
- {name: say, match: {path: /a.Echo/Say}, resource: {collection: c, action: create, id: "${json:/s}"}}
`), dir)
	if err != nil {
		t.Fatal(err)
	}
	e := started(t, set)
	c := request("POST /a.Echo/Say\ncontent-type: application/grpc\n\n\x00\x00\x00\x00\x03\x0a\x01x")
	if e.Answer(c, clock); CodeName(c.Code) != "INTERNAL" || e.Documents() != 0 {
		t.Errorf("%s, %d documents", CodeName(c.Code), e.Documents())
	}
}

// FuzzMessages: whatever a client sends on a stream whose messages are answered one by one, each complete message has an
// outcome.
func FuzzMessages(f *testing.F) {
	dir := f.TempDir()
	write(f, dir+"/echo.proto", echoProto)
	set, err := Load([]byte(head+`protoFiles: [echo.proto]
rules:
- {name: talk, match: {path: /a.Echo/Talk, eachMessage: true}, responses: [{body: '{"s": "${json:/s}"}'}]}
- {name: stop, match: {path: /a.Echo/Talk, eachMessage: true, body: [{jsonPointer: /n, equals: "5"}]}, responses: [{grpc: {status: ABORTED}}]}
`), dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Add("/a.Echo/Talk", []byte("\x00\x00\x00\x00\x03\x0a\x01x\x00\x00\x00\x00\x02\x10\x05"))
	f.Add("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", []byte("\x00\x00\x00\x00\x02\x3a\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, path string, body []byte) {
		e := started(t, set)
		stream, c := &Call{}, &Call{}
		stream.Begin([]byte("POST"), []byte(path))
		stream.AddField([]byte("content-type"), []byte("application/grpc"))
		for e.AnswersEach(stream) {
			n := e.AnswerMessage(c, stream, body, clock)
			if n < 0 || n > len(body) || n > 0 && (c.Fate != Answered || c.Code < 0 || c.Code >= Codes) {
				t.Fatalf("%d of %d octets, fate %d, code %d", n, len(body), c.Fate, c.Code)
			}
			if n == 0 || c.Ends() {
				return
			}
			body = body[n:]
		}
	})
}

// FuzzCall: whatever a client sends, a call ends with a code, and its answer is a response.
func FuzzCall(f *testing.F) {
	dir := f.TempDir()
	write(f, dir+"/echo.proto", echoProto)
	set, err := Load([]byte(head+`protoFiles: [echo.proto]
rules:
- {name: say, match: {path: /a.Echo/Say}, responses: [{body: '{"s": "${json:/s}", "n": ${json:/n}}'}]}
- {name: watch, match: {path: /a.Echo/Watch}, responses: [{body: '[${request.body}, {"s": "${request.header.x}"}]'}]}
`), dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Add("Say", "x", []byte("\x00\x00\x00\x00\x03\x0a\x01x"))
	f.Add("Watch", "\"", []byte("\x00\x00\x00\x00\x02\x10\x05"))
	f.Add("Other", "", []byte("\x01"))
	f.Fuzz(func(t *testing.T, method, x string, body []byte) {
		e := started(t, set)
		c := &Call{}
		c.Begin([]byte("POST"), []byte("/a.Echo/"+method))
		c.AddField([]byte("content-type"), []byte("application/grpc"))
		c.AddField([]byte("x"), []byte(x))
		c.AddBody(body)
		e.Answer(c, clock)
		if c.Fate != Answered || c.Code < 0 || c.Code >= Codes || (c.Code == codeOK) != (len(c.Trailers) > 0) {
			t.Errorf("fate %d, code %d, trailers %q", c.Fate, c.Code, c.Trailers)
		}
		answer(t, c)
	})
}
