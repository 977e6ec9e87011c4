package markdown

import (
	"regexp"
	"slices"
	"strings"
)

var ours = regexp.MustCompile(`^(?:bin/h2surge|h2surge|make|kubectl) `)

// Command is a command of a page.
type Command struct {
	// Line is that of the prompt.
	Line int
	// Text is the command as a shell takes it.
	Text string
	// Output is what the page prints below it.
	Output string
}

// Commands are those of a block: each line after a prompt "$ ", with the lines that it continues on. In an indented
// block and in one of a shell, a line that begins with a program of this project needs no prompt, and two blanks end
// the command.
func (b Block) Commands() []Command {
	var out []Command
	lines := strings.Split(strings.TrimSuffix(b.Text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		text, prompted := strings.CutPrefix(lines[i], "$ ")
		if slices.Contains([]string{"", "sh", "bash"}, b.Language) {
			prompted = prompted || ours.MatchString(lines[i])
			text, _, _ = strings.Cut(text, "  ") // what follows explains it
		}
		if !prompted {
			if n := len(out); n > 0 {
				out[n-1].Output += lines[i] + "\n"
			}
			continue
		}
		c := Command{Line: b.Line + i, Text: text}
		for strings.HasSuffix(c.Text, `\`) && i+1 < len(lines) {
			i++
			c.Text += "\n" + lines[i]
		}
		out = append(out, c)
	}
	return out
}

// Programs splits a shell's command into the programs that it runs, each with its arguments. It knows quotes, comments,
// pipes, lists and redirections. A variable or a substitution stays as it is written. Assignments before a program and
// sudo are left out.
func Programs(text string) [][]string {
	var out [][]string
	var words []string
	end := func() {
		for len(words) > 0 && (words[0] == "sudo" || words[0] == "nohup" || assignment(words[0])) {
			words = words[1:]
		}
		if len(words) > 0 {
			out = append(out, words)
		}
		words = nil
	}
	text = strings.ReplaceAll(text, "\\\n", " ")
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == ' ' || c == '\t':
			i++
		case c == '#':
			i = len(text)
		case c == '<' || c == '>':
			for i < len(text) && strings.IndexByte("<>&", text[i]) >= 0 {
				i++
			}
			for i < len(text) && text[i] == ' ' {
				i++
			}
			if i < len(text) && text[i] == '(' { // a process whose output is read
				continue
			}
			_, i = word(text, i)
		case strings.IndexByte("|&;()\n", c) >= 0:
			end()
			i++
		default:
			var w string
			w, i = word(text, i)
			if i < len(text) && text[i] == '>' && w == "2" {
				continue
			}
			words = append(words, w)
		}
	}
	end()
	return out
}

func assignment(w string) bool {
	name, _, found := strings.Cut(w, "=")
	return found && name != "" && !strings.HasPrefix(name, "-") && strings.ToUpper(name) == name
}

// word reads one from position i, without its quotes.
func word(text string, i int) (string, int) {
	var b strings.Builder
	for i < len(text) {
		switch c := text[i]; {
		case c == '\'' || c == '"':
			closing := strings.IndexByte(text[i+1:], c)
			if closing < 0 {
				return b.String() + text[i+1:], len(text)
			}
			b.WriteString(text[i+1 : i+1+closing])
			i += closing + 2
		case c == '$' && strings.HasPrefix(text[i:], "$("):
			depth, from := 0, i
			for ; i < len(text); i++ {
				if text[i] == '(' {
					depth++
				} else if text[i] == ')' {
					if depth--; depth == 0 {
						i++
						break
					}
				}
			}
			b.WriteString(text[from:i])
		case c == '\\' && i+1 < len(text):
			b.WriteByte(text[i+1])
			i += 2
		case strings.IndexByte(" \t\n|&;()<>", c) >= 0:
			return b.String(), i
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String(), i
}
