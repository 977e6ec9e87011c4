package main

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// cell is a character with the parameters of the SGR sequence before it, such as "1;32".
type cell struct {
	r   rune
	sgr string
}

// screen is a terminal whose lines do not scroll away. It knows the control sequences that h2surge sends.
type screen struct {
	lines [][]cell
	x, y  int
	sgr   string
	// before is the screen behind the alternate one.
	before *screen
}

func (s *screen) write(text string) {
	for in := []rune(text); len(in) > 0; {
		n := 1
		switch {
		case in[0] == '\r':
			s.x = 0
		case in[0] == '\n':
			s.y++
		case in[0] == 0x1b && len(in) > 2 && in[1] == '[':
			n = 2
			for n < len(in)-1 && (in[n] < '@' || in[n] > '~') {
				n++
			}
			s.control(in[n], string(in[2:n]))
			n++
		default:
			s.put(in[0])
		}
		in = in[n:]
	}
}

func (s *screen) put(r rune) {
	if s.x == columns {
		s.x, s.y = 0, s.y+1
	}
	for len(s.lines) <= s.y {
		s.lines = append(s.lines, nil)
	}
	for len(s.lines[s.y]) <= s.x {
		s.lines[s.y] = append(s.lines[s.y], cell{r: ' '})
	}
	s.lines[s.y][s.x] = cell{r, s.sgr}
	s.x++
}

// control is a control sequence: the alternate screen of xterm, SGR, CUP to the first cell, EL or ED from the cursor.
// Others change nothing.
func (s *screen) control(final rune, parameters string) {
	switch final {
	case 'h', 'l':
		if parameters == "?1049" && final == 'h' {
			before := *s
			*s = screen{before: &before}
		} else if parameters == "?1049" && s.before != nil {
			*s = *s.before
		}
	case 'm':
		s.sgr = strings.TrimPrefix(parameters, "0")
	case 'H':
		s.x, s.y = 0, 0
	case 'K', 'J':
		if s.y < len(s.lines) {
			s.lines[s.y] = s.lines[s.y][:min(s.x, len(s.lines[s.y]))]
			if final == 'J' {
				s.lines = s.lines[:s.y+1]
			}
		}
	}
}

// Sizes of the picture, in pixels.
const (
	cellWidth, lineHeight = 8.4, 19
	margin, frame         = 16, 34
)

var colours = map[string]string{"31": "#ff7b72", "32": "#56d364", "33": "#e3b341"}

// svg draws the screen as a dark window, which looks the same on a light and on a dark page.
func (s *screen) svg(title string) string {
	lines := s.lines
	for len(lines) > 0 && len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	var b strings.Builder
	width, height := columns*cellWidth+2*margin, len(lines)*lineHeight+frame+margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" width="%.0f" height="%d" role="img">
<title>%s</title>
<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>
<g fill="#484f58"><circle cx="20" cy="17" r="5"/><circle cx="37" cy="17" r="5"/><circle cx="54" cy="17" r="5"/></g>
<g fill="#d6dde6" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14">
`, width, height, width, height, html.EscapeString(title))
	for y, line := range lines {
		for x := 0; x < len(line); {
			to := x + 1
			for to < len(line) && line[to].sgr == line[x].sgr {
				to++
			}
			b.WriteString(run(line[x:to], x, y))
			x = to
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

// run is text of one style. textLength keeps its columns in place if the font is wider or narrower than the cells.
func run(cells []cell, x, y int) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteRune(c.r)
	}
	text := strings.TrimLeft(b.String(), " ")
	x += b.Len() - len(text)
	if text = strings.TrimRight(text, " "); text == "" {
		return ""
	}
	style := ""
	for p := range strings.SplitSeq(cells[0].sgr, ";") {
		if p == "1" {
			style += ` font-weight="bold"`
		} else if c := colours[p]; c != "" {
			style += ` fill="` + c + `"`
		}
	}
	return fmt.Sprintf("<text x=\"%.1f\" y=\"%d\" textLength=\"%.1f\"%s>%s</text>\n", margin+float64(x)*cellWidth,
		frame+15+y*lineHeight,
		float64(utf8.RuneCountInString(text))*cellWidth, style, html.EscapeString(strings.ReplaceAll(text, " ", "\u00a0")))
}
