package h2load

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
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

// files are those of the tests.
func files(name string) ([]byte, error) {
	switch name {
	case "body.json":
		return []byte(`{"price":"5$"}` + "\n"), nil
	case "body.bin":
		return []byte{0xff, 0x00, 0xfe}, nil
	case "uris.txt":
		return []byte("https://shop.example/a?x=1\n\n/b c\nhttps://shop.example/c#part\n"), nil
	case "timing.txt":
		return []byte("0.0\thttp://shop.example/a\n12.5\thttp://shop.example/b\n"), nil
	case "many.txt":
		return []byte(strings.Repeat("http://shop.example/a\nhttp://shop.example/b\n", 40)), nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("no such file")}
}

// Convert compiles what it makes, so a golden file is a manifest that runs.
func TestConvert(t *testing.T) {
	for name, line := range map[string]string{
		"plain":     "-n 100000 -c 100 -m 10 -t 2 http://shop.example:8080/",
		"timed":     "-c100 -m 32 -D 10 --warm-up-time=5s --rps 2.5 -w 20 -W10 -f 32K --header-table 8k --encoder-header-table-size=0 -H content-type:application/json -H :method:PUT -d body.json http://shop.example/items?id=$1",
		"https":     "-r 10 --rate-period 500ms -c 20 -n 200 -T 1m -N 10 --alpn-list h2,http/1.1 --sni shop.test --groups X25519:P-256:ffdhe2048 --ciphers ECDHE-RSA-AES128-GCM-SHA256:TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 --connect-to 127.0.0.1 --histogram --output-file out.json --ktls -v -i uris.txt",
		"http1":     "--h1 -m 100 -n 10 -B unix:/tmp/shop.sock -H 'host: other.example' http://shop.example/ http://elsewhere.example/x",
		"binary":    "-n 1 -d body.bin -H authorization:secret -H connection:close -p http/1.1 http://shop.example/",
		"many":      "-i many.txt -D 1s",
		"timing":    "--timing-script-file timing.txt --nonsense 3 -D 1s",
		"authority": "-H :authority:other.example:81 -n 5 http://shop.example",
	} {
		t.Run(name, func(t *testing.T) {
			args := strings.Fields(strings.ReplaceAll(line, "'host: other.example'", "host:other.example"))
			out, warnings, err := Convert(args, convert.Options{Name: name, Read: files})
			if err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", name+".yaml"), "# "+line+"\n"+string(out))
			for _, w := range warnings {
				if !strings.Contains(string(out), "# "+w) && !strings.Contains(string(out), "#   "+w) {
					t.Errorf("no comment says: %s", w)
				}
			}
		})
	}
}

func TestMistakes(t *testing.T) {
	for _, tc := range []struct{ line, want string }{
		{"", "URI: is needed"},
		{"-n x http://a/", "--requests: must be a whole number, not negative"},
		{"-n", "--requests: needs a value\nURI: is needed"},
		{"--h3 http://a/", "--h3: HTTP/3 is not spoken"},
		{"--h1=1 http://a/", "--h1: has no value"},
		{"--he=x http://a/", "--he: may be --header or --header-table-size"},
		{"ftp://a/", "URI: number 1 must be a URL that begins with http:// or https://"},
		{"-i none http://a/", "--input-file: open none: no such file"},
		{"--rps 0 http://a/", "--rps: must be a number above 0, at most 1e+08"},
		{"-m 0 http://a/", "--max-concurrent-streams: must be at least 1"},
		{"-w 40 http://a/", "--window-bits: must be 1 to 30"},
		{"-f 1K http://a/", "-f: cannot be converted: spec.targets[0].http2.maxFrameSize: must be between 16384 and 16777215"},
		{"-H nothing http://a/", "--header: must be of the form name:value"},
		{"-D 1y http://a/", "--duration: must be a duration such as 10s, 500ms or 2m"},
	} {
		_, _, err := Convert(strings.Fields(tc.line), convert.Options{Read: files})
		if err == nil || err.Error() != tc.want {
			t.Errorf("%q: %v, want %s", tc.line, err, tc.want)
		}
	}
}

// docs/convert.md has every flag.
func TestDocs(t *testing.T) {
	docs, err := os.ReadFile("../../../docs/convert.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(docs), "\n## h2load\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, f := range known {
		long, short := f.Long != "" && strings.Contains(section, "`--"+f.Long+"`"), f.Short != 0 && strings.Contains(section, "`-"+string(f.Short)+"`")
		if !found || !long && !short {
			t.Errorf("--%s, -%c is not in docs/convert.md", f.Long, f.Short)
		}
	}
}

func FuzzConvert(f *testing.F) {
	f.Add("-n 1 -c 1 -H a:b --rps 0.3 -D 1 http://a/b?c=${d}")
	f.Add("-B unix:/x --h1 -m9 -d body.bin -i uris.txt https://[::1]:1/")
	f.Add("--groups : --ciphers , --npn-list h2-14 -w31 https://a")
	f.Fuzz(func(t *testing.T, line string) {
		out, _, err := Convert(strings.Split(line, " "), convert.Options{Read: files})
		if (err == nil) == (out == nil) {
			t.Errorf("%v, and %d bytes", err, len(out))
		}
		if err != nil && strings.Contains(err.Error(), "fault of the conversion") {
			t.Error(err)
		}
	})
}
