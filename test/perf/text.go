package main

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/h2surge/h2surge/test/harness"
)

// scan reads figures out of what a tool printed, and keeps the first failure.
type scan struct {
	text string
	err  error
}

// scanned reads the figures of a run that ended with code 0.
func scanned(c client, f harness.Finished, read func(s *scan) measured) (measured, error) {
	if err := exited(c, f); err != nil {
		return measured{}, err
	}
	s := scan{text: f.Stdout}
	m := read(&s)
	if s.err != nil {
		return measured{}, fmt.Errorf("%s: %w", c.name(), s.err)
	}
	return m, nil
}

// field is the first group of the pattern's first match; the empty string when optional and absent.
func (s *scan) field(pattern string, optional bool) string {
	m := regexp.MustCompile(`(?m)` + pattern).FindStringSubmatch(s.text)
	if m != nil {
		return m[1]
	}
	if !optional && s.err == nil {
		s.err = fmt.Errorf("the output has nothing like %q; its last line: %q", pattern, harness.LastLine(s.text))
	}
	return ""
}

func (s *scan) integer(pattern string) int64 {
	return int64(s.number(pattern))
}

func (s *scan) number(pattern string) float64 {
	return s.parse(s.field(pattern, false))
}

// count is 0 when the line is absent: the tools leave out what did not happen.
func (s *scan) count(pattern string) int64 {
	text := s.field(pattern, true)
	if text == "" {
		return 0
	}
	return int64(s.parse(text))
}

func (s *scan) parse(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("reading the output: %w", err)
	}
	return n
}

// duration with its unit: "7us", "1.25ms".
func (s *scan) duration(pattern string) time.Duration {
	d, err := time.ParseDuration(s.field(pattern, false))
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("reading the output: %w", err)
	}
	return d
}

// milliseconds without a unit, as ab prints them.
func (s *scan) milliseconds(pattern string) time.Duration {
	return time.Duration(s.number(pattern) * float64(time.Millisecond))
}
