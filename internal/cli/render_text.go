package cli

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
)

// title says which request it is.
func (r *rendered) title() string {
	phase := ""
	if r.Phase != "" {
		phase = string(r.Phase) + " "
	}
	s := fmt.Sprintf("# %d. %schain %s, step %s", r.Instance, phase, r.Chain, r.Step)
	if r.Skipped {
		return s + ": skipped, its conditions do not hold\n"
	}
	s += fmt.Sprintf(", to %s on connection %d\n", r.Target, r.Connection)
	for _, note := range r.Notes {
		s += "# " + note + "\n"
	}
	if r.Error != "" {
		s += "# cannot be made: " + r.Error + "\n"
	}
	return s
}

func (r *rendered) nothing() bool { return r.Skipped || r.Error != "" }

// text is for reading.
func (r *rendered) text() string {
	var b strings.Builder
	b.WriteString(r.title())
	if r.nothing() {
		return b.String()
	}
	fmt.Fprintf(&b, "%s %s %s\n", r.Method, r.URL, r.HTTP)
	for _, f := range r.Fields {
		fmt.Fprintf(&b, "%s: %s\n", f.Name, f.Value)
	}
	switch {
	case r.Body != "":
		b.WriteString("\n" + strings.TrimSuffix(r.Body, "\n") + "\n")
	case r.BodyBase64 != "":
		b.WriteString("\n" + r.binary())
	}
	return b.String()
}

// binary returns a body that is not text, in lines.
func (r *rendered) binary() string {
	body, err := base64.StdEncoding.DecodeString(r.BodyBase64)
	if err == nil {
		if parts, ok := partsText(contentType(r.Fields), body, func(s string) string { return s }); ok {
			return parts
		}
	}
	return "base64: " + r.BodyBase64 + "\n"
}

// curl is a command line that sends the request.
func (r *rendered) curl() string {
	if r.nothing() {
		return r.title()
	}
	words := append([]string{"curl -sS -D -"}, r.curlConnection()...)
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
	words = append(words, "--path-as-is", quoted(r.URL))
	return r.title() + before + strings.Join(words, " \\\n  ") + "\n"
}

// curlConnection says how to connect. Files that come from ConfigMaps and Secrets are where the kubelet
// puts them, which is not here.
func (r *rendered) curlConnection() []string {
	words := []string{"--http2-prior-knowledge"}
	switch {
	case r.HTTP == "HTTP/1.1":
		words[0] = "--http1.1"
	case r.tls != nil:
		words[0] = "--http2"
	}
	if socket, is := strings.CutPrefix(r.endpoint.Address, "unix:"); is {
		words = append(words, "--unix-socket "+quoted(socket))
	} else if !strings.Contains(r.URL, "://"+r.endpoint.Address) && r.endpoint.Address != withPort(r.endpoint.Scheme, r.endpoint.Authority) {
		words = append(words, "--connect-to "+quoted("::"+r.endpoint.Address))
	}
	if r.tls == nil {
		return words
	}
	if r.tls.InsecureSkipVerify {
		words = append(words, "--insecure")
	}
	for _, f := range [][2]string{{"--cacert ", r.tls.CAFile}, {"--cert ", r.tls.CertFile}, {"--key ", r.tls.KeyFile}} {
		if f[1] != "" {
			words = append(words, f[0]+quoted(f[1]))
		}
	}
	return words
}

func withPort(scheme, authority string) string {
	if i := strings.LastIndexByte(authority, ':'); i > strings.LastIndexByte(authority, ']') {
		return authority
	}
	return authority + map[string]string{"http": ":80", "https": ":443"}[scheme]
}

// curlFields are the fields that curl must be given: those that curl does not add.
func (r *rendered) curlFields() (words []string) {
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

func (r *rendered) has(name string) bool {
	return slices.ContainsFunc(r.Fields, func(f renderedField) bool { return f.Name == name })
}

// quoted is a word of a shell.
func quoted(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
