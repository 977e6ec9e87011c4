package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
)

// standIns replace unknown and secret values while requests are rendered. A stand-in is a number, because the
// functions that rewrite characters (upper, urlEncode, jsonEscape, the escaping of paths and header fields) do
// not change digits. In the output, show replaces each stand-in by its description.
type standIns struct {
	numbers  map[string]string // by description
	pairs    []string          // for the replacer
	replacer *strings.Replacer
}

// of returns the stand-in with this description, and makes it at its first use.
func (s *standIns) of(description string) string {
	if n, ok := s.numbers[description]; ok {
		return n
	}
	if s.numbers == nil {
		s.numbers = map[string]string{}
	}
	n := fmt.Sprintf("860281574129%08d", len(s.numbers))
	s.numbers[description] = n
	sum := sha256.Sum256([]byte(n))
	for _, made := range [][2]string{
		{n, ""},
		{base64.StdEncoding.EncodeToString([]byte(n)), "base64 of "}, // before base64url, which is a prefix of it
		{base64.RawURLEncoding.EncodeToString([]byte(n)), "base64url of "},
		{hex.EncodeToString(sum[:]), "sha256 of "},
	} {
		s.pairs = append(s.pairs, made[0], "<"+made[1]+description+">")
	}
	s.replacer = nil
	return n
}

// keyOf returns a stand-in that is a key: 32 hexadecimal digits. See of.
func (s *standIns) keyOf(description string) string {
	key := "000000000000" + s.of(description)
	s.pairs, s.replacer = append(s.pairs, key, "<"+description+">"), nil
	return key
}

// show replaces each stand-in in a text by its description.
func (s *standIns) show(text string) string {
	if s.replacer == nil {
		s.replacer = strings.NewReplacer(s.pairs...)
	}
	return s.replacer.Replace(text)
}

// masks replaces the content of Secrets in a plan by stand-ins.
type masks struct {
	*standIns
	files map[string][]byte // by path in the plan
}

// secretName returns "name/key" if the file holds a key of a Secret.
func secretName(file string) (name string, ok bool) {
	return strings.CutPrefix(file, path.Join(compile.FilesDir, "secrets")+"/")
}

func (m *masks) plan(p *rv.Plan) error {
	for i := range p.Variables {
		v := &p.Variables[i]
		m.content(v.Constant)
		if v.Subscribers != nil && v.Subscribers.AKA != nil {
			m.keys(v.Subscribers.AKA)
		}
		if v.CSV == nil {
			continue
		}
		if name, ok := secretName(v.CSV.Content.File); ok {
			if err := m.table(v.CSV, name); err != nil {
				return fmt.Errorf("spec.variables[%d].csv: %w", i, err)
			}
		}
	}
	for i := range p.Chains {
		for j := range p.Chains[i].Steps {
			s := &p.Chains[i].Steps[j]
			if s.BodyFrom != nil {
				m.content(&s.BodyFrom.Content)
			}
			for k := range s.Parts {
				if from := s.Parts[k].BodyFrom; from != nil {
					m.content(&from.Content)
				}
			}
			for k := range s.Headers {
				for l := range s.Headers[k].Value {
					m.content(s.Headers[k].Value[l].Content)
				}
			}
		}
	}
	return nil
}

func (m *masks) content(c *rv.Content) {
	if c == nil {
		return
	}
	if name, ok := secretName(c.File); ok {
		*c = rv.Content{Text: m.of("secret " + name)}
	}
}

// keys replaces keys that are secret, or that the runner computes from a secret.
func (m *masks) keys(a *rv.AKA) {
	secretK, isSecretK := secretName(a.K.File)
	if isSecretK {
		a.K, a.Derived = rv.Content{Text: m.keyOf("secret " + secretK)}, false
	}
	for _, own := range []*rv.Content{a.OP, a.OPc} {
		if own == nil {
			continue
		}
		if name, ok := secretName(own.File); ok {
			a.OP, a.OPc = nil, &rv.Content{Text: m.keyOf("secret " + name)}
		}
	}
	if isSecretK && a.OP != nil {
		a.OP, a.OPc = nil, &rv.Content{Text: m.keyOf("OPc of secret " + secretK)}
	}
}

// table replaces each value of a Secret's table by a stand-in. Rows, columns and the header row stay.
func (m *masks) table(c *rv.CSV, name string) error {
	content, ok := m.files[c.Content.File]
	if !ok {
		return fmt.Errorf("the Secret %s is not in the manifest", path.Dir(name))
	}
	t, err := parseTable(c, content)
	if err != nil {
		return fmt.Errorf("the Secret's %s is not a table", path.Base(name)) // err could quote the Secret
	}
	for _, row := range t.rows {
		for j := range row[:min(len(row), len(t.columns))] {
			row[j] = m.of("secret " + name + " column " + t.columns[j])
		}
	}
	var out strings.Builder
	w := csv.NewWriter(&out)
	w.Comma = t.delimiter
	if err := w.WriteAll(slices.Concat(t.names, t.rows)); err != nil {
		return err
	}
	c.Content = rv.Content{Text: out.String()}
	return nil
}

// csvTable is a parsed table of a CSV variable.
type csvTable struct {
	delimiter rune
	columns   []string
	// names is the row of names, if the content has one.
	names [][]string
	rows  [][]string
}

// parseTable parses the content of a CSV variable as runners do.
func parseTable(c *rv.CSV, content []byte) (t csvTable, err error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(content, []byte("\uFEFF"))))
	if c.Delimiter != "" {
		r.Comma, _ = utf8.DecodeRuneInString(c.Delimiter)
	}
	rows, err := r.ReadAll()
	switch {
	case err != nil:
		return t, err
	case len(rows) == 0:
		return t, errors.New("the table has no rows")
	case len(c.Columns) > 0:
		return csvTable{delimiter: r.Comma, columns: c.Columns, rows: rows}, nil
	}
	return csvTable{delimiter: r.Comma, columns: rows[0], names: rows[:1], rows: rows[1:]}, nil
}
