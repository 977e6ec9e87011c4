package ab

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
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("no such file")}
}

// Convert compiles what it makes, so a golden file is a manifest that runs.
func TestConvert(t *testing.T) {
	for name, line := range map[string]string{
		"plain": "-n 100000 -c 100 http://192.0.2.95/test.html",
		"post":  "-kc 10 -n1000 -s 5 -p body.json -T application/json -H x-a:b$c -H host:other.example -C a=1 -C b=2 -l http://shop.example:8080/items",
		"https": "-t 10 -c 4 -i -f TLS1.2 -E me.pem -A user:pass -B 127.0.0.1 -X proxy:3128 -Z AES -e out.csv -r -q https://shop.example/",
		"put":   "-n 5 -u body.bin -m PATCH shop.example/items/1",
	} {
		t.Run(name, func(t *testing.T) {
			args := strings.Fields(line)
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
		{"", "URL: exactly one is needed, not 0"},
		{"http://a/ http://b/", "URL: exactly one is needed, not 2"},
		{"-n 0 http://a/", "-n: must be a whole number, at least 1 and below 2^31"},
		{"-p none http://a/", "-p: open none: no such file"},
		{"-p body.json -u body.json http://a/", "-u: excludes -p"},
		{"-H nothing http://a/", "-H: must be of the form 'name: value'"},
		{"-B here http://a/", "-B: cannot be converted: spec.targets[0].connecting.localAddresses[0]: must be IP addresses, without a zone"},
		{"-s 9999 http://a/", "-s: cannot be converted: spec.templates[0].timeout: must be greater than 0 and at most 1h"},
		{"http://", "URL: has no host, or one that cannot be"},
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
	_, section, found := strings.Cut(string(docs), "\n## ab\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, f := range known {
		long, short := f.Long != "" && strings.Contains(section, "`--"+f.Long+"`"), f.Short != 0 && strings.Contains(section, "`-"+string(f.Short)+"`")
		if !found || !long && !short {
			t.Errorf("--%s, -%c is not in docs/convert.md", f.Long, f.Short)
		}
	}
}

func FuzzConvert(f *testing.F) {
	f.Add("-n 1 -kc1 -H a:b -t 1 http://a/b?c=${d}")
	f.Add("-p body.bin -T x -C a -A u https://[::1]:1/")
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
