package maock

import (
	"bytes"
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/h2surge/h2surge/internal/convert"
	"github.com/h2surge/h2surge/internal/mock/rules"
)

// header stands above what is converted.
const header = "# Converted from a configuration of maock. Rules are in the order in which maock tries them.\n"

var format = &convert.Format{Unknown: "is not a field of maock; left out", Negative: true}

// converter collects what is wrong with a configuration and what is lost.
type converter struct {
	*convert.Draft
	dir string
}

// Convert turns a configuration (JSON) into a file of rules. Files that it names, of payloads and
// scripts, are relative to dir and become part of the result. The warnings name what has no
// counterpart, each with its path. The error has everything that is wrong with the configuration,
// a line each.
func Convert(config []byte, dir string) (yaml []byte, warnings []string, err error) {
	c := &converter{Draft: convert.New("", convert.Options{}), dir: dir}
	top, err := format.Parse(c.Draft, config)
	if err != nil {
		return nil, nil, fmt.Errorf("maock: %w", err)
	}
	file := c.file(top)
	if err := c.Err(); err != nil {
		return nil, c.Warnings(), fmt.Errorf("maock: %w", err)
	}
	text, err := encode(file)
	if err != nil {
		return nil, c.Warnings(), fmt.Errorf("maock: %w", err)
	}
	if _, err := rules.Load(text, dir); err != nil {
		return nil, c.Warnings(), fmt.Errorf("maock: what it says cannot be a file of rules: %w", err)
	}
	return text, c.Warnings(), nil
}

func encode(file *rules.File) ([]byte, error) {
	out := bytes.NewBufferString(header)
	enc := yaml.NewEncoder(out)
	enc.SetIndent(2)
	if err := enc.Encode(file); err != nil {
		return nil, err
	}
	if err := enc.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func (c *converter) file(top *convert.Object) *rules.File {
	file := &rules.File{APIVersion: rules.APIVersion, Kind: rules.Kind, Listen: c.listen(top)}
	c.withoutCounterpart(top)
	var services []*service
	for _, s := range top.List("Service") {
		if one := c.service(s); one != nil {
			services = append(services, one)
		}
	}
	top.End()
	if len(services) == 0 {
		c.Fail("Service", "at least one entry that can be converted is required")
	}
	rank(services)
	c.uniqueNames(services)
	plain := everyMethodOnce(services)
	for _, s := range services {
		file.Rules = append(file.Rules, s.rule(plain))
	}
	file.Rules = append(file.Rules, unmatched())
	return file
}

// unmatched is maock's answer to what is for no service.
func unmatched() rules.Rule {
	status := 404
	return rules.Rule{Name: "UNMATCHED", Responses: []rules.Response{{
		Status: &status, Headers: []rules.Header{{Name: "reason", Value: "no match found"}},
	}}}
}

// The defaults of maock's listener.
const (
	defaultAddress = "0.0.0.0"
	defaultPort    = 80
)

func (c *converter) listen(top *convert.Object) *rules.Listen {
	address := cmp.Or(top.Text("address"), defaultAddress)
	l := &rules.Listen{Address: net.JoinHostPort(address, strconv.Itoa(int(top.Whole("port", defaultPort))))}
	if n := int(top.Whole("max-concurrent-streams", 0)); n > 0 {
		l.MaxConcurrentStreams = &n
	}
	return l
}

// withoutCounterpart names what the target has no like of.
func (c *converter) withoutCounterpart(top *convert.Object) {
	if n := top.Whole("threads", 1); n != 1 {
		c.Warn("threads", "the target has one serving thread")
	}
	for _, name := range []string{"private-key-file", "cert-file", "caCert-file", "ciphers"} {
		if top.Text(name) != "" {
			c.Warn(name, "the target has no TLS; left out")
		}
	}
	if top.Flag("mTLS") {
		c.Warn("mTLS", "the target has no TLS; left out")
	}
	if p := top.Text("no-tls-proto"); p != "" && p != "h2c" {
		c.Warn("no-tls-proto", "the target speaks HTTP/2 with prior knowledge (h2c) only")
	}
	for _, name := range []string{
		"header-table-size", "encoder-header-table-size", "window-bits", "connection-window-bits",
		"socket-receive-buffer-size", "socket-send-buffer-size",
	} {
		if top.Has(name) {
			top.Whole(name, 0)
			c.Warn(name, "has no counterpart; left out")
		}
	}
	if top.Flag("verbose") {
		c.Warn("verbose", "has no counterpart; h2surge target --record shows requests")
	}
	if top.Has("statistics-file") || top.Has("statistics-interval") {
		top.Text("statistics-file")
		top.Number("statistics-interval", 0)
		c.Warn("statistics-file, statistics-interval",
			"have no counterpart; h2surge target --stats-listen shows counts of each rule")
	}
}

// fileOr returns the content of the file that text names, and text itself when it names none: maock
// takes both in one field.
func (c *converter) fileOr(text string) string {
	const longestName = 4096
	if text == "" || len(text) > longestName || bytes.IndexByte([]byte(text), 0) >= 0 {
		return text
	}
	name := text
	if !filepath.IsAbs(name) {
		name = filepath.Join(c.dir, name)
	}
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > rules.MaxFile {
		return text
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return text
	}
	return string(content)
}
