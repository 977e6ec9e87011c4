package cli

import (
	"slices"
	"strings"

	"github.com/h2surge/h2surge/internal/mask"
)

// curl is a command line that sends the request of the exchange. Its first lines are a comment, in which the title may
// quote the peer.
func (e *triedExchange) curl() string {
	out := "# " + strings.Join(append([]string{mask.Line(e.title())}, e.Notes...), "\n# ") + "\n"
	r := e.Request
	switch {
	case r == nil:
		return out
	case e.isCall:
		return out + e.grpcurl()
	case e.call != nil:
		return out + "# neither curl nor grpcurl can send it: its body is not messages of the method\n"
	}
	words := append([]string{"curl -sS -D -"}, e.curlConnection()...)
	if r.Method == "HEAD" { //nolint:usestdlibvars // net/http is not worth linking for a word
		words = append(words, "--head")
	} else {
		words = append(words, "-X "+quoted(r.Method))
	}
	words = append(words, r.curlFields()...)
	before := ""
	switch {
	case r.Body != "":
		words = append(words, "--data-raw "+quoted(r.Body))
	case r.BodyBase64 != "":
		before = "echo " + r.BodyBase64 + " | base64 -d | "
		words = append(words, "--data-binary @-")
	case r.has("content-length"):
		words = append(words, "--data-raw ''")
	}
	words = append(words, "--path-as-is")
	if strings.ContainsAny(r.URL, "[]{}") { // of which curl would make several URLs
		words = append(words, "--globoff")
	}
	words = append(words, quoted(r.URL))
	return out + before + strings.Join(words, " \\\n  ") + "\n"
}

// curlConnection says how to connect. Files that come from ConfigMaps and Secrets are where the kubelet
// puts them, which is not here.
func (e *triedExchange) curlConnection() []string {
	words := []string{"--http2-prior-knowledge"}
	switch {
	case e.Request.HTTP == "HTTP/1.1":
		words[0] = "--http1.1"
	case e.Request.HTTP == "HTTP/3":
		words[0] = "--http3-only"
	case e.tls != nil:
		words[0] = "--http2"
	}
	if socket, is := strings.CutPrefix(e.Address, "unix:"); is {
		words = append(words, "--unix-socket "+quoted(socket))
	} else if e.Address != "" && e.Address != withPort(e.Request.URL) {
		words = append(words, "--connect-to "+quoted("::"+e.Address))
	}
	if e.tls == nil {
		return words
	}
	if e.tls.InsecureSkipVerify {
		words = append(words, "--insecure")
	}
	for _, f := range [][2]string{{"--cacert ", e.tls.CAFile}, {"--cert ", e.tls.CertFile}, {"--key ", e.tls.KeyFile}} {
		if f[1] != "" {
			words = append(words, f[0]+quoted(f[1]))
		}
	}
	return words
}

// withPort returns the host and the port of a URL, whose path may begin with the description of an unknown value.
func withPort(raw string) string {
	scheme, rest, _ := strings.Cut(raw, "://")
	authority := rest[:strings.IndexAny(rest+"/", "/<")]
	if strings.LastIndexByte(authority, ':') > strings.LastIndexByte(authority, ']') {
		return authority
	}
	return authority + map[string]string{"http": ":80", "https": ":443"}[scheme]
}

// curlFields are the fields that curl must be given: those that curl does not add.
func (r *triedMessage) curlFields() (words []string) {
	for _, f := range r.Fields {
		switch {
		case strings.HasPrefix(f.Name, ":"), f.Name == "host", f.Name == "content-length":
		case f.Value == "":
			words = append(words, "-H "+quoted(f.Name+";"))
		default:
			words = append(words, "-H "+quoted(f.Name+": "+f.Value))
		}
	}
	if !r.has("accept") {
		words = append(words, "-H 'accept:'")
	}
	if r.has("content-length") && !r.has("content-type") {
		words = append(words, "-H 'content-type:'")
	}
	return words
}

func (r *triedMessage) has(name string) bool {
	return slices.ContainsFunc(r.Fields, func(f triedField) bool { return f.Name == name })
}

// quoted is a word of a shell.
func quoted(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
