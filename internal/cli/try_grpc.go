package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/runner/grpc"
	"github.com/h2surge/h2surge/runner/trial"
)

// triedCall is the method of gRPC that a step calls.
type triedCall struct {
	service, method string
	timeout         time.Duration
	// protos are the files of the target.
	protos []string
	// called is the method, which decodes responses, and served the same as a server sees it, which decodes requests; nil:
	// the files have a mistake, which the engine reports.
	called, served *grpc.Method
}

// callsOf returns the methods that the steps of a plan call. Content of the manifest's ConfigMaps and Secrets is in
// files.
func callsOf(p *rv.Plan, files []compile.File) map[*rv.Step]*triedCall {
	out, schemas := map[*rv.Step]*triedCall{}, map[int]*grpc.Schema{}
	for i := range p.Chains {
		for j := range p.Chains[i].Steps {
			s := &p.Chains[i].Steps[j]
			if s.GRPC == nil {
				continue
			}
			if _, read := schemas[s.Target]; !read {
				schemas[s.Target] = schemaOf(&p.Targets[s.Target], files)
			}
			c := &triedCall{service: s.GRPC.Service, method: s.GRPC.Method, timeout: s.Timeout}
			for k := range p.Targets[s.Target].Protos {
				c.protos = append(c.protos, p.Targets[s.Target].Protos[k].File)
			}
			if schema := schemas[s.Target]; schema != nil {
				c.called, _ = schema.Method(c.service, c.method) // nil after an error
				c.served = schema.Served()["/"+c.service+"/"+c.method]
			}
			out[s] = c
		}
	}
	return out
}

// schemaOf returns the schema of the proto files of a target. It is nil if they have a mistake.
func schemaOf(t *rv.Target, files []compile.File) *grpc.Schema {
	content := map[string][]byte{}
	for _, f := range files {
		content[path.Join(compile.FilesDir, f.Path)] = f.Content
	}
	var protos []grpc.File
	for i := range t.Protos {
		name := t.Protos[i].File
		text, ok := content[name]
		if !ok {
			text, _ = os.ReadFile(name) // the engine reports a file that it cannot read
		}
		protos = append(protos, grpc.File{Name: name, Content: text})
	}
	schema, err := grpc.NewSchema(protos)
	if err != nil {
		return nil
	}
	return schema
}

// request returns the messages of a request in JSON, one in a line. ok is false if the body is not such messages.
func (c *triedCall) request(m *triedMessage, body []byte) (text string, ok bool) {
	if c == nil {
		return "", false
	}
	return messagesOf(c.served, m, body)
}

// response is request for a response. The runner has decoded the body if the call succeeded.
func (c *triedCall) response(m *triedMessage, body []byte) (text string, ok bool) {
	if text, ok = lines(body); ok || c == nil {
		return text, ok
	}
	return messagesOf(c.called, m, body)
}

// messagesOf returns the messages of a body that a method decodes.
func messagesOf(method *grpc.Method, m *triedMessage, body []byte) (text string, ok bool) {
	if method == nil || len(body) == 0 {
		return "", false
	}
	r := grpc.Response{Body: body, Most: maxMessages}
	for _, f := range m.Fields {
		if f.Name == "grpc-encoding" {
			r.Encoding = []byte(f.Value)
		}
	}
	messages, err := method.AppendJSON(nil, r, new(grpc.Gzip))
	if err != nil {
		return "", false
	}
	return lines(messages)
}

// maxMessages bounds what is shown of the messages of a request, in bytes.
const maxMessages = 16 << 20

// lines returns a JSON value without white space, or each element of a list in a line. ok is false if the text is not
// JSON.
func lines(text []byte) (out string, ok bool) {
	var list []json.RawMessage
	if len(text) == 0 || text[0] != '[' {
		list = []json.RawMessage{text}
	} else if err := json.Unmarshal(text, &list); err != nil {
		return "", false
	}
	var b bytes.Buffer
	for _, element := range list {
		if err := json.Compact(&b, element); err != nil {
			return "", false
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n"), true
}

// showCall replaces what is shown of the bodies of a call by their messages. The runner has decoded those of the
// response.
func (t *tried) showCall(c *triedCall, out *triedExchange, e *trial.Exchange) {
	if out.call = c; out.Request != nil {
		if text, ok := c.request(out.Request, e.Request.Body); ok {
			out.isCall, out.unknown = true, strings.Contains(text, standInPrefix)
			t.body(out.Request, []byte(text))
		}
	}
	if out.Response != nil {
		if text, ok := c.response(out.Response, e.Response.Body); ok {
			t.body(out.Response, []byte(text))
		}
	}
}

// grpcurl is a command line that sends the call of the exchange.
func (e *triedExchange) grpcurl() string {
	c, r := e.call, e.Request
	words := []string{"grpcurl", fmt.Sprintf("-max-time %g", c.timeout.Seconds())}
	if e.tls == nil {
		words[0] += " -plaintext"
	} else if e.tls.InsecureSkipVerify {
		words[0] += " -insecure"
	}
	if e.tls != nil {
		for _, f := range [][2]string{{"-cacert ", e.tls.CAFile}, {"-cert ", e.tls.CertFile}, {"-key ", e.tls.KeyFile},
			{"-servername ", e.tls.ServerName}} {
			if f[1] != "" {
				words = append(words, f[0]+quoted(f[1]))
			}
		}
	}
	for _, file := range c.protos {
		if path.Base(path.Dir(file)) == reflected { // grpcurl asks the server, too
			continue
		} else if path.Ext(file) == ".proto" {
			words = append(words, "-import-path "+quoted(path.Dir(file))+" -proto "+quoted(path.Base(file)))
		} else {
			words = append(words, "-protoset "+quoted(file))
		}
	}
	for _, f := range r.Fields {
		if !strings.HasPrefix(f.Name, ":") && !setByGRPCurl[f.Name] {
			words = append(words, "-H "+quoted(f.Name+": "+f.Value))
		}
	}
	address := e.Address
	if socket, is := strings.CutPrefix(address, "unix:"); is {
		words, address = append(words, "-unix"), socket
	}
	if u, err := url.Parse(r.URL); err == nil && u.Host != address {
		words = append(words, "-authority "+quoted(u.Host))
	}
	words = append(words, "-d "+quoted(r.Body), quoted(address), quoted(c.service+"/"+c.method))
	return strings.Join(words, " \\\n  ") + "\n"
}

// setByGRPCurl are the header fields that grpcurl sets.
var setByGRPCurl = map[string]bool{"te": true, "content-type": true, "content-length": true, "user-agent": true,
	"grpc-timeout": true, "grpc-encoding": true, "grpc-accept-encoding": true}
