package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/internal/convert"
	"github.com/h2surge/h2surge/internal/verdict"
)

const convertLong = `Make a manifest of what was written for another tool.

The manifest goes to standard output or to -o: a LoadTest, and ConfigMaps and Secrets
for what it refers to, as "h2surge run -f" takes them. It has a comment wherever the
meaning changes, and each of these is a line on standard error, too: the field or flag,
a colon and what becomes of it. docs/convert.md lists every field.

Flags of h2load and ab come after --, so that they are not taken for h2surge's.

Exit codes:
  0  converted, with or without warnings
  1  bad input: each line on standard error says what cannot be converted
  5  the result could not be written`

const convertExample = `  h2surge convert h2loadrunner config.json > loadtest.yaml
  h2surge convert h2load -- -n 100000 -c 100 -m 10 http://shop:8080/ | h2surge run -f -
  h2surge convert ab -o loadtest.yaml -- -n 1000 -c 10 -k http://shop:8080/
  h2surge convert har --think shop.har
  h2surge convert openapi --target http://pcf:8080 --resources TS29514.yaml
  h2surge convert maock server.json > rules.yaml && h2surge target -f rules.yaml`

// convertOptions are the flags of all conversions.
type convertOptions struct {
	output string
	name   string
}

func newConvertCommand() *cobra.Command {
	o := &convertOptions{}
	cmd := &cobra.Command{
		Use:     "convert",
		Short:   "Make a manifest of what was written for another tool",
		Long:    convertLong,
		Example: convertExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usagef("what to convert from is needed (see %s --help)", cmd.CommandPath())
		},
	}
	flags := cmd.PersistentFlags()
	flags.SortFlags = false
	flags.StringVarP(&o.output, "output", "o", "", "`file` to write to, in place of standard output")
	flags.StringVar(&o.name, "name", "", "`name` of the LoadTest (default that of the input)")
	cmd.AddCommand(o.tools()...)
	return cmd
}

// named is what conversions share. name is the default of --name.
func (o *convertOptions) named(name string, read convert.Reader) convert.Options {
	if o.name != "" {
		name = o.name
	}
	return convert.Options{Name: name, Read: read}
}

// finish writes warnings and the manifest, or what is wrong.
func (o *convertOptions) finish(cmd *cobra.Command, out []byte, warnings []string, err error) error {
	for _, w := range warnings {
		fmt.Fprintln(cmd.ErrOrStderr(), oneLine(w))
	}
	if err != nil {
		return &exitError{code: verdict.ExitUsage, lines: strings.Split(err.Error(), "\n")}
	}
	if o.output == "" {
		if _, err := cmd.OutOrStdout().Write(out); err != nil {
			return failf("%v", err)
		}
		return nil
	}
	mode := os.FileMode(0o644)
	if strings.Contains(string(out), "\nkind: Secret\n") {
		mode = 0o600
	}
	if err := os.WriteFile(o.output, out, mode); err != nil {
		return failf("-o: %v", err)
	}
	return nil
}

// maxInput bounds what is read of one file.
const maxInput = 64 << 20

// input reads the file of a conversion; - is standard input.
func input(cmd *cobra.Command, name string) ([]byte, error) {
	content, err := readFile(cmd.InOrStdin(), "", name)
	if err != nil {
		return nil, usagef("%v", err)
	}
	return content, nil
}

// beside reads the files that an input names, which are relative to its directory.
func beside(name string) convert.Reader {
	return func(other string) ([]byte, error) {
		if other == "-" {
			return nil, errors.New("standard input is not possible here")
		}
		return readFile(nil, filepath.Dir(name), other)
	}
}

// readFile reads a file, or standard input where there is one.
func readFile(stdin io.Reader, dir, name string) ([]byte, error) {
	if name == "-" {
		return limited("standard input", stdin)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	// What an input names must be a file: texts are tried as names, and opening a pipe would wait.
	if info.IsDir() || stdin == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	return limited(name, f)
}

func limited(name string, r io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err == nil && len(content) > maxInput {
		err = fmt.Errorf("%s has more than %d octets", name, maxInput)
	}
	return content, err
}

// stem is the name of a file without directory and extension.
func stem(name string) string {
	base := filepath.Base(name)
	if name == "-" {
		return ""
	}
	return strings.TrimSuffix(base, filepath.Ext(base))
}
