package cli

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"path"
	"slices"
	"sort"
	"strings"
	"unicode"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/mask"
)

// tryMask hides secrets in what is printed. It knows the contents of the manifest's Secrets and the captured values
// that come from fields with secret names, and finds them wherever they occur; and it masks fields, parameters and
// JSON members with secret names, as the report's samples do.
type tryMask struct {
	off      bool
	secrets  map[string]string // descriptions by value
	standIns int
	replacer *strings.Replacer
}

// shortestSecret is the length from which a value is looked for in texts. A shorter one occurs by chance.
const shortestSecret = 4

func newTryMask(j *job, off bool) *tryMask {
	m := &tryMask{off: off, secrets: map[string]string{}}
	if off {
		return m
	}
	tables := map[string]*rv.CSV{}
	for i := range j.plan.Variables {
		if c := j.plan.Variables[i].CSV; c != nil {
			tables[c.Content.File] = c
		}
	}
	for _, f := range j.files {
		file := path.Join(compile.FilesDir, f.Path)
		name, ok := secretName(file)
		switch table := tables[file]; {
		case !ok:
		case table != nil:
			m.addTable(table, f.Content, name)
		default:
			content := strings.TrimRight(string(f.Content), "\r\n")
			m.add(content, "secret "+name)
			if key, err := rv.Key([]byte(content)); err == nil { // texts have lower-case digits
				m.add(hex.EncodeToString(key[:]), "secret "+name)
			}
		}
	}
	return m
}

// addTable adds the cells of a table without its row of names. If the content is not a table, the plan cannot be
// loaded and nothing is printed.
func (m *tryMask) addTable(c *rv.CSV, content []byte, name string) {
	columns, rows, err := parseTable(c, content)
	if err != nil {
		return
	}
	for _, row := range rows {
		for i, cell := range row[:min(len(row), len(columns))] {
			m.add(cell, "secret "+name+" column "+columns[i])
		}
	}
}

func (m *tryMask) add(value, description string) {
	if len(value) < shortestSecret {
		return
	}
	for _, v := range []string{
		value, url.QueryEscape(value), url.PathEscape(value),
		base64.StdEncoding.EncodeToString([]byte(value)), base64.RawURLEncoding.EncodeToString([]byte(value)),
	} {
		if _, ok := m.secrets[v]; !ok {
			m.secrets[v] = "<" + description + ">"
			m.replacer = nil
		}
	}
}

// standInPrefix begins each stand-in.
const standInPrefix = "860281574129"

// standIn returns a number that takes the place of a value that is not known. The functions that rewrite characters
// (upper, urlEncode, jsonEscape, the escaping of paths and header fields) do not change digits, so that text finds it,
// and what base64 and sha256 make of it.
func (m *tryMask) standIn(description string) string {
	n := fmt.Sprintf("%s%08d", standInPrefix, m.standIns)
	m.standIns++
	sum := sha256.Sum256([]byte(n))
	for value, of := range map[string]string{
		n: "", base64.StdEncoding.EncodeToString([]byte(n)): "base64 of ",
		base64.RawURLEncoding.EncodeToString([]byte(n)): "base64url of ",
		hex.EncodeToString(sum[:]):                      "sha256 of ",
	} {
		m.secrets[value] = "<" + of + description + ">"
	}
	m.replacer = nil
	return n
}

// text hides the secrets in a text.
func (m *tryMask) text(s string) string {
	if m.replacer == nil {
		values := make([]string, 0, len(m.secrets))
		for v := range m.secrets {
			values = append(values, v)
		}
		sort.Slice(values, func(i, k int) bool { // a longer one may begin with a shorter one
			if len(values[i]) != len(values[k]) {
				return len(values[i]) > len(values[k])
			}
			return values[i] < values[k]
		})
		var pairs []string
		for _, v := range values {
			pairs = append(pairs, v, m.secrets[v])
		}
		m.replacer = strings.NewReplacer(pairs...)
	}
	s = m.replacer.Replace(s)
	if m.off {
		return s
	}
	return mask.Text(s)
}

// field hides the value of a header field with a secret name.
func (m *tryMask) field(name, value string) string {
	if !m.off && mask.IsSecret(name) {
		return mask.Hidden
	}
	return m.text(value)
}

// captured hides a value that was captured from a secret source, here and in all later requests.
func (m *tryMask) captured(name, value string, from *rv.Source) string {
	if m.hides(from) {
		m.add(value, "capture "+name)
	}
	return m.found(value, from)
}

// found hides a value from a secret source.
func (m *tryMask) found(value string, from *rv.Source) string {
	if m.hides(from) {
		return mask.Hidden
	}
	return m.text(value)
}

// hides reports whether the values of a source are secret: whether a header field, member or element that it names may
// be. Members of a secret member are secret, too, as in the body that is shown.
func (m *tryMask) hides(from *rv.Source) bool {
	names := strings.FieldsFunc(from.Name+" "+from.Pointer+" "+from.JSONPath+" "+from.XPath, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-'
	})
	return !m.off && slices.ContainsFunc(names, mask.IsSecret)
}
