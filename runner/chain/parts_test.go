package chain

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2/hpack"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// withParts is a plan whose first step has a JSON part and parts of octets.
func withParts() *rv.Plan {
	p := lifeCycle()
	hex := []rv.Function{{Name: rv.FunctionHexDecode}}
	s := &p.Chains[0].Steps[0]
	s.Headers, s.Body = nil, nil
	s.Parts = []rv.BodyPart{
		{ContentType: "application/json", ContentID: "<root>", Body: rv.Text{{Literal: `{"ue":"`}, {Variable: 1}, {Literal: `"}`}}},
		{ContentType: "application/vnd.3gpp.5gnas", ContentID: "n1msg", Body: rv.Text{{Literal: "7e 00", Functions: hex}, {Variable: 1, Functions: hex}, {Literal: "FF", Functions: hex}}},
		{ContentType: "a/b", BodyFrom: &rv.BodyFrom{Content: rv.Content{Bytes: []byte("\r\n\x00")}, Raw: true}},
		{ContentType: "text/plain", BodyFrom: &rv.BodyFrom{Content: rv.Content{File: "/f"}}},
		{ContentType: "text/plain"},
	}
	return p
}

func readF(string) ([]byte, error) { return []byte("ue ${ue}"), nil }

// TestParts: mime/multipart reads the parts of a request.
func TestParts(t *testing.T) {
	g, err := Load(withParts(), Resources{ReadFile: readF})
	if err != nil {
		t.Fatal(err)
	}
	src, enc := sources(g), NewEncoder(g, 0, &g.Targets[0].Endpoints[0])
	dec := hpack.NewDecoder(MaxTable, nil)
	state, types := enc.Begin(MaxTable), map[string]bool{}
	for _, ue := range []string{"000005", "000010"} {
		var in Instance
		in.Start(g, 0, src, 0)
		var fields []string
		var body string
		fields, body, state = request(t, enc, dec, &g.Steps[0], &in, state)
		var kind string
		for _, f := range fields {
			if value, is := strings.CutPrefix(f, "content-type: "); is {
				kind = value
			}
		}
		types[kind] = true
		want := []string{
			`application/json|<root>|{"ue":"` + ue + `"}`, "application/vnd.3gpp.5gnas|n1msg|\x7e\x00\x00\x00" + map[string]string{"000005": "\x05", "000010": "\x10"}[ue] + "\xff",
			"a/b||\r\n\x00", "text/plain||ue " + ue, "text/plain||",
		}
		if diff := cmp.Diff(want, partsOf(t, kind, body)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", ue, diff)
		}
	}
	if len(types) != 1 {
		t.Errorf("the content-type differs between requests: %v", types)
	}
}

// partsOf returns "Content-Type|Content-ID|content" of each part.
func partsOf(t *testing.T, kind, body string) (out []string) {
	t.Helper()
	media, params, err := mime.ParseMediaType(kind)
	if err != nil || media != "multipart/related" || params["type"] != "application/json" || params["start"] != "<root>" {
		t.Fatalf("%s: %v", kind, err)
	}
	for r := multipart.NewReader(strings.NewReader(body), params["boundary"]); ; {
		p, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, body)
		}
		content, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p.Header.Get("Content-Type")+"|"+p.Header.Get("Content-Id")+"|"+string(content))
	}
}

// TestBoundaries: all shards have the same boundary, and other steps and seeds have other ones. The content of a file, which
// can be secret, does not change it.
func TestBoundaries(t *testing.T) {
	body := func(edit func(*rv.Plan), shard int, file string) string {
		p := withParts()
		edit(p)
		g, err := Load(p, Resources{Share: &rv.Share{Shard: shard}, ReadFile: func(string) ([]byte, error) { return []byte(file), nil }})
		if err != nil {
			t.Fatal(err)
		}
		boundary, _, _ := bytes.Cut(g.Steps[0].body[0].literal, []byte("\r\n"))
		return string(boundary)
	}
	same := func(*rv.Plan) {}
	a := body(same, 0, "f")
	if b := body(same, 1, "f"); a != b {
		t.Errorf("%s on shard 0 and %s on shard 1", a, b)
	}
	if b := body(same, 0, "g"); a != b {
		t.Errorf("%s with one file and %s with another", a, b)
	}
	for what, b := range map[string]string{
		"another seed":           body(func(p *rv.Plan) { p.Seed = 1 }, 0, "f"),
		"another step":           body(func(p *rv.Plan) { p.Chains[0].Steps[0].Name = "x" }, 0, "f"),
		"another chain":          body(func(p *rv.Plan) { p.Chains[0].Name = "x" }, 0, "f"),
		"a file with a boundary": body(same, 0, a),
	} {
		if a == b {
			t.Errorf("%s: the boundary is %s, too", what, a)
		}
	}
}

func TestMistakesOfParts(t *testing.T) {
	for want, edit := range map[string]func(*rv.Step){
		`parts[0]: contentType: "json": must be a media type`: func(s *rv.Step) { s.Parts[0].ContentType = "json" },
		`parts[1]: contentID: "a b": must have printable`:     func(s *rv.Step) { s.Parts[1].ContentID = "a b" },
		"parts[0]: there is no variable 9":                    func(s *rv.Step) { s.Parts[0].Body = rv.Text{{Variable: 9}} },
		"parts[3]: ${ without }":                              func(s *rv.Step) { s.Parts[3].BodyFrom.Content = rv.Content{Text: "${"} },
		"headers: content-type is set from the parts":         func(s *rv.Step) { s.Headers = []rv.Header{{Name: lit("Content-Type"), Value: lit("a/b")}} },
	} {
		p := withParts()
		edit(&p.Chains[0].Steps[0])
		if _, err := Load(p, Resources{ReadFile: readF}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
