package openapi

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/h2surge/h2surge/internal/convert"
	"github.com/h2surge/h2surge/internal/convert/converttest"
	"github.com/h2surge/h2surge/test/golden"
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
		{"checked", "checked.yaml", Options{Target: "http://profiles.svc:8080", Check: true}},
		{"petty-resources", "petty.json", Options{Target: "http://127.0.0.1:8080", Resources: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.o.Options, tc.o.File = convert.Options{Name: tc.name, Read: files}, tc.file
			out, _ := with(tc.o).Convert(t, converttest.Input(t, tc.file))
			golden.Compare(t, "golden-"+tc.name+".yaml", out)
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
		{"openapi: 3.0.3\npaths: {/: {get: {responses: {'200': {content: {application/json: {schema: {items: {$ref: 'TS29571.yaml#/A'}}}}}}}}}", Options{Target: "http://a", Check: true},
			"GET /: the schema refers to TS29571.yaml#/A, which cannot be found"},
		{many(33), Options{Target: "http://a"}, "paths: there are 33 operations, and a LoadTest has 32 chains; --operation says which ones, with * for any text: GET /0, read1, GET /2, read3, GET /4, read5, GET /6, read7, GET /8, read9, GET /10, read11, GET /12, read13, GET /14, read15, GET /16, read17, GET /18, read19, GET /20, read21, GET /22, read23, GET /24, read25, GET /26, read27, GET /28, read29, GET /30, read31, GET /32"},
		{many(33), Options{Target: "http://a", Operations: []string{"GET /*", "write*"}}, "--operation: write* is not in the description\npaths: there are 33 operations, and a LoadTest has 32 chains; --operation says which ones, with * for any text: GET /0, read1, GET /2, read3, GET /4, read5, GET /6, read7, GET /8, read9, GET /10, read11, GET /12, read13, GET /14, read15, GET /16, read17, GET /18, read19, GET /20, read21, GET /22, read23, GET /24, read25, GET /26, read27, GET /28, read29, GET /30, read31, GET /32"},
		{"openapi: 3.0.3\npaths: {'/{': {get: {}}}", Options{Target: "http://a"}, "GET /{: has a brace that is not closed"},
	} {
		with(tc.o).Mistake(t, tc.input, tc.want)
	}
}

// many is a description of n operations. Each second one has an operationId.
func many(n int) string {
	out := "openapi: 3.0.3\npaths:\n"
	for i := range n {
		id := ""
		if i%2 == 1 {
			id = fmt.Sprintf("operationId: read%d", i)
		}
		out += fmt.Sprintf("  /%d: {get: {%s}}\n", i, id)
	}
	return out
}

func TestPatterns(t *testing.T) {
	for _, tc := range []struct {
		patterns []string
		want     int
	}{
		{[]string{"read*"}, 20}, {[]string{"read1*"}, 6}, {[]string{"GET /*"}, 40}, {[]string{"*7", "read7"}, 4}, {[]string{"*/1*", "r*1"}, 13}, {[]string{"GET /7"}, 1},
	} {
		d := &converter{documents: &documents{Draft: convert.New("", convert.Options{}), files: map[string]*yaml.Node{}}, o: Options{Operations: tc.patterns}}
		d.root = value{node: d.parse("", []byte(many(40)))}
		d.list()
		if d.choose(); len(d.operations) != tc.want {
			t.Errorf("%q: %d operations, want %d", tc.patterns, len(d.operations), tc.want)
		}
	}
}

// TestCallbackOfOneName: a callback can have the name of its operation, as in Nlmf_Broadcast (TS 29.572), or of another one.
func TestCallbackOfOneName(t *testing.T) {
	const description = `openapi: 3.0.3
paths:
  /a: {post: {operationId: cipher, requestBody: &uri {content: {application/json: {schema: {type: object, properties: {uri: {type: string}}}}}},
    callbacks: {cipher: {'{$request.body#/uri}': {post: {}}}}, responses: {'200': {}}}}
  /b: {post: {operationId: start, requestBody: *uri, callbacks: {stop: {'{$request.body#/uri}': {post: {}}}}}}
  /c: {post: {operationId: stop}}
`
	out, _ := with(Options{Target: "http://a"}).Convert(t, description)
	for _, want := range []string{"name: cipher\n", "name: cipher-2\n", "name: stop\n", "name: stop-2\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
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
