package h2load

import (
	"strings"
	"testing"

	"github.com/h2surge/h2surge/internal/convert/converttest"
)

var commandLine = converttest.CommandLine{
	Tool: "h2load", Known: known, Convert: Convert,
	Files: map[string]string{
		"body.json":  `{"price":"5$"}` + "\n",
		"body.bin":   "\xff\x00\xfe",
		"uris.txt":   "https://shop.example/a?x=1\n\n/b c\nhttps://shop.example/c#part\n",
		"timing.txt": "0.0\thttp://shop.example/a\n12.5\thttp://shop.example/b\n",
		"many.txt":   strings.Repeat("http://shop.example/a\nhttp://shop.example/b\n", 40),
	},
}

func TestConvert(t *testing.T) {
	commandLine.Goldens(t, map[string]string{
		"plain":     "-n 100000 -c 100 -m 10 -t 2 http://shop.example:8080/",
		"timed":     "-c100 -m 32 -D 10 --warm-up-time=5s --rps 2.5 -w 20 -W10 -f 32K --header-table 8k --encoder-header-table-size=0 -H content-type:application/json -H :method:PUT -d body.json http://shop.example/items?id=$1",
		"https":     "-r 10 --rate-period 500ms -c 20 -n 200 -T 1m -N 10 --alpn-list h2,http/1.1 --sni shop.test --groups X25519:P-256:ffdhe2048 --ciphers ECDHE-RSA-AES128-GCM-SHA256:TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 --connect-to 127.0.0.1 --histogram --output-file out.json --ktls -v -i uris.txt",
		"http1":     "--h1 -m 100 -n 10 -B unix:/tmp/shop.sock -H 'host: other.example' http://shop.example/ http://elsewhere.example/x",
		"binary":    "-n 1 -d body.bin -H authorization:secret -H connection:close -p http/1.1 http://shop.example/",
		"many":      "-i many.txt -D 1s",
		"timing":    "--timing-script-file timing.txt --nonsense 3 -D 1s",
		"authority": "-H :authority:other.example:81 -n 5 http://shop.example",
	})
}

func TestMistakes(t *testing.T) {
	commandLine.Mistakes(t, []converttest.Mistake{
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
	})
}

func TestDocs(t *testing.T) { commandLine.Documented(t) }

func FuzzConvert(f *testing.F) {
	commandLine.Fuzz(f,
		"-n 1 -c 1 -H a:b --rps 0.3 -D 1 http://a/b?c=${d}",
		"-B unix:/x --h1 -m9 -d body.bin -i uris.txt https://[::1]:1/",
		"--groups : --ciphers , --npn-list h2-14 -w31 https://a",
	)
}
