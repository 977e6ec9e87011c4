package har

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/h2surge/h2surge/internal/convert"
	"github.com/h2surge/h2surge/internal/convert/converttest"
	"github.com/h2surge/h2surge/test/golden"
)

func with(o Options) converttest.Conversion {
	return func(input string) ([]byte, []string, error) { return Convert([]byte(input), o) }
}

func TestConvert(t *testing.T) {
	input := converttest.Input(t, "shop.har")
	for name, think := range map[string]bool{"shop": false, "shop-think": true} {
		out, _ := with(Options{Options: convert.Options{Name: name}, Think: think}).Convert(t, input)
		golden.Compare(t, name+".yaml", out)
	}
}

func TestMistakes(t *testing.T) {
	with(Options{}).Mistakes(t, []converttest.Mistake{
		{"", "the archive cannot be read: unexpected end of JSON input"},
		{"[]", "the archive cannot be read: json: cannot unmarshal array into Go value of type har.archive"},
		{"{}", "log.entries: at least one is required"},
		{`{"log":{"entries":[{}]}}`, "log.entries[0].request: is needed\nlog.entries: none of them can be sent"},
		{`{"log":{"entries":[{"request":{"url":"ws://a"}}]}}`, "log.entries: none of them can be sent"},
		{
			`{"log":{"entries":[{"request":{"url":"http://a","method":"POST","postData":{"text":"?","encoding":"base64"}}}]}}`,
			"log.entries[0].request.postData.text: is not base64, although encoding says so",
		},
		{
			`{"log":{"entries":[{"request":{"url":"http://a","method":"G T"}}]}}`,
			"log.entries[0].request: cannot be converted: spec.chains[0].steps[0].request.method: must be a token such as GET (RFC 9110 9.1)",
		},
	})
}

// TestLongSessions: a session that is longer than a chain can be is cut, and a warning names it.
func TestLongSessions(t *testing.T) {
	entries := strings.Repeat(`{"pageref":"p","request":{"url":"http://a"}},`, 67) + `{"pageref":"q","request":{"url":"http://a"}}`
	archive := `{"log":{"pages":[{"id":"p","title":"Shop front"},{"id":"q"}],"entries":[` + entries + `]}}`
	_, warnings, err := Convert([]byte(archive), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := `log.entries: session "shop-front" has 67 requests, and a chain has at most 64 steps: the last 3 are left out; record a shorter session, or remove requests such as images from the archive`
	if !slices.Contains(warnings, want) {
		t.Errorf("got %q, want %q", warnings, want)
	}
}

func TestManyPages(t *testing.T) {
	var entries []string
	for i := range 33 {
		entries = append(entries, fmt.Sprintf(`{"pageref":"p%d","request":{"url":"http://a"}}`, i))
	}
	_, _, err := Convert([]byte(`{"log":{"entries":[`+strings.Join(entries, ",")+`]}}`), Options{})
	if want := "log.pages: 33 pages have requests, and a LoadTest has at most 32 chains; remove pages from the archive"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func FuzzConvert(f *testing.F) {
	with(Options{Think: true}).Fuzz(f,
		converttest.Input(f, "shop.har"),
		`{"log":{"pages":[{"id":"a"}],"entries":[{"pageref":"b","time":1e300,"startedDateTime":"2026-03-01T10:00:00Z","request":{"url":"http://a/\u00e9$","method":"","postData":{"text":"\u0000\n x "}}}]}}`,
	)
}
