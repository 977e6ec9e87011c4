package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
)

const (
	// manyURLs is the most that get a chain of their own, and with it a row of the report: a
	// LoadTest has 32 chains.
	manyURLs = 32
	// maxURLs is the most that a list variable holds.
	maxURLs = 4096
)

// readURLs reads the file of -i: a URL a line, blank lines aside.
func readURLs(in io.Reader) ([]string, error) {
	var urls []string
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" {
			urls = append(urls, line)
		}
		if len(urls) > maxURLs {
			return nil, fmt.Errorf("more than %d URLs", maxURLs)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(urls) == 0 {
		return nil, errors.New("the file has no URL")
	}
	return urls, nil
}

func readURLFile(name string, stdin io.Reader) ([]string, error) {
	if name == "-" {
		return readURLs(stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, command.CannotRead(name, err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	urls, err := readURLs(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return urls, nil
}

// paths splits several URLs into their common base and their paths. h2load would ignore where
// the later ones point; here that is a mistake.
func paths(urls []string) (base string, out []string, err error) {
	for i, raw := range urls {
		at, path := splitURL(raw)
		switch {
		case i == 0:
			base = at
		case strings.HasPrefix(raw, "/"):
			path, _, _ = strings.Cut(raw, "#")
		case !strings.EqualFold(at, base):
			return "", nil, command.Usagef(
				"URL: URL %d must have the scheme, host and port of URL 1; use a manifest for several targets", i+1)
		}
		out = append(out, path)
	}
	return base, out, nil
}

// inTurn adds a chain for each path, so that each worker requests the paths in turn. Many paths are the values of a
// variable of one chain.
func inTurn(spec *v1alpha1.LoadTestSpec, like v1alpha1.Request, paths []string) {
	if len(paths) > manyURLs {
		spec.Variables = []v1alpha1.Variable{{Name: "path", List: &v1alpha1.ValueList{Values: paths}}}
		like.Path = "${path}"
		addChain(spec, "request", like)
		return
	}
	for i, path := range paths {
		name := "request"
		if len(paths) > 1 {
			name = fmt.Sprintf("request-%d", i+1)
		}
		r := *like.DeepCopy()
		r.Path = literal(path)
		addChain(spec, name, r)
	}
}

func addChain(spec *v1alpha1.LoadTestSpec, name string, r v1alpha1.Request) {
	spec.Chains = append(spec.Chains, v1alpha1.Chain{Name: name, Target: "target",
		Steps: []v1alpha1.Step{{Name: name, Request: &r}}})
}
