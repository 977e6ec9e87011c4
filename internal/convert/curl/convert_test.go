package curl

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/h2surge/h2surge/internal/convert"
	"github.com/h2surge/h2surge/internal/convert/converttest"
	"github.com/h2surge/h2surge/test/golden"
)

var line = commandLine{map[string]string{"lines.txt": "a=1\r\nb=2\n", "logo.png": "\x89PNG\xff\x00", "a b.txt": "x y&z\n", "dir/a b.txt": "c\n"}}

func TestConvert(t *testing.T) {
	line.goldens(t, map[string]string{
		"plain":     "http://shop.example:8080/items?price=5$",
		"tls":       "-sS -k --cacert ca.pem --cert me.pem:secret --key key.pem --tlsv1.2 --resolve shop.example:443:192.0.2.1,192.0.2.2 --resolve other.example:443:192.0.2.3 -L --max-redirs 3 -m 2.5 --connect-timeout 1 https://shop.example/",
		"data":      "-d @lines.txt --data-urlencode 'q=a b&c' --data-urlencode 'name@a b.txt' --data-raw @x https://shop.example/form",
		"query":     "-G -d a=1 --data-urlencode 'b=ü' https://shop.example/search?x=y",
		"json":      "--json '{\"price\":\"5$\"}' -X PUT https://shop.example/items/1",
		"form":      "-F 'comment=a \"text\"' -F 'logo=@logo.png;filename=l.png' -F 'note=@a b.txt;type=text/x-note' --form-string raw=@x https://shop.example/upload",
		"formtype":  "-X POST -H 'Content-Type: multipart/form-data' -F 'note=@lines.txt;type=text/x-note' https://shop.example/upload",
		"upload":    "-T 'dir/a b.txt' https://shop.example/up/",
		"user":      "-u me:secret -H 'Host: other.example' --http2-prior-knowledge -b 'a=b; c=d' -b jar.txt http://shop.example/",
		"connectto": "--connect-to shop.example:443:[2001:db8::1]: -A agent -e http://from.example/ --oauth2-bearer token -H accept: -H 'X-Empty;' --nonsense 3 https://shop.example/{a,b}",
	})
}

// TestLines has lines as browsers copy them.
func TestLines(t *testing.T) {
	for _, name := range []string{"chrome", "firefox"} {
		line, err := os.ReadFile("testdata/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		words, err := Words(string(line))
		if err != nil || words[0] != "curl" {
			t.Fatal(words, err)
		}
		out, _, err := Convert(words[1:], convert.Options{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, name+".yaml", string(out))
	}
}

func TestMistakes(t *testing.T) {
	line.mistakes(t, []converttest.Mistake{
		{"--verbose=1 http://a/", "--verbose: has no value"},
		{"http://a/ -m", "--max-time: needs a value"},
		{"", "URL: exactly one is needed, not 0"},
		{"http://a/ http://b/", "URL: exactly one is needed, not 2"},
		{"ftp://a/", "URL: must be a URL that begins with http:// or https://"},
		{"--http3 https://a/", "--http3: HTTP/3 is not supported"},
		{"-H nothing http://a/", "--header: must be of the form 'name: value'"},
		{"-H @file http://a/", "--header: the file of @FILE is not read; write the fields"},
		{"-d @none http://a/", "--data: open none: no such file"},
		{"-F nothing http://a/", "--form: must be of the form name=value"},
		{"-F a=(b http://a/", "--form: a form in a part is not supported"},
		{"-F a=@lines.txt,logo.png http://a/", "--form: a part can have one file; give -F for each"},
		{"-m soon http://a/", "--max-time: must be a number of seconds above 0"},
		{"-X 'G T' http://a/", "--request: cannot be converted: spec.chains[0].steps[0].request.method: must be a token such as GET (RFC 9110 9.1)"},
	})
}

func TestWords(t *testing.T) {
	for _, tc := range []struct {
		line string
		want []string
		err  error
	}{
		{"", nil, nil},
		{"curl  a\tb", []string{"curl", "a", "b"}, nil},
		{`'a b' "c d" e\ f`, []string{"a b", "c d", "e f"}, nil},
		{`a'b'"c"d`, []string{"abcd"}, nil},
		{`'' ""`, []string{"", ""}, nil},
		{`"a\"b\\c\$d\e"`, []string{`a"b\c$d\e`}, nil},
		{`'it'\''s'`, []string{"it's"}, nil},
		{"a \\\n  b \\\r\n c", []string{"a", "b", "c"}, nil},
		{`$'a\'b\n\t\\ \x41\101\u00fc\U0001F600 \q'`, []string{"a'b\n\t\\ AAü\U0001F600 \\q"}, nil},
		{`$'\u0021' $"x"`, []string{"!", "x"}, nil},
		{`a$ "b$" c$1`, []string{"a$", "b$", "c$1"}, nil},
		{"'http://a/?a=1&b=2'", []string{"http://a/?a=1&b=2"}, nil},
		{"a $HOME", nil, errExpansion},
		{`a "${HOME}"`, nil, errExpansion},
		{"a `date`", nil, errExpansion},
		{`a 'b`, nil, errOpen},
		{`a "b`, nil, errOpen},
		{`a $'b\'`, nil, errOpen},
	} {
		got, err := Words(tc.line)
		if diff := cmp.Diff(tc.want, got); diff != "" || err != tc.err { //nolint:errorlint // they are not wrapped
			t.Errorf("%q: %v (-want +got):\n%s", tc.line, err, diff)
		}
	}
	for _, line := range []string{"curl http://a/?a=1&b=2", "curl a; curl b", "curl a\ncurl b", "curl a > b", `curl ^"http://a/^"`} {
		if got, err := Words(line); err == nil {
			t.Errorf("%q: %q, want an error", line, got)
		}
	}
}

func TestAddresses(t *testing.T) {
	for in, want := range map[string][]string{
		"a:443:192.0.2.1": {"a", "443", "192.0.2.1"}, "a:443:[2001:db8::1]": {"a", "443", "2001:db8::1"}, ":::": {"", "", "", ""}, "a": {"a"}, "": {""},
	} {
		if diff := cmp.Diff(want, addresses(in)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
	}
}

// TestFormPart has values as curl 7.88 reads them.
func TestFormPart(t *testing.T) {
	const (
		unknown = "--form: what stands behind a semicolon is neither type= nor filename=, and left out, as by curl; a value with semicolons needs quotation marks"
		behind  = "--form: what stands behind a closing quotation mark is left out, as by curl"
	)
	for _, tc := range []struct{ value, head, body, warnings string }{
		{`a=say "text"`, "", `say "text"`, ""},
		{`a="{\"a\":\"\\\n\"}"`, "", `{"a":"\\n"}`, ""},
		{`a="x;y" ; filename="p \"q.pdf"`, `; filename="p %22q.pdf"` + "\r\ncontent-type: application/pdf", "x;y", ""},
		{`a={"a":1};type=application/json;charset=utf-8`, "\r\ncontent-type: application/json;charset=utf-8", `{"a":1}`, ""},
		{`a= x ; type= text/x ; charset=u ; filename= f.x ;charset=v`, `; filename="f.x"` + "\r\ncontent-type: text/x ; charset=u", "x", unknown},
		{`a=@lines.txt;type=text/x;charset=u`, `; filename="lines.txt"` + "\r\ncontent-type: text/x;charset=u", "a=1\r\nb=2\n", ""},
		{`a=@"a b.txt";filename=b.png`, `; filename="b.png"` + "\r\ncontent-type: image/png", "x y&z\n", ""},
		{`a=<"a b.txt";filename=b.png`, "", "x y&z\n", "--form: filename= of <FILE is left out, as by curl"},
		{`a=x;y`, "", "x", unknown},
		{`a="x" y;type=text/x`, "\r\ncontent-type: text/x", "x", behind},
		{`a="x y;type=text/x`, "\r\ncontent-type: text/x", `"x y`, ""},
		{`a=x;headers="X: y";encoder=base64`, "", "x", "--form: headers= is left out|--form: encoder= is left out"},
		{`a=`, "", "", ""},
	} {
		c := &converter{Draft: convert.New("", convert.Options{Read: line.read})}
		head, body := c.formPart("--form", tc.value)
		got := []string{head, string(body), strings.Join(c.Warnings(), "|")}
		if diff := cmp.Diff([]string{`content-disposition: form-data; name="a"` + tc.head, tc.body, tc.warnings}, got); diff != "" || c.Failed() {
			t.Errorf("%s: %v (-want +got):\n%s", tc.value, c.Err(), diff)
		}
	}
}

// TestUploaded: the path gets the name of the file if it has none.
func TestUploaded(t *testing.T) {
	for _, tc := range [][3]string{
		{"/", "lines.txt", "/lines.txt"}, {"/up/", "dir/a b.txt", "/up/a%20b.txt"}, {"/up/", `C:\dir\x`, "/up/x"},
		{"/up/name", "lines.txt", "/up/name"}, {"/up/?a=/", "lines.txt", "/up/?a=/"}, {"/up/", "-", "/up/"}, {"/up/", ".", "/up/"},
	} {
		if got := uploaded(tc[0], tc[1]); got != tc[2] {
			t.Errorf("%s to %s: %s, want %s", tc[1], tc[0], got, tc[2])
		}
	}
}

func TestBounded(t *testing.T) {
	for given, want := range map[string]string{
		"multipart/form-data":                            "multipart/form-data; boundary=b",
		"Multipart/Mixed; charset=utf-8":                 "multipart/mixed; boundary=b; charset=utf-8",
		"multipart/form-data; charset=u; boundary=\"a\"": "multipart/form-data; boundary=b; charset=u",
		"application/json":                               "application/json",
		"multipart/form-data; =":                         "multipart/form-data; =",
		"":                                               "",
	} {
		if got := bounded(given, "b"); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}

func TestDocs(t *testing.T) { line.documented(t) }

func FuzzConvert(f *testing.F) {
	line.fuzz(f,
		"-X POST -H a:b -d @lines.txt --data-urlencode =a http://a/b?c=${d}",
		`-F a=@logo.png;type=x;charset=u -F b="q;\"";filename=f.png -F b=<lines.txt --resolve +a:80:[::1] -u x http://u:p@a`,
		"--json {} --json x -G -L -I -T lines.txt https://[::1]:1/",
	)
}

func FuzzWords(f *testing.F) {
	f.Add(`curl 'a' "b" $'c\n\x41\u00fc' \` + "\n d")
	f.Fuzz(func(t *testing.T, line string) {
		words, err := Words(line)
		if err != nil && words != nil {
			t.Errorf("%q and %v", words, err)
		}
	})
}

func TestFlags(t *testing.T) {
	for _, tc := range []struct {
		line     string
		given    []Flag
		operands []string
		warnings string
	}{
		{"-sGmv a --max-time=6 -m 7 b -- -v", []Flag{{"--silent", ""}, {"--get", ""}, {"--max-time", "v"}, {"--max-time", "6"}, {"--max-time", "7"}}, []string{"a", "b", "-v"}, ""},
		{"-5 5 http://a --what -v", []Flag{{"--verbose", ""}}, []string{"http://a"}, `-5: is not known and left out|-5: "5" is taken for its value|--what: is not known and left out`},
		{"-v55 -", []Flag{{"--verbose", ""}}, []string{"-"}, "-5: is not known and left out"},
		{"--verb", nil, nil, "--verb: is not known and left out"},
	} {
		d := convert.New("", convert.Options{})
		given, operands := parseFlags(d, strings.Fields(tc.line))
		if diff := cmp.Diff(tc.given, given, cmp.AllowUnexported(Flag{})); diff != "" {
			t.Errorf("%s: flags (-want +got):\n%s", tc.line, diff)
		}
		if diff := cmp.Diff(tc.operands, operands); diff != "" {
			t.Errorf("%s: operands (-want +got):\n%s", tc.line, diff)
		}
		if got := strings.Join(d.Warnings(), "|"); got != tc.warnings {
			t.Errorf("%s: %s, want %s", tc.line, got, tc.warnings)
		}
	}
}
