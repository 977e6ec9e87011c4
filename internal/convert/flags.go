package convert

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Flag is one that a tool has.
type Flag struct {
	// Long is its name after --, Short its letter after -; one may be empty.
	Long  string
	Short byte
	// Value: one follows.
	Value bool
}

// name is how messages have it.
func (f *Flag) name() string {
	if f.Long != "" {
		return "--" + f.Long
	}
	return "-" + string(f.Short)
}

// SetFlag is a flag that was given.
type SetFlag struct {
	// Name is the flag's with its dashes, the long one if it has both.
	Name  string
	Value string
}

// Flags parses arguments like getopt_long(3): letters can be combined, a value can follow directly, after = or as the
// next argument, long names can be abbreviated, and operands can be anywhere. It ignores an unknown flag and its probable
// value, with a warning.
func (d *Draft) Flags(args []string, known []Flag) (given []SetFlag, operands []string) {
	for i, arg := range args {
		if !utf8.ValidString(arg) {
			d.Fail(fmt.Sprintf("argument %d", i+1), "is not UTF-8 text, so a manifest cannot contain it")
			return nil, nil
		}
	}
	p := flagParser{draft: d, rest: args, known: known}
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
	draft    *Draft
	rest     []string
	known    []Flag
	given    []SetFlag
	operands []string
}

func (p *flagParser) long(arg string) {
	name, value, hasValue := strings.Cut(arg[2:], "=")
	f, problem := p.find(name)
	switch {
	case problem != "":
		p.draft.Fail("--"+name, "%s", problem)
	case f == nil:
		p.unknown("--"+name, hasValue)
	case f.Value && !hasValue:
		p.take(f)
	case !f.Value && hasValue:
		p.draft.Fail(f.name(), "has no value")
	default:
		p.given = append(p.given, SetFlag{f.name(), value})
	}
}

// find takes a whole name, or the beginning of one only.
func (p *flagParser) find(name string) (f *Flag, problem string) {
	var found []*Flag
	for i := range p.known {
		switch {
		case name == "" || p.known[i].Long == "":
		case p.known[i].Long == name:
			return &p.known[i], ""
		case strings.HasPrefix(p.known[i].Long, name):
			found = append(found, &p.known[i])
		}
	}
	switch len(found) {
	case 0:
		return nil, ""
	case 1:
		return found[0], ""
	}
	return nil, fmt.Sprintf("may be --%s or --%s", found[0].Long, found[1].Long)
}

func (p *flagParser) short(letters string) {
	for i := range len(letters) {
		f := p.letter(letters[i])
		switch {
		case f == nil:
			p.unknown("-"+string(rune(letters[i])), i+1 < len(letters))
			return // what follows may be its value
		case f.Value && i+1 < len(letters):
			p.given = append(p.given, SetFlag{f.name(), letters[i+1:]})
			return
		case f.Value:
			p.take(f)
			return
		}
		p.given = append(p.given, SetFlag{f.name(), ""})
	}
}

func (p *flagParser) letter(c byte) *Flag {
	for i := range p.known {
		if p.known[i].Short == c {
			return &p.known[i]
		}
	}
	return nil
}

// take takes the next argument for a value.
func (p *flagParser) take(f *Flag) {
	if len(p.rest) == 0 {
		p.draft.Fail(f.name(), "needs a value")
		return
	}
	p.given = append(p.given, SetFlag{f.name(), p.rest[0]})
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
