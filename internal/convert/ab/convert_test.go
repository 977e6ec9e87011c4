package ab

import (
	"testing"

	"github.com/h2surge/h2surge/internal/convert/converttest"
)

var commandLine = converttest.CommandLine{
	Tool: "ab", Known: known, Convert: Convert,
	Files: map[string]string{
		"body.json": `{"price":"5$"}` + "\n",
		"body.bin":  "\xff\x00\xfe",
	},
}

func TestConvert(t *testing.T) {
	commandLine.Goldens(t, map[string]string{
		"plain": "-n 100000 -c 100 http://192.0.2.95/test.html",
		"post":  "-kc 10 -n1000 -s 5 -p body.json -T application/json -H x-a:b$c -H host:other.example -C a=1 -C b=2 -l http://shop.example:8080/items",
		"https": "-t 10 -c 4 -i -f TLS1.2 -E me.pem -A user:pass -B 127.0.0.1 -X proxy:3128 -Z AES -e out.csv -r -q https://shop.example/",
		"put":   "-n 5 -u body.bin -m PATCH shop.example/items/1",
	})
}

func TestMistakes(t *testing.T) {
	commandLine.Mistakes(t, []converttest.Mistake{
		{"", "URL: exactly one is needed, not 0"},
		{"http://a/ http://b/", "URL: exactly one is needed, not 2"},
		{"-n 0 http://a/", "-n: must be a whole number, at least 1 and below 2^31"},
		{"-p none http://a/", "-p: open none: no such file"},
		{"-p body.json -u body.json http://a/", "-u: excludes -p"},
		{"-H nothing http://a/", "-H: must be of the form 'name: value'"},
		{"-B here http://a/", "-B: cannot be converted: spec.targets[0].connecting.localAddresses[0]: must be IP addresses, without a zone"},
		{"-s 9999 http://a/", "-s: cannot be converted: spec.chains[0].steps[0].request.timeout: must be greater than 0 and at most 1h"},
		{"http://", "URL: has no host, or one that cannot be"},
	})
}

func TestDocs(t *testing.T) { commandLine.Documented(t) }

func FuzzConvert(f *testing.F) {
	commandLine.Fuzz(f,
		"-n 1 -kc1 -H a:b -t 1 http://a/b?c=${d}",
		"-p body.bin -T x -C a -A u https://[::1]:1/",
	)
}
