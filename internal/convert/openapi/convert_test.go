package openapi

import (
	"regexp"
	"strings"
	"testing"

	"github.com/h2surge/h2surge/internal/convert"
	"github.com/h2surge/h2surge/internal/convert/converttest"
)

var files = converttest.Below("")

func with(o Options) converttest.Conversion {
	return func(input string) ([]byte, []string, error) { return Convert([]byte(input), o) }
}

func TestConvert(t *testing.T) {
	for _, tc := range []struct {
		name, file string
		o          Options
	}{
		{"sessions", "sessions.yaml", Options{}},
		{"sessions-resources", "sessions.yaml", Options{Resources: true, Target: "http://pcf.core.svc:8080/scp"}},
		{"petty", "petty.json", Options{Target: "http://127.0.0.1:8080", Operations: []string{"readItem", "POST /items"}}},
		{"core", "core.yaml", Options{Target: "http://core.svc:8080"}},
		{"core-resources", "core.yaml", Options{Target: "http://core.svc:8080", Resources: true}},
		{"callbacks", "callbacks.yaml", Options{Target: "http://watch.svc:8080"}},
		{"callbacks-resources", "callbacks.yaml", Options{Target: "http://watch.svc:8080", Resources: true}},
		{"network-multipart", "network.yaml", Options{Target: "http://net.svc:8080", Operations: []string{"transferLater", "start"}, Multipart: true}},
		{"network", "network.yaml", Options{Target: "http://net.svc:8080", Resources: true}},
		{"petty-resources", "petty.json", Options{Target: "http://127.0.0.1:8080", Resources: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.o.Options, tc.o.File = convert.Options{Name: tc.name, Read: files}, tc.file
			out, _ := with(tc.o).Convert(t, converttest.Input(t, tc.file))
			converttest.Golden(t, "golden-"+tc.name+".yaml", out)
		})
	}
}

func TestMistakes(t *testing.T) {
	for _, tc := range []struct {
		input string
		o     Options
		want  string
	}{
		{"", Options{}, "openapi: must be 3.0 or 3.1, with paths below"},
		{"a: [", Options{File: "a.yaml"}, "a.yaml: cannot be read: yaml: line 1: did not find expected node content"},
		{"swagger: '2.0'", Options{}, "swagger: OpenAPI 2.0 is not read; 3.0 and 3.1 are"},
		{"openapi: 3.0.3\nservers: [{url: 'http://a'}]", Options{}, "paths: there is no operation"},
		{"openapi: 3.0.3\npaths: {/: {get: {}}}", Options{}, "servers[0].url: has no host; --target says where the service is"},
		{"openapi: 3.0.3\npaths: {/: {get: {}}}", Options{Target: "here"}, "--target: must be a URL such as http://host:8080, without a user"},
		{"openapi: 3.0.3\npaths: {/: {get: {}}}", Options{Target: "http://a", Operations: []string{"b"}}, "--operation: b is not in the description\npaths: there is no operation"},
		{"openapi: 3.0.3\npaths: {'/{': {get: {}}}", Options{Target: "http://a"}, "GET /{: has a brace that is not closed"},
	} {
		with(tc.o).Mistake(t, tc.input, tc.want)
	}
}

func TestMatching(t *testing.T) {
	for _, pattern := range []string{
		`^[0-9]{5,6}$`, `^(nai-.+|.+)$`, `^[A-Fa-f0-9]*$`, `^[0-9]{3}-[0-9]{2,3}$`, `\d+ (bps|Kbps)`, `^((:|(0?|([1-9a-f][0-9a-f]{0,3}))):)((0?|([1-9a-f][0-9a-f]{0,3})):){0,6}(:|(0?|([1-9a-f][0-9a-f]{0,3})))$`,
	} {
		got := matching(pattern)
		if !regexp.MustCompile(pattern).MatchString(got) {
			t.Errorf("%s: %q does not match", pattern, got)
		}
	}
	for _, pattern := range []string{`(?=a)`, `[`, `(a{1000}){1000}`, `$.^`} {
		if got := matching(pattern); got != "" {
			t.Errorf("%s: %q, want none", pattern, got)
		}
	}
}

// TestClosest: binary parts belong to the references with similar names. The names are those of TS 29.502 and TS 29.518.
func TestClosest(t *testing.T) {
	var references []*reference
	for _, path := range []string{"n1SmMsg", "n2SmInfo", "n2SmInfoExt1", "n1MessageContainer/n1MessageContent", "n2InfoContainer/smInfo/ngapData", "moData"} {
		references = append(references, &reference{pointer: path, names: strings.Split(path, "/")})
	}
	for part, want := range map[string]string{
		"binaryDataN1SmMessage": "n1SmMsg", "binaryDataN2SmInformation": "n2SmInfo", "binaryDataN2SmInformationExt1": "n2SmInfoExt1",
		"binaryDataN1Message": "n1MessageContainer/n1MessageContent", "binaryDataN2Information": "n2InfoContainer/smInfo/ngapData",
		"binaryMoData": "moData", "other": "", "n": "", "binaryData": "",
	} {
		got := ""
		if i := closest(part, references); i >= 0 {
			got = references[i].pointer
		}
		if got != want {
			t.Errorf("%s: %q, want %q", part, got, want)
		}
	}
}

func FuzzConvert(f *testing.F) {
	for _, name := range []string{"sessions.yaml", "core.yaml", "petty.json", "callbacks.yaml", "network.yaml"} {
		f.Add(converttest.Input(f, name), true)
	}
	f.Add("openapi: 3.0.0\npaths: &a {/a: {post: {requestBody: {content: {application/json: {schema: {$ref: '#/paths/~1a/post/requestBody/content/application~1json/schema'}}}}}}, /a/{b}: *a}", true)
	f.Fuzz(func(t *testing.T, input string, resources bool) {
		with(Options{Target: "http://a", Resources: resources, Options: convert.Options{Read: files}}).Try(t, input)
	})
}
