package rules

import (
	"fmt"
	"strings"
	"time"

	"github.com/h2surge/h2surge/runner/h2/hpack"
	"github.com/h2surge/h2surge/runner/script"
)

// What a script may use. A call holds up all connections of the target, so it is short.
const (
	scriptInstructions = 1_000_000
	scriptTime         = time.Second
)

// compileScript returns the script's number in source.scripts.
func (s *source) compileScript(path string, spec *Script, dir string) (number int, ok bool) {
	text := spec.Lua
	switch {
	case (spec.Lua == "") == (spec.LuaFile == ""):
		s.add(path, "must have one of lua and luaFile")
		return 0, false
	case spec.Lua != "":
		path += ".lua"
	default:
		path += ".luaFile"
		if text, ok = s.readText(path, spec.LuaFile, dir); !ok {
			return 0, false
		}
	}
	compiled, err := script.CompileCustomizer(path, text)
	if err != nil {
		s.add(path, "%s", strings.TrimPrefix(err.Error(), path+":"))
		return 0, false
	}
	s.scripts = append(s.scripts, compiled)
	return len(s.scripts) - 1, true
}

func newHost(scripts []*script.Script, seed uint64) (*script.Host, error) {
	if len(scripts) == 0 {
		return nil, nil
	}
	host, err := script.NewHost(scripts, script.Limits{
		Instructions: scriptInstructions, Time: scriptTime, Body: maxScriptBody, Seed: seed,
	})
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	return host, nil
}

// maxScriptBody is the longest body that a script makes.
const maxScriptBody = 1 << 20

// runScript makes the answer of a response that has a script. What the script may not do, or does
// wrong, makes it fail.
func (e *Engine) runScript(c *Call, r *rule, resp *response, status int) {
	req, res := c.message(), script.Message{Status: status}
	if why := e.scriptFields(c, r, resp, &res); why != "" {
		e.fail(c, why)
		return
	}
	if res.Body = e.renderBody(c, resp, status); tooLong(resp, res.Body) {
		e.fail(c, errTooLong)
		return
	}
	if err := e.host.Customize(resp.script, &req, &res); err != nil {
		e.fail(c, err.Error())
		return
	}
	if noContent(res.Status) {
		res.Body = nil
	}
	c.head(res.Status)
	for _, f := range res.Fields {
		if c.called && string(f.Name) == "content-type" {
			continue // that of documents
		}
		if why := responseFieldProblem(string(f.Name)); why != "" || !validValue(f.Value) {
			e.fail(c, fmt.Sprintf("customize_response: header %q: %s", f.Name, why))
			return
		}
		_, index := hpack.StaticIndex(string(f.Name), "")
		c.Block = hpack.AppendLiteralPrefix(c.Block, hpack.Without, index, string(f.Name))
		c.Block = hpack.AppendString(c.Block, f.Value)
	}
	c.content = append(c.content[:0], res.Body...) // the host's memory is used again
	c.finish(res.Status, c.content)
}

// message is the request as a script sees it.
func (c *Call) message() script.Message {
	m := script.Message{Method: c.method, Path: c.target, Body: c.body}
	c.EachField(func(name, value []byte) {
		switch string(name) {
		case ":scheme":
			m.Scheme = value
		case ":authority":
			m.Authority = value
		default:
			m.Fields = append(m.Fields, script.Field{Name: name, Value: value})
		}
	})
	return m
}

// scriptFields adds the fields that the response has before its script runs. A result that is not
// empty says what is wrong with one.
func (e *Engine) scriptFields(c *Call, r *rule, resp *response, res *script.Message) (why string) {
	add := func(name string, value []byte) {
		res.Fields = append(res.Fields, script.Field{Name: []byte(name), Value: value})
	}
	for i := range resp.fields {
		f := &resp.fields[i]
		value := e.appendText(nil, &f.value, c)
		if !validValue(value) {
			return badValue(f.name)
		}
		add(f.name, value)
	}
	if needsLocation(c, r, resp, res.Status) {
		add("location", appendLocation(nil, c))
	}
	if resp.body == nil && len(c.document) > 0 && !noContent(res.Status) && !resp.hasType {
		add("content-type", []byte("application/json"))
	}
	return ""
}
