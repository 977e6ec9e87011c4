package curl

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/h2surge/h2surge/internal/convert"
)

// flag is one that a tool has.
type flag struct {
	long  string // after --
	short byte   // after -; 0: it has none
	value bool   // one follows
}

// name is how messages have it.
func (f *flag) name() string { return "--" + f.long }

// Flag is one that was given.
type Flag struct {
	Name  string // the long one, with its dashes
	Value string
}

// parseFlags parses arguments as curl does: letters can be combined, a value can follow directly, after = or as the
// next argument, and operands can be anywhere. It ignores an unknown flag and its probable
// value, with a warning.
func parseFlags(d *convert.Draft, args []string) (given []Flag, operands []string) {
	for i, arg := range args {
		if !utf8.ValidString(arg) {
			d.Fail(fmt.Sprintf("argument %d", i+1), "is not UTF-8 text, so a manifest cannot contain it")
			return nil, nil
		}
	}
	p := flagParser{draft: d, rest: args}
	for len(p.rest) > 0 {
		arg := p.rest[0]
		p.rest = p.rest[1:]
		switch {
		case arg == "--":
			return p.given, append(p.operands, p.rest...)
		case strings.HasPrefix(arg, "--"):
			p.long(arg)
		case len(arg) > 1 && arg[0] == '-':
			p.short(arg[1:])
		default:
			p.operands = append(p.operands, arg)
		}
	}
	return p.given, p.operands
}

type flagParser struct {
	draft    *convert.Draft
	rest     []string
	given    []Flag
	operands []string
}

func (p *flagParser) long(arg string) {
	name, value, hasValue := strings.Cut(arg[2:], "=")
	f := p.find(func(f *flag) bool { return f.long == name })
	switch {
	case f == nil:
		p.unknown("--"+name, hasValue)
	case f.value && !hasValue:
		p.take(f)
	case !f.value && hasValue:
		p.draft.Fail(f.name(), "has no value")
	default:
		p.given = append(p.given, Flag{f.name(), value})
	}
}

func (p *flagParser) short(letters string) {
	for i := range len(letters) {
		f := p.find(func(f *flag) bool { return f.short == letters[i] })
		switch {
		case f == nil:
			p.unknown("-"+string(rune(letters[i])), i+1 < len(letters))
			return // what follows may be its value
		case f.value && i+1 < len(letters):
			p.given = append(p.given, Flag{f.name(), letters[i+1:]})
			return
		case f.value:
			p.take(f)
			return
		}
		p.given = append(p.given, Flag{f.name(), ""})
	}
}

func (p *flagParser) find(is func(*flag) bool) *flag {
	for i := range known {
		if is(&known[i]) {
			return &known[i]
		}
	}
	return nil
}

// take takes the next argument for a value.
func (p *flagParser) take(f *flag) {
	if len(p.rest) == 0 {
		p.draft.Fail(f.name(), "needs a value")
		return
	}
	p.given = append(p.given, Flag{f.name(), p.rest[0]})
	p.rest = p.rest[1:]
}

func (p *flagParser) unknown(name string, hasValue bool) {
	p.draft.Warn(name, "is not known and left out")
	if hasValue || len(p.rest) == 0 || strings.HasPrefix(p.rest[0], "-") || strings.Contains(p.rest[0], "://") {
		return
	}
	p.draft.Warn(name, "%q is taken for its value", p.rest[0])
	p.rest = p.rest[1:]
}

// flagValues has the flags that the user set, with their values. The keys are the names in Flag.
type flagValues struct {
	last map[string]string   // the last value of each
	all  map[string][]string // in order
}

// values collects flags. It omits those without a counterpart, with a warning.
func values(d *convert.Draft, given []Flag) flagValues {
	v := flagValues{last: map[string]string{}, all: map[string][]string{}}
	for _, g := range given {
		if why := without[g.Name]; why != "" {
			d.Warn(g.Name, "has no counterpart and is left out: %s", why)
			continue
		}
		v.last[g.Name] = g.Value
		v.all[g.Name] = append(v.all[g.Name], g.Value)
	}
	return v
}

// has returns whether the user set the flag, even to an empty value.
func (v flagValues) has(name string) bool { _, has := v.last[name]; return has }
