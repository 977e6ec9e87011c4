package har

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/h2surge/h2surge/internal/convert"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs; run the test with -update if that is meant (-want +got):\n%s", name, diff)
	}
}

// Convert compiles what it makes, so a golden file is a manifest that runs.
func TestConvert(t *testing.T) {
	input, err := os.ReadFile("testdata/shop.har")
	if err != nil {
		t.Fatal(err)
	}
	for name, think := range map[string]bool{"shop": false, "shop-think": true} {
		out, _, err := Convert(input, Options{Options: convert.Options{Name: name}, Think: think})
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "testdata/"+name+".yaml", string(out))
	}
}

func TestMistakes(t *testing.T) {
	for _, tc := range []struct{ input, want string }{
		{"", "the archive cannot be read: unexpected end of JSON input"},
		{"[]", "the archive cannot be read: json: cannot unmarshal array into Go value of type har.archive"},
		{"{}", "log.entries: there is none"},
		{`{"log":{"entries":[{}]}}`, "log.entries[0].request: is needed\nlog.entries: none of them can be sent"},
		{`{"log":{"entries":[{"request":{"url":"ws://a"}}]}}`, "log.entries: none of them can be sent"},
		{
			`{"log":{"entries":[{"request":{"url":"http://a","method":"POST","postData":{"text":"?","encoding":"base64"}}}]}}`,
			"log.entries[0].request.postData.text: is no base64, as encoding says",
		},
		{
			`{"log":{"entries":[{"request":{"url":"http://a","method":"G T"}}]}}`,
			"log.entries[0].request: cannot be converted: spec.templates[0].method: must be a token such as GET (RFC 9110 9.1)",
		},
	} {
		_, _, err := Convert([]byte(tc.input), Options{})
		if err == nil || err.Error() != tc.want {
			t.Errorf("%s: %v, want %s", tc.input, err, tc.want)
		}
	}
}

func FuzzConvert(f *testing.F) {
	if input, err := os.ReadFile("testdata/shop.har"); err == nil {
		f.Add(string(input))
	}
	f.Add(`{"log":{"pages":[{"id":"a"}],"entries":[{"pageref":"b","time":1e300,"startedDateTime":"2026-03-01T10:00:00Z","request":{"url":"http://a/\u00e9$","method":"","postData":{"text":"\u0000\n x "}}}]}}`)
	f.Fuzz(func(t *testing.T, input string) {
		out, _, err := Convert([]byte(input), Options{Think: true})
		if (err == nil) == (out == nil) {
			t.Errorf("%v, and %d bytes", err, len(out))
		}
		if err != nil && strings.Contains(err.Error(), "fault of the conversion") {
			t.Error(err)
		}
	})
}
